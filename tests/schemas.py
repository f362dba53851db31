"""Schemas for tests: curated ones with instances, random ones, and the validator that judges the instances.

Patterns stay within what ECMA-262 and Python's ``re`` read alike, but for ``$``, which :func:`judge` translates.
"""

from __future__ import annotations

import decimal
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from jsonschema.validators import validator_for

import grammar_decode as gd
from grammar_decode.errors import GrammarDecodeError, UnsupportedSchema
from grammar_decode.json_schema import compile_schema

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"


@dataclass(frozen=True)
class Curated:
    """A schema, values that it admits, with their keys in the order of the schema, and values that it does not.

    The admitted ones hold none of the bytes that the poorer synthetic vocabulary lacks.
    """

    name: str
    schema: Any
    valid: tuple[Any, ...]
    invalid: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return self.name


def _example(name: str, valid: tuple[Any, ...], invalid: tuple[Any, ...]) -> Curated:
    text = (EXAMPLES / f"{name}.schema.json").read_text(encoding="utf-8")
    return Curated(f"examples_{name}", json.loads(text), valid, invalid)


_EXAMPLES = [
    _example(
        "person",
        ({"name": "Boë 😀", "age": 42, "tags": ["a", 'b"]']},),
        (
            {"name": "", "age": 42, "tags": ["a"]},
            {"name": "Bob", "tags": ["a"]},
            {"name": "B", "age": 121, "tags": ["a"]},
        ),
    ),
    _example(
        "order",
        (
            {
                "order_id": "AB-12345",
                "customer": {"name": "Al", "country": "DE"},
                "items": [{"product": "mug", "quantity": 2, "unit_price": 0.25}],
                "currency": "EUR",
                "gift": False,
            },
        ),
        ({"order_id": "AB-1234", "customer": {"name": "A"}, "items": [], "currency": "EUR"},),
    ),
    _example(
        "event",
        (
            {"kind": "click", "position": [10, 20], "button": "left"},
            {"kind": "message", "from": "a", "to": "b", "text": "Hi"},
        ),
        ({"kind": "click", "position": [10]}, {"kind": "purchase", "product": "x", "amount": -1}),
    ),
    _example(
        "comment",
        ({"author": "ann", "text": "é", "likes": 8, "replies": [{"author": "tom", "text": "o", "replies": []}]},),
        ({"author": "ann"}, {"author": "ann", "text": "x", "replies": [{"author": "tom"}]}),
    ),
    _example(
        "api_error",
        (
            {
                "status": 404,
                "message": "No such user",
                "code": "not_found",
                "retry_after_seconds": None,
                "details": [{"field": "user.id", "problem": "unknown"}],
            },
        ),
        ({"status": 200, "message": "Fine, thanks", "code": "internal"},),
    ),
]

_KIND = {"k": {"enum": ["a", "b", 1]}}

