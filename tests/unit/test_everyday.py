"""The kernel's own way from an everyday schema to a grammar, against the way that takes every schema."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammar_decode import JsonOptions, Limits, SchemaError, SchemaTooComplex, compile_json_schema
from grammar_decode.errors import GrammarDecodeError
from grammar_decode.everyday import EverydayDocument
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.encode import decode
from grammar_decode.json_schema import compile_schema

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "maskbench_dev.jsonl.gz"
LIMITS = Limits()
OPTIONS = [
    JsonOptions(),
    JsonOptions(numbers="any", escapes="any", formats="ignore", whitespace="any"),
    JsonOptions(openapi=True, escapes="canonical", whitespace="spaced"),
]


def compile_everyday(schema: Any, options: JsonOptions, limits: Limits) -> bytes | None:
    document = EverydayDocument.of(schema, options, limits)
    return None if document is None else document.compile()


def told(grammar: ir.Grammar) -> tuple[Any, ...]:
    """The grammar but for the numbers of its regular expressions, and for those that no node uses."""
    known: list[str] = []
    for regex in grammar.regexes:
        if isinstance(regex, ir.Concatenation):
            said = f"concatenation {[known[part] for part in regex.parts]}"
        elif isinstance(regex, (ir.Alternation, ir.Intersection)):
            said = f"{type(regex).__name__} {sorted(known[part] for part in regex.parts)}"
        elif isinstance(regex, ir.Repetition):
            said = f"repetition {known[regex.part]} {regex.minimum} {regex.maximum}"
        elif isinstance(regex, ir.Complement):
            said = f"complement {known[regex.part]}"
        else:
            said = repr(regex)
        known.append(hashlib.sha256(said.encode()).hexdigest())
    nodes: list[Any] = []
    for node in grammar.nodes:
        if isinstance(node, ir.Terminal):
            nodes.append(known[node.regex])
        elif isinstance(node, ir.Members):
            nodes.append((replace(node, patterns=()), [known[pattern] for pattern in node.patterns]))
        else:
            nodes.append(node)
    return grammar.root, grammar.spacing, nodes


def check(schema: Any, options: JsonOptions) -> bool:
    """Whether the schema is an everyday one; if so, both ways must agree."""
    encoded = compile_everyday(schema, options, LIMITS)
    if encoded is None:
        return False
    assert told(decode(encoded)) == told(compile_schema(schema, options)[0]), schema
    return True


NAMES = st.sampled_from(["a", "b", "ä", 'a "quoted" one', "\ud800", "$ref", "properties"])
SCALARS = st.sampled_from([None, True, False, 0, 1, -3, 1.0, 1.5, "", "a", "b", "aa", "ä", '"', "\ud800"])
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
REFERENCES = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/$defs/c~1d", "#/nothing", "other"])
LEAVES = st.one_of(
    st.builds(lambda name: {"type": name}, TYPES),
    st.booleans(),
    st.just({}),
    st.builds(lambda target: {"$ref": target}, REFERENCES),
    st.builds(lambda value: {"const": value}, SCALARS),
    st.builds(lambda values: {"enum": values}, st.lists(SCALARS, max_size=3)),
    st.just({"description": "anything"}),
    st.just({"$id": "x", "type": "null"}),
    st.just({"not": {}}),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "required": st.lists(NAMES, max_size=2),
            "type": TYPES | st.lists(TYPES, max_size=3, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "additionalProperties": inner,
            "items": inner,
            "additionalItems": st.booleans(),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 3),
            "uniqueItems": st.booleans(),
            "enum": st.lists(SCALARS, max_size=3),
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 3),
            "pattern": st.sampled_from(["^a", "b$", "^$", "("]),
            "format": st.sampled_from(["ipv4", "int32", "double", "byte", "color"]),
            "minimum": st.sampled_from([0, 1, 1.0, 1.5, 2**70]),
            "exclusiveMaximum": st.sampled_from([3, 4.5, True]),
            "multipleOf": st.sampled_from([1, 2, 0.5, 0]),
            "title": st.just("a title"),
            "anyOf": st.lists(inner, max_size=3),
            "oneOf": st.lists(inner, max_size=3),
        },
    ).map(lambda schema: dict(reversed(schema.items())) if "properties" in schema else schema)


SCHEMAS = st.recursive(LEAVES, objects, max_leaves=8)
DIALECTS = [None, "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema", "urn:unknown"]


@settings(max_examples=400, deadline=None)
@given(SCHEMAS, st.dictionaries(st.sampled_from("ab"), SCHEMAS), st.sampled_from(DIALECTS), st.sampled_from(OPTIONS))
def test_both_ways_give_the_same_grammar(
    schema: Any, definitions: dict[str, Any], dialect: str | None, options: JsonOptions
) -> None:
    if isinstance(schema, dict):
        schema = {**schema, "$defs": definitions, **({} if dialect is None else {"$schema": dialect})}
    try:
        check(schema, options)
    except GrammarDecodeError as error:
        raise AssertionError(f"taken as an everyday schema, but refused: {error}") from error


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["b", "c", "c"]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
        {"properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": {"enum": ["x", 1, None, True]}},
        {"type": "array", "items": {"$ref": "#/definitions/x"}, "definitions": {"x": {"format": "date"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/x", "definitions": {"x": {}}},
        {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a+$"},
            "minItems": 2,
        },
        {"type": "array", "uniqueItems": True, "maxItems": 3, "items": {"minimum": 0, "multipleOf": 0.5}},
        {"const": "a"},
        {
            "oneOf": [
                {"type": "string"},
                {"type": "integer", "minimum": 3},
                {"type": "array", "items": {"type": "null"}},
            ]
        },
        {
            "anyOf": [{"pattern": "^a", "type": "string"}, {"enum": ["b", 1, True]}, {"$ref": "#/$defs/x"}],
            "$defs": {"x": {}},
        },
        {"oneOf": [{"minLength": 3}, {"maxLength": 5}], "type": "string"},
        {
            "anyOf": [
                {"type": "string", "format": "date"},
                {"oneOf": [{"type": "string", "minLength": 2}, {"type": "null"}]},
            ]
        },
        {"items": {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "array"}]}},
        {"oneOf": [{"type": "object", "required": ["a"]}]},
    ],
)
@pytest.mark.parametrize("options", OPTIONS)
def test_is_everyday(schema: Any, options: JsonOptions) -> None:
    assert check(schema, options)


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"type": "string"}]},
        {"anyOf": [{"type": "object", "required": ["b"]}, {"type": "object", "required": ["a"]}]},
        {"oneOf": [{"type": "null"}, {"type": ["null", "string"]}]},
        {"anyOf": [{"type": "object"}], "required": ["a"]},
        {"anyOf": [{"type": "string"}], "oneOf": [{}]},
        {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
        {"anyOf": []},
        {"properties": {"a": False}},
        {"required": ["a"], "additionalProperties": False},
        {"type": "object", "minProperties": 1},
        {"enum": [[1]]},
        {"$ref": "#/definitions/x"},
        {"$ref": "#/definitions/x", "definitions": {"x": {"$ref": "#/definitions/x"}}},
        {"$ref": "#", "type": "string"},
        {"properties": {"a": {"$id": "http://localhost/a"}}},
        {"type": "text"},
        {"required": "a"},
        {"items": [{}]},
        {"type": "string", "pattern": "("},
        {"type": "object", "multipleOf": 0},
        {"type": "object", "pattern": 5},
        {"type": "array", "items": False, "minItems": 1},
        {"$schema": "http://json-schema.org/draft-03/schema#"},
        {1: 2},
        {"type": "object", "properties": {"a": {"minimum": float("nan")}}},
    ],
)
def test_is_left_to_the_other_way(schema: Any) -> None:
    assert compile_everyday(schema, JsonOptions(), LIMITS) is None


def test_other_options_and_limits_go_the_other_way() -> None:
    assert compile_everyday({}, JsonOptions(key_order="schema"), LIMITS) is None
    assert compile_everyday({}, JsonOptions(), Limits(max_nodes=5)) is None
    assert compile_everyday({"format": "color"}, JsonOptions(formats="strict"), LIMITS) is None
    assert compile_everyday({"type": "string", "nullable": True}, JsonOptions(openapi=True), LIMITS) is None
    assert compile_everyday({"type": "string", "nullable": True}, JsonOptions(), LIMITS) is not None


def test_an_object_that_stands_twice_in_memory_is_one_schema() -> None:
    shared = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert check({"properties": {"x": shared, "y": shared}}, JsonOptions())


def test_report_and_origins_are_made_when_somebody_asks() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "title": "A"}}}
    for cache in ({}, {"cache": None}):
        grammar = compile_json_schema(schema, **cache)
        assert compile_everyday(schema, JsonOptions(), LIMITS) is not None
        expected, report = compile_schema(schema)
        assert grammar.origins == expected.origins
        assert grammar.report == report


def test_deep_nesting_is_no_recursion() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(LIMITS.max_nesting):
        schema = {"type": "array", "items": schema}
    assert compile_everyday(schema, JsonOptions(), LIMITS) is not None
    assert compile_everyday({"items": schema}, JsonOptions(), LIMITS) is None


BEYOND: list[tuple[str, Any]] = [
    ("max_alternatives", {"anyOf": [{"const": i} for i in range(LIMITS.max_alternatives + 1)]}),
    ("max_alternatives", {"oneOf": [{"type": "null"}] * (LIMITS.max_alternatives + 1)}),
    ("max_enum", {"enum": [None, True] * (LIMITS.max_enum // 2 + 1)}),
    ("max_enum", {"type": "string", "enum": [str(i) for i in range(LIMITS.max_enum + 1)]}),
    ("max_pattern", {"type": "string", "pattern": "a" * (LIMITS.max_pattern + 1)}),
]


@pytest.mark.parametrize(("limit", "schema"), BEYOND)
def test_a_schema_beyond_a_limit_is_refused_on_both_ways(limit: str, schema: Any) -> None:
    for inside in (schema, {"type": "array", "items": schema}):
        assert compile_everyday(inside, JsonOptions(), LIMITS) is None
        with pytest.raises(SchemaTooComplex, match=limit):
            compile_json_schema(inside, cache=None)


def test_long_chains_of_references_go_the_other_way() -> None:
    """Following each of many references to the end of one chain is quadratic, and nothing here looks at a clock."""

    def chain(length: int) -> dict[str, Any]:
        links = {f"s{i}": {"$ref": f"#/$defs/s{i + 1}"} for i in range(length)}
        return {"properties": links, "$defs": {**links, f"s{length}": {"type": "null"}}}

    assert check(chain(30), JsonOptions())
    assert compile_everyday(chain(40), JsonOptions(), LIMITS) is None
    compile_json_schema(chain(2_000), cache=None)


def test_errors_name_their_place() -> None:
    with pytest.raises(SchemaError, match="#/properties/a/pattern"):
        compile_json_schema({"properties": {"a": {"type": "string", "pattern": "("}}})


@pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data/maskbench_dev.jsonl.gz")
def test_real_schemas() -> None:
    seen: Counter[bool] = Counter()
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % 15 == 0:
                seen[check(json.loads(line)["schema"], JsonOptions())] += 1
    assert seen[True] > 0.65 * seen.total()
