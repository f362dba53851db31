"""Curated schemas for tests, with instances. `schemas_random.py` draws others, `schema_judge.py` judges instances."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