CURATED: tuple[Curated, ...] = (
    *_EXAMPLES,
    Curated("everything", {}, ([None, True, -1.5, 'a\\"b', {"a": {"b": [[]]}}, {}, "\n é😀"],), ()),
    Curated("lengths", {"type": "string", "minLength": 2, "maxLength": 5}, ("ab", "aé😀b1"), ("a", "", "abcdef", 1)),
    Curated(
        "patterns",
        {
            "type": "object",
            "properties": {"a": {"pattern": "^[ab]{2,4}-[0-9]+$", "type": "string"}, "b": {"pattern": "b"}},
        },
        ({"a": "abab-10", "b": "aba"}, {"b": [1]}),
        ({"a": "a-1"}, {"a": "ab-1x"}, {"b": "a"}),
    ),
    Curated(
        "ranges",
        {"type": "array", "items": {"type": "number", "exclusiveMinimum": -10, "maximum": 120.5}},
        ([-8.25, 0, 120.5, 12, 1e-3],),
        ([-10], [120.6], [121]),
    ),
    Curated(
        "integers",
        {"type": "array", "items": {"type": "integer", "minimum": -3, "exclusiveMaximum": 1024}, "minItems": 1},
        ([-3, 0, 1023, 84],),
        ([], [-4], [1024], [0.5]),
    ),
    Curated(
        "multiples",
        {"type": "array", "items": {"anyOf": [{"type": "number", "multipleOf": 0.05, "minimum": 0}, {"const": "x"}]}},
        ([0.15, 12.5, "x", 3],),
        ([0.01], ["y"], [-0.05]),
    ),
    Curated(
        "enum_of_every_kind",
        {"enum": ["a", "ab", "", 1, 12, 1.5, None, True, [1, [2]], {"a": 1, "b": {"a": []}}, {"a": 1}, 'é"\\\n']},
        ({"a": 1, "b": {"a": []}}, [1, [2]], 12, 'é"\\\n'),
        (2, False, {"a": 2}, {}, [1], "b"),
    ),
    Curated(
        "required_and_optional",
        {
            "type": "object",
            "properties": {n: {"type": ["integer", "null"]} for n in ("a", "ab", "id", "name", "names")},
            "required": ["ab", "name"],
            "additionalProperties": {"type": "boolean"},
        },
        ({"ab": 1, "name": None}, {"a": 0, "ab": 1, "id": 2, "name": 3, "names": 4, "x": True, "": False}),
        ({"ab": 1}, {"ab": 1, "name": True}, {"ab": 1, "name": 1, "x": 1}),
    ),
    Curated(
        "closed_object_with_counts",
        {
            "type": "object",
            "properties": {n: {"type": "integer"} for n in "abcd"},
            "required": ["d"],
            "minProperties": 2,
            "maxProperties": 3,
            "additionalProperties": False,
        },
        ({"b": 1, "d": 2}, {"a": 1, "c": 10, "d": 2}),
        ({"d": 1}, {"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 1, "b": 2}),
    ),
    Curated(
        "pattern_properties",
        {
            "type": "object",
            "properties": {"a": {"minimum": 3}},
            "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 1}, "^(p|qu?)$": {"type": "null"}},
            "additionalProperties": {"type": "string"},
        },
        ({"a": 3, "ab": 2, "p": None, "c": "x"}, {"aa": 0, "cb": 1.5}),
        ({"a": 2}, {"ab": 0}, {"p": 1}, {"c": 1}),
    ),
    Curated(
        "finite_key_pattern",
        {
            "type": "object",
            "patternProperties": {"^(ab|abc|b)$": {"type": "integer"}},
            "additionalProperties": False,
            "minProperties": 2,
        },
        ({"b": 1, "ab": 2}, {"abc": 1, "ab": 1, "b": 0}),
        ({"b": 1}, {"b": 1, "a": 1}),
    ),
    Curated(
        "property_names",
        {"type": "object", "propertyNames": {"pattern": "^[a-c]+$", "maxLength": 3}, "minProperties": 1},
        ({"a": 1, "bca": []},),
        ({}, {"d": 1}, {"aaaa": 1}),
    ),
    Curated(
        "dependent",
        {
            "type": "object",
            "properties": {"a": {}, "b": {"type": "integer"}, "c": {}},
            "dependentRequired": {"a": ["b"]},
            "dependentSchemas": {"b": {"properties": {"c": {"const": 1}}}},
        },
        ({"a": "x", "b": 1, "c": 1}, {"c": 2}),
        ({"a": 1}, {"b": 1, "c": 2}),
    ),
    Curated(
        "tuple",
        {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "items": {"type": "null"},
            "maxItems": 4,
        },
        (["a", 1, None], [], ["b"]),
        ([1], ["a", 1, 2], ["a", 1, None, None, None]),
    ),
    Curated(
        "contains",
        {
            "type": "array",
            "contains": {"type": "integer", "minimum": 5},
            "minContains": 2,
            "maxContains": 3,
            "maxItems": 5,
        },
        ([5, "a", 8, 1], [12, 12, 12]),
        ([5], [1, 5, 2], [5, 5, 5, 5], [5, 5, 1, 1, 1, 1]),
    ),
    Curated(
        "nested_arrays",
        {"type": "array", "items": {"type": "array", "items": {"type": "array", "maxItems": 2}, "minItems": 1}},
        ([[[1, "a"], []], [[{}]]],),
        ([[]], [[[1, 2, 3]]]),
    ),
    Curated(
        "tagged_union",
        {
            "anyOf": [
                {"properties": {"k": {"const": "a"}, "x": {"type": "integer"}}, "required": ["k", "x"]},
                {"properties": {"k": {"const": "b"}, "x": {"type": "string"}}, "required": ["k", "x"]},
                {"properties": {"k": {"const": 1}, "y": {"type": "null"}}, "required": ["k"]},
            ],
            "type": "object",
        },
        ({"k": "a", "x": 12}, {"k": "b", "x": "1"}, {"k": 1, "x": [], "y": None}),
        ({"k": "a", "x": "1"}, {"k": "c", "x": 1}, {"k": "a"}),
    ),
    Curated(
        "one_of_overlapping",
        {"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "minimum": 10}, {"type": "string"}]},
        (3, 11, "a", -6),
        (12, 4, 1.5),
    ),
    Curated(
        "conditions",
        {
            "type": "object",
            "properties": {**_KIND, "x": {}, "y": {}},
            "required": ["k"],
            "allOf": [
                {
                    "if": {"properties": {"k": {"const": value}}},
                    "then": {"required": [name], "properties": {name: {"type": kind}}},
                }
                for value, name, kind in (("a", "x", "integer"), ("b", "y", "string"), (1, "x", "null"))
            ],
        },
        ({"k": "a", "x": 1, "y": 0}, {"k": "b", "x": 0, "y": "s"}, {"k": 1, "x": None}),
        ({"k": "a"}, {"k": "b", "y": 1}, {"k": 2}),
    ),
    Curated(
        "negations",
        {
            "type": "object",
            "not": {"required": ["a", "b"]},
            "additionalProperties": {"not": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer"}]}},
        },
        ({"a": "x", "c": 1.5}, {"b": ""}, {}),
        ({"a": None, "b": None}, {"c": "xy"}, {"c": 1}),
    ),
    Curated(
        "mutual_recursion",
        {
            "$ref": "#/$defs/list",
            "$defs": {
                "list": {
                    "type": "array",
                    "items": {"anyOf": [{"$ref": "#/$defs/pair"}, {"type": "integer"}]},
                    "maxItems": 3,
                },
                "pair": {
                    "type": "object",
                    "properties": {"a": {"$ref": "#/$defs/list"}, "b": {"$ref": "#/$defs/pair"}},
                    "additionalProperties": False,
                },
            },
        },
        ([1, {"a": [{}], "b": {"b": {"a": []}}}, 2],),
        ([1, 2, 3, 4], [{"a": 1}], [{"b": []}]),
    ),
    Curated(
        "draft_4",
        {
            "$schema": DRAFT4,
            "type": "array",
            "items": [{"minimum": 3, "exclusiveMinimum": True}],
            "additionalItems": False,
        },
        ([4], [], ["a"]),
        ([3], [4, 1]),
    ),
    Curated(
        "draft_7_tuple",
        {
            "$schema": DRAFT7,
            "items": [{"$ref": "#/definitions/n", "maximum": 0}, {"type": "string"}],
            "additionalItems": {"type": "boolean"},
            "definitions": {"n": {"type": "number"}},
            "type": "array",
        },
        ([1.5, "a", True],),
        (["a"], [1, "a", 1]),
    ),
    Curated(
        "awkward_names",
        {
            "type": "object",
            "properties": {n: {"type": "integer"} for n in ('a"b', "a\\", "", "é", "日本", "a\nb", "😀")},
            "required": ["", "é"],
            "additionalProperties": False,
        },
        ({'a"b': 1, "a\\": 2, "": 3, "é": 4, "日本": 5, "a\nb": 6, "😀": 8}, {"": 0, "é": 0}),
        ({"": 1}, {"": 1, "é": 1, "e": 1}),
    ),
    Curated(
        "all_of_and_siblings",
        {
            "allOf": [{"properties": {"x": {"minimum": 0}}, "required": ["x"]}, {"maxProperties": 2}],
            "properties": {"x": {"type": "integer", "maximum": 12}, "y": {"minLength": 1, "type": "string"}},
            "anyOf": [{"required": ["y"]}, {"properties": {"x": {"const": 0}}}],
            "type": "object",
        },
        ({"x": 12, "y": "a"}, {"x": 0, "b": None}),
        ({"x": 12}, {"x": -1, "y": "a"}, {"x": 0, "y": "a", "c": 1}, {"x": 0, "y": ""}),
    ),
    Curated(
        "unique_strings",
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
        (["a", "b", "ab", ""], ['é"\\', "é"]),
        ([], ["a", "a"], ["ab", "a", "ab"], ["", ""]),
    ),
    Curated(
        "unique_enum",
        {"uniqueItems": True, "type": "array", "items": {"enum": ["a", "ab", 1, None, "b", [1]]}, "minItems": 2},
        (["ab", "a"], [1, "b", None, [1], "a"]),
        (["a"], ["a", "ab", "a"], [None, None], [[1], [1]]),
    ),
    Curated(
        "unique_enum_used_up",
        {"type": "array", "items": {"enum": ["red", "rose", "blue"]}, "uniqueItems": True, "minItems": 3},
        (["rose", "red", "blue"], ["blue", "rose", "red"]),
        (["red", "rose"], ["red", "rose", "red"], ["red", "rose", "blue", "red"]),
    ),
    Curated(
        "unique_integers",
        {"type": "array", "items": {"type": "integer", "minimum": -1, "maximum": 12}, "uniqueItems": True},
        ([1, 12, 0, -1, 10], [2]),
        ([1, 1], [0, 12, 12], [13]),
    ),
    Curated(
        "unique_numbers",
        {"type": "array", "items": {"type": "number", "maximum": 10.5}, "uniqueItems": True, "minItems": 2},
        ([1, 1.5, 10, 0], [-0.25, 0.25]),
        ([1, 1.0], [1.5], [0, -0.0], [0.5, 1, 0.5]),
    ),
    Curated(
        "unique_number_constants",
        {"type": "array", "items": {"enum": [0, 1.0, 10, -0.5]}, "uniqueItems": True, "minItems": 2},
        ([1, 0], [10, -0.5, 1, 0]),
        ([1], [1, 1.0], [10, 10]),
    ),
    Curated(
        "unique_objects",
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"kind": {"enum": ["a", "ab"]}, "id": {"enum": [1, 2]}},
                "required": ["kind"],
                "additionalProperties": False,
            },
            "uniqueItems": True,
            "minItems": 2,
        },
        (
            [{"kind": "a", "id": 1}, {"kind": "a"}, {"kind": "ab"}],
            [{"kind": "ab", "id": 1}, {"kind": "ab", "id": 2}, {"kind": "a", "id": 2}],
        ),
        ([{"kind": "a"}], [{"kind": "a", "id": 1}, {"id": 1, "kind": "a"}], [{"kind": "a"}, {"kind": "a"}]),
    ),
    Curated(
        "unique_arrays_of_unique_items",
        {
            "type": "array",
            "items": {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 1},
            "uniqueItems": True,
            "minItems": 3,
        },
        ([[1], [2], [1, 2]], [[2, 1], [1, 2], [2], [1]]),
        ([[1], [2], [1]], [[1, 1], [2], [1]], [[1], [2]], [[1, 2], [1, 2], [1]]),
    ),
    Curated(
        "unique_tuple",
        {
            "type": "array",
            "prefixItems": [{"enum": ["a", "b"]}, {"enum": ["a", "c"]}, {"const": "c"}],
            "items": {"type": "string", "maxLength": 1},
            "minItems": 3,
            "maxItems": 5,
            "uniqueItems": True,
        },
        (["b", "a", "c"], ["b", "a", "c", "", "d"]),
        (["a", "a", "c"], ["a", "c", "c"], ["b", "a", "c", "a"], ["b", "a"]),
    ),
    Curated(
        "unique_contains",
        {
            "type": "array",
            "items": {"type": ["integer", "boolean"]},
            "contains": {"type": "boolean"},
            "minContains": 2,
            "uniqueItems": True,
        },
        ([True, 1, False], [0, 1, False, 12, True]),
        ([True, 1], [True, True], [0, False, 0, True]),
    ),
    Curated(
        "unique_booleans_and_null",
        {"type": "array", "items": {"type": ["boolean", "null"]}, "uniqueItems": True, "minItems": 2},
        ([True, None], [None, False, True]),
        ([True, True], [None], [None, False, None]),
    ),
    Curated(
        "unique_in_one_alternative",
        {
            "type": "array",
            "items": {"enum": ["a", "b", 1]},
            "anyOf": [{"uniqueItems": True}, {"maxItems": 2, "contains": {"const": 1}}],
        },
        (["a", 1, "b"], [1, 1], []),
        (["a", "a"], [1, 1, "a"]),
    ),
    Curated(
        "unique_under_a_condition",
        {
            "type": "array",
            "items": {"type": "string"},
            "if": {"prefixItems": [{"const": "set"}], "minItems": 1},
            "then": {"uniqueItems": True},
        },
        (["set", "a", "b"], ["a", "a", "set"], []),
        (["set", "set"], ["set", "a", "a"]),
    ),
    Curated(
        "unique_anything",
        {"type": "array", "uniqueItems": True, "minItems": 2},
        ([1, "1", [1], {"a": 1}, True, None], [{"a": [1, 1]}, {"a": [1]}, [], [[]]]),
        ([1, 1], [{"a": 1, "b": []}, {"b": [], "a": 1}], [[], []], [None]),
    ),
    Curated(
        "unique_in_an_object",
        {
            "type": "object",
            "properties": {
                "tags": {"type": "array", "items": {"pattern": "^[ab]{1,3}$", "type": "string"}, "uniqueItems": True},
                "ids": {"items": {"type": "integer"}, "uniqueItems": True, "maxItems": 3},
            },
            "required": ["tags"],
        },
        ({"tags": ["a", "ab", "aab"], "ids": [1, 10, 100]}, {"tags": [], "ids": "x"}),
        ({"tags": ["a", "a"]}, {"tags": [], "ids": [1, 1]}, {"tags": [], "ids": [1, 2, 3, 4]}),
    ),
)

# ---- the validator --------------------------------------------------------------------------------------------------

#: Enough digits for the remainder of every number that a grammar writes.
_CONTEXT = decimal.Context(prec=3_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def _exact(text: str) -> Decimal | int:
    number = Decimal(text)
    is_integer = not number or (number.adjusted() < 400 and number == number.to_integral_value())
    return int(number) if is_integer else number


_ENDS = re.compile(r"\\.|\[(?:\\.|[^]\\])*]|\$", re.DOTALL)  # an escape, a class of characters, or the end


def pattern_for_python(pattern: str) -> str:
    r"""The pattern with ``$`` as ``\Z``: for Python, ``$`` also stands before a final newline."""
    return _ENDS.sub(lambda found: r"\Z" if found[0] == "$" else found[0], pattern)


def for_python(schema: Any) -> Any:
    """The schema with its patterns as Python reads them."""
    if isinstance(schema, list):
        return [for_python(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {}
    for keyword, value in schema.items():
        if keyword == "pattern" and isinstance(value, str):
            value = pattern_for_python(value)
        elif keyword == "patternProperties" and isinstance(value, dict):
            value = {pattern_for_python(pattern): for_python(each) for pattern, each in value.items()}
        elif keyword not in ("enum", "const"):
            value = for_python(value)
        changed[keyword] = value
    return changed


def no_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For ``json.loads(object_pairs_hook=...)``."""
    assert len({name for name, _ in pairs}) == len(pairs), f"a key occurs twice: {[name for name, _ in pairs]}"
    return dict(pairs)


def judge(schema: Any) -> Callable[[str], bool]:
    """Whether a JSON text is valid, says `jsonschema`, by the dialect of ``$schema`` and with exact decimals.

    Asserts that the text is JSON without a repeated key.
    """
    exact = json.loads(json.dumps(for_python(schema)), parse_float=_exact)
    validator = validator_for(exact)(exact)

    def is_valid(text: str) -> bool:
        with decimal.localcontext(_CONTEXT):
            value = json.loads(text, parse_float=_exact, object_pairs_hook=no_repeated_names)
            return bool(validator.is_valid(value))

    return is_valid


# ---- random schemas -------------------------------------------------------------------------------------------------

NAMES = ("a", "b", "ab", "id", "kind", 'a"b', "é", "", "x-a")
SCALARS = (None, True, False, 0, 1, 3, -2, 1.5, 0.25, 100, "", "a", "b", "ab", 'a"\\', "é\n", "abcab")
PATTERNS = ("^[ab]{1,4}$", "a", "^a", "b$", "^(a|bc)*$", "^[^a]+$", "^[a-c]{2,5}[.][0-9]{1,3}$", "^(a|b|ab)$")
KEY_PATTERNS = ("^a", "b$", "^(a|b)$", "^x-", "^.$", "^(ab|id|b)$")
BOUNDS = (-10, -1, 0, 1, 2, 5, 0.5, 99.5, 100)
DIVISORS = (1, 2, 3, 10, 0.5, 0.01, 1.5)


#: Every kind of text.
text_options = st.builds(
    gd.JsonOptions,
    key_order=st.sampled_from(("schema", "any")),
    whitespace=st.sampled_from(("flexible", "compact", "spaced", "any")),
    escapes=st.sampled_from(("relaxed", "canonical", "any")),
    numbers=st.sampled_from(("canonical", "any")),
)


def json_values(depth: int = 2) -> st.SearchStrategy[Any]:
    """Small values over the names and scalars of the schemas."""
    scalars = st.sampled_from(SCALARS)
    if not depth:
        return scalars
    inner = json_values(depth - 1)
    return scalars | st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)


class _Drawing:
    """Draws one schema. ``refs`` are the definitions that it may refer to, below the value that it speaks of."""

    def __init__(self, draw: st.DrawFn, refs: tuple[str, ...], *, draft7: bool) -> None:
        self.draw = draw
        self.refs = refs
        self.draft7 = draft7

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def maybe(self) -> bool:
        return bool(self.draw(st.booleans()))

    def names(self, most: int = 3) -> list[str]:
        return self.draw(st.lists(st.sampled_from(NAMES), max_size=most, unique=True))

    def schema(self, depth: int, *, below: bool = False) -> Any:
        kinds = ["string", "integer", "number", "plain", "enum", "types"]
        if below and self.refs:
            kinds += ["ref", "ref"]
        if depth:
            kinds += [
                "object",
                "object",
                "object",
                "array",
                "array",
                "any_of",
                "one_of",
                "all_of",
                "condition",
                "negation",
            ]
        return getattr(self, self.pick(kinds))(depth, below)

    def plain(self, _depth: int, _below: bool) -> Any:
        return self.pick(({"type": "boolean"}, {"type": "null"}, {}, True, {"type": "string"}, {"type": "integer"}))

    def ref(self, _depth: int, _below: bool) -> Any:
        return {"$ref": self.pick(self.refs)}

    def types(self, _depth: int, _below: bool) -> Any:
        return {"type": self.draw(st.lists(st.sampled_from(("null", "integer", "string")), min_size=1, unique=True))}

    def enum(self, _depth: int, _below: bool) -> Any:
        if self.maybe():
            return {"const": self.draw(json_values(2))}
        return {"enum": self.draw(st.lists(json_values(1), min_size=1, max_size=4))}

    def string(self, _depth: int, _below: bool) -> Any:
        schema: dict[str, Any] = {"type": "string"}
        if self.maybe():
            schema["pattern"] = self.pick(PATTERNS)
        if self.maybe():
            schema["minLength"] = self.pick((0, 1, 2))
        if self.maybe():
            schema["maxLength"] = self.pick((2, 4, 12))
        return schema

    def integer(self, depth: int, below: bool) -> Any:
        return {**self.number(depth, below), "type": "integer"}

    def number(self, _depth: int, _below: bool) -> Any:
        schema: dict[str, Any] = {"type": "number"}
        if self.maybe():
            schema[self.pick(("minimum", "exclusiveMinimum"))] = self.pick(BOUNDS[:5])
        if self.maybe():
            schema[self.pick(("maximum", "exclusiveMaximum"))] = self.pick(BOUNDS[4:])
        if self.maybe():
            schema["multipleOf"] = self.pick(DIVISORS)
        return schema

    def object(self, depth: int, _below: bool) -> Any:
        names = self.names()
        schema: dict[str, Any] = {"type": "object"} if self.maybe() else {}
        if names:
            schema["properties"] = {name: self.schema(depth - 1, below=True) for name in names}
            schema["required"] = [name for name in names if self.maybe()] + self.names(1)
            schema["required"] = list(dict.fromkeys(schema["required"]))
            if not schema["required"]:
                del schema["required"]
        extras = self.draw(
            st.sets(st.sampled_from(("additional", "patterns", "count", "key", "dependent")), max_size=2)
        )
        if "additional" in extras:
            schema["additionalProperties"] = False if self.maybe() else self.schema(depth - 1, below=True)
        if "patterns" in extras:
            patterns = self.draw(st.lists(st.sampled_from(KEY_PATTERNS), min_size=1, max_size=2, unique=True))
            schema["patternProperties"] = {p: self.schema(depth - 1, below=True) for p in patterns}
        if "count" in extras:
            schema[self.pick(("minProperties", "maxProperties"))] = self.pick((0, 1, 2, 3))
        if "key" in extras:
            schema["propertyNames"] = self.pick(({"pattern": "^[ab]"}, {"maxLength": 2}, {"enum": ["a", "b", "id"]}))
        if "dependent" in extras:
            by_schema = self.maybe()
            dependent = {self.pick(NAMES): self.schema(depth - 1) if by_schema else self.names(2)}
            schema["dependencies" if self.draft7 else "dependentSchemas" if by_schema else "dependentRequired"] = (
                dependent
            )
        return schema

    def array(self, depth: int, _below: bool) -> Any:
        schema: dict[str, Any] = {"type": "array"} if self.maybe() else {}
        if self.maybe():
            prefix = [self.schema(depth - 1, below=True) for _ in range(self.pick((1, 2)))]
            schema["items" if self.draft7 else "prefixItems"] = prefix
        if self.maybe():
            rest = "additionalItems" if self.draft7 and "items" in schema else "items"
            schema[rest] = self.schema(depth - 1, below=True)
        if self.maybe():
            schema["contains"] = self.schema(depth - 1, below=True)
            if self.maybe() and not self.draft7:
                schema[self.pick(("minContains", "maxContains"))] = self.pick((1, 2))
        if self.maybe():
            schema["minItems"] = self.pick((0, 1, 2))
        if self.maybe():
            schema["maxItems"] = self.pick((1, 2, 3))
        if self.pick((True, False, False)):
            schema["uniqueItems"] = True
        return schema

    def branches(self, depth: int, below: bool) -> list[Any]:
        return [self.schema(depth - 1, below=below) for _ in range(self.pick((1, 2, 2, 3)))]

    def any_of(self, depth: int, below: bool) -> Any:
        return {"anyOf": self.branches(depth, below)}

    def one_of(self, depth: int, below: bool) -> Any:
        return {"oneOf": self.branches(depth, below)}

    def all_of(self, depth: int, below: bool) -> Any:
        schema = self.pick((self.object, self.array, self.string, self.number))(depth, below)
        return {**schema, "allOf": self.branches(depth, below)[:2]}

    def negation(self, depth: int, below: bool) -> Any:
        return {"not": self.schema(depth - 1, below=below)}

    def condition(self, depth: int, below: bool) -> Any:
        schema = self.object(depth, below)
        name = self.pick(NAMES)
        schema["if"] = {"properties": {name: {"const": self.pick(SCALARS)}}, "required": [name]}
        if self.maybe():
            schema["if"] = self.schema(depth - 1, below=below)
        if self.maybe():
            schema["then"] = self.schema(depth - 1, below=below)
        if self.maybe():
            schema["else"] = self.schema(depth - 1, below=below)
        return schema


@st.composite
def random_schemas(draw: st.DrawFn, depth: int = 3, *, refs: bool = True, draft7: bool = False) -> Any:
    """Schemas over every keyword that is enforced; half of them with two definitions that may refer to each other."""
    definitions = "definitions" if draft7 else "$defs"
    locations = (f"#/{definitions}/n", f"#/{definitions}/m/anyOf/0") if refs and draw(st.booleans()) else ()
    drawing = _Drawing(draw, locations, draft7=draft7)
    schema = drawing.schema(depth)
    if locations and isinstance(schema, dict):
        schema[definitions] = {
            "n": drawing.object(depth - 1, False),
            "m": {"anyOf": [drawing.array(depth - 1, False)]},
        }
    if draft7 and isinstance(schema, dict):
        schema = {"$schema": DRAFT7, **schema}
    return schema if _is_supported(schema) else _without_unique(schema)


def _is_supported(schema: Any) -> bool:
    """False where some `uniqueItems` is negated; anything else that can't be compiled is for the tests to find."""
    try:
        compile_schema(schema)
    except UnsupportedSchema as error:
        return not (error.location or "").endswith("/uniqueItems")
    except GrammarDecodeError:
        pass
    return True


def _without_unique(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_unique(each) for each in schema]
    if isinstance(schema, dict):
        return {keyword: _without_unique(value) for keyword, value in schema.items() if keyword != "uniqueItems"}
    return schema


#: A bounded metaschema, for hypothesis-jsonschema to write schemas: it can't unfold the recursive ones.
def _meta(depth: int) -> dict[str, Any]:
    count = {"enum": [0, 1, 2, 3]}
    name = {"enum": list(NAMES)}
    inner: Any = _meta(depth - 1) if depth else {"enum": [True, {}, {"type": "null"}, {"type": "integer"}]}
    names = {"type": "array", "items": name, "maxItems": 2, "uniqueItems": True}
    keywords: dict[str, Any] = {
        "type": {"enum": ["object", "array", "string", "number", "integer", ["object", "null"], ["array", "boolean"]]},
        "properties": {"type": "object", "propertyNames": name, "additionalProperties": inner, "maxProperties": 2},
        "additionalProperties": inner,
        "required": names,
        "minProperties": count,
        "maxProperties": count,
        "items": inner,
        "minItems": count,
        "maxItems": count,
        "uniqueItems": {"enum": [True, False]},
        "contains": inner,
        "minLength": count,
        "maxLength": {"enum": [2, 6]},
        "pattern": {"enum": list(PATTERNS)},
        "minimum": {"enum": list(BOUNDS[:4])},
        "maximum": {"enum": list(BOUNDS[4:])},
        "multipleOf": {"enum": list(DIVISORS)},
        "anyOf": {"type": "array", "items": inner, "minItems": 1, "maxItems": 2},
        "enum": {"type": "array", "items": {"enum": list(SCALARS)}, "minItems": 1, "maxItems": 4},
    }
    return {"type": "object", "properties": keywords, "additionalProperties": False, "maxProperties": 5}


METASCHEMA = _meta(1)

# ---- values that a schema may admit ---------------------------------------------------------------------------------

TEXTS = ("", "a", "b", "ab", "abab", "bcbc", "abc.12", "ca", "éé1", 'a"\\', "\n", "x-b", "aaaaaaaaaaaa")
NUMBERS = (0, 1, 2, 3, 6, 30, -1, -3, 0.5, 1.5, 0.25, 0.01, 4.5, 99.5, 99, 100, 100.5, -10, -9.99, 1e22)


@st.composite
def likely_values(draw: st.DrawFn, schema: Any, root: Any) -> Any:
    """A value made along the schema; often valid, but nothing is promised. ``root`` is where references lead."""
    schema = _one_way(draw, schema, root)
    if not schema or draw(st.integers(0, 9)) == 0:
        return draw(json_values())
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kinds = schema.get("type") or next((kind for word, kind in _KINDS.items() if word in schema), "string")
    kind = draw(st.sampled_from(kinds)) if isinstance(kinds, list) else kinds
    if kind == "object":
        names = dict.fromkeys(
            (*schema.get("required", ()), *schema.get("properties", {}), draw(st.sampled_from(NAMES)))
        )
        kept = [name for name in names if name in schema.get("required", ()) or draw(st.booleans())]
        additional = schema.get("additionalProperties", {})
        known = schema.get("properties", {})
        return {name: draw(likely_values(known.get(name, additional), root)) for name in kept}
    if kind == "array":
        items = schema.get("items", {})
        prefix = items if isinstance(items, list) else schema.get("prefixItems", [])
        rest = schema.get("additionalItems", {}) if isinstance(items, list) else items
        rest = draw(st.sampled_from((rest, schema.get("contains", rest))))
        low, high = schema.get("minItems", 1) - 1, schema.get("maxItems", 3) + 1
        length = draw(st.integers(max(low, 0), high)) if low < high else 0
        drawn = [draw(likely_values(prefix[i] if i < len(prefix) else rest, root)) for i in range(length)]
        if schema.get("uniqueItems") and draw(st.booleans()):
            drawn = [item for i, item in enumerate(drawn) if item not in drawn[:i]]
        return drawn
    choices = {"null": (None,), "boolean": (True, False), "string": TEXTS, "integer": NUMBERS[:7], "number": NUMBERS}
    return draw(st.sampled_from(choices[kind]))


_KINDS = {
    "properties": "object",
    "required": "object",
    "propertyNames": "object",
    "prefixItems": "array",
    "items": "array",
}


def _one_way(draw: st.DrawFn, schema: Any, root: Any) -> dict[str, Any]:
    """The schema with its references and alternatives settled: one branch, merged by overwriting."""
    merged: dict[str, Any] = {}
    while isinstance(schema, dict):
        merged = {**merged, **schema}
        if "$ref" in schema:
            schema = root
            for part in merged.pop("$ref").removeprefix("#/").split("/"):
                schema = schema[int(part) if part.isdigit() else part]
            continue
        branches = next((schema[word] for word in ("anyOf", "oneOf", "allOf") if word in schema), ())
        schema = draw(st.sampled_from(branches)) if branches else None
    return merged
