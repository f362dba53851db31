"""Schemas that are refused: the class of the error, the location, and what it says."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import pytest

from grammar_decode import compile_json_schema
from grammar_decode.errors import GrammarDecodeError, SchemaError, SchemaTooComplex, UnsupportedSchema
from grammar_decode.ir.nodes import Members
from grammar_decode.json_schema import JsonOptions, compile_schema
from grammar_decode.json_schema.keywords import Dialect, keywords_of
from grammar_decode.limits import Limits
from grammar_decode.reference import accepts

DRAFT2020 = "https://json-schema.org/draft/2020-12/schema"

WRONG = [
    ({"type": "file"}, "#/type", '"file"'),
    ({"type": "any"}, "#/type", "Leave 'type' out"),
    ({"properties": {"a": {"type": ["string", "text"]}}}, "#/properties/a/type", '"text"'),
    ({"properties": []}, "#/properties", "an object"),
    ({"properties": {"a/b~": 3}}, "#/properties/a~1b~0", "a boolean"),
    ({"items": 3}, "#/items", "a schema"),
    ({"anyOf": {}}, "#/anyOf", "an array of schemas"),
    ({"anyOf": [True, 1]}, "#/anyOf/1", "a schema"),
    ({"required": True}, "#/required", "draft 3"),
    ({"required": "a"}, "#/required", "an array of strings"),
    ({"minLength": -1}, "#/minLength", "non-negative"),
    ({"maxLength": 1.5}, "#/maxLength", "non-negative"),
    ({"minimum": "1"}, "#/minimum", "a number"),
    ({"minimum": True}, "#/minimum", "a number"),
    ({"multipleOf": 0}, "#/multipleOf", "above 0"),
    ({"enum": "a"}, "#/enum", "an array"),
    ({"pattern": 1}, "#/pattern", "a string"),
    ({"type": "string", "pattern": "a("}, "#/pattern", "a("),
    ({"patternProperties": {"a(": {"type": "null"}}}, "#/patternProperties/a(", "a("),
    ({"uniqueItems": "yes"}, "#/uniqueItems", "true or false"),
    ({"$ref": 3}, "#/$ref", "a string"),
    ({"$ref": "#/definitions/nowhere"}, "#/$ref", "#/definitions"),
    ({"$ref": "#nowhere"}, "#/$ref", "no such anchor"),
    ({"$ref": "http://elsewhere.example/schema"}, "#/$ref", "resources="),
    ({"allOf": [{"$ref": "#"}]}, "#", "refers to itself"),
    ({"$ref": "#"}, "#", "refers to itself"),
    ({"$schema": DRAFT2020, "items": [{}]}, "#/items", "a schema"),
    ("{", None, "not JSON"),
    (3, "#", "a schema must be"),
]


@pytest.mark.parametrize(("schema", "location", "said"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_schema_is_refused_with_its_location(schema: Any, location: str | None, said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert caught.value.location == location
    assert said in str(caught.value)
    assert not isinstance(caught.value, UnsupportedSchema)


UNSUPPORTED = [
    ({"type": "array", "not": {"uniqueItems": True}}, "#/not/uniqueItems"),
    ({"type": "array", "oneOf": [{"minItems": 2}, {"uniqueItems": True}]}, "#/oneOf/1/uniqueItems"),
    ({"properties": {"a": {"minItems": 2**32}}}, "#/properties/a/minItems"),
    ({"minLength": 2**32 - 1}, "#/minLength"),
    ({"contains": True, "minContains": 1e30}, "#/minContains"),
    ({"type": "string", "pattern": "(a)\\1"}, "#/pattern"),
    ({"$schema": "http://json-schema.org/draft-03/schema#"}, "#/$schema"),
]


@pytest.mark.parametrize(("schema", "location"), UNSUPPORTED, ids=lambda value: str(value)[:40])
def test_what_is_not_enforced_is_refused_with_its_location(schema: Any, location: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema)
    assert caught.value.location == location


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "format": "date"},  # a format speaks of strings
        {"type": "string", "format": "int32"},  # a format of numbers
        {"type": "string", "format": "phone"},  # not a known format
        {"type": "array", "uniqueItems": False},
    ],
)
def test_what_says_nothing_here_is_not_refused(schema: Any) -> None:
    compile_schema(schema)


WRONG: list[Any] = [None, True, -1, 1.5, 10**20, "a", [], [1], ["a"], {}, {"a": []}]
RIGHT: dict[str, Any] = {
    "allOf": [{"minItems": 1}],
    "anyOf": [{"type": "array"}, {"required": ["a"]}],
    "if": {"required": ["b"]},
    "then": {"maxItems": 3},
    "items": {"type": "string"},
    "prefixItems": [{"type": "null"}],
    "contains": {"const": 1},
    "unevaluatedItems": False,
    "properties": {"a": {"type": "null"}},
    "patternProperties": {"^b": {}},
    "additionalProperties": False,
    "unevaluatedProperties": {"type": "integer"},
    "dependentSchemas": {"a": {"minProperties": 2}},
}


@pytest.mark.parametrize("dialect", ["http://json-schema.org/draft-07/schema#", None])
@pytest.mark.parametrize("keyword", sorted({row.name for row in keywords_of(Dialect.DEFAULT).values()}))
def test_wrong_arguments_are_errors_whatever_stands_beside_them(keyword: str, dialect: str | None) -> None:
    start = {"$schema": dialect} if dialect else {}
    for argument in WRONG:
        for companion in ({}, *({k: v} for k, v in RIGHT.items() if k != keyword), RIGHT):
            for schema in ({**companion, keyword: argument}, {keyword: argument, **companion}):
                with contextlib.suppress(SchemaError):
                    compile_json_schema(start | schema, cache=None)


def test_formats_can_be_ignored() -> None:
    compile_schema({"type": "string", "format": "date"}, JsonOptions(formats="ignore"))


def test_strict_formats_refuse_unknown_ones() -> None:
    with pytest.raises(UnsupportedSchema, match="phone"):
        compile_schema({"type": "string", "format": "phone"}, JsonOptions(formats="strict"))


def test_resources_resolve_references() -> None:
    resources = {"http://elsewhere.example/schema": {"$defs": {"n": {"type": "null"}}, "$ref": "#/$defs/n"}}
    grammar, _ = compile_schema({"$ref": "http://elsewhere.example/schema"}, resources=resources)
    assert accepts(grammar, b"null")
    assert not accepts(grammar, b"1")


def test_deep_nesting_of_one_value_is_too_complex() -> None:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(300):
        schema = {"allOf": [schema, {}, {"minLength": 1}]}
    with pytest.raises(SchemaTooComplex) as caught:
        compile_schema(schema)
    assert caught.value.limit == "max_depth"


def test_deep_nesting_of_values_is_no_problem() -> None:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(900):
        schema = {"items": schema, "type": "array"}
    grammar, _ = compile_schema(schema)
    assert len(grammar.nodes) == 901


def test_limits_name_themselves() -> None:
    with pytest.raises(SchemaTooComplex) as caught:
        compile_schema({"items": {"items": {"items": {}}}}, limits=Limits(max_nodes=2))
    assert caught.value.limit == "max_nodes"


def conditions(count: int) -> dict[str, Any]:
    """If `kind` is k7, then f7 is required; and so on."""
    return {
        "type": "object",
        "properties": {"kind": {"enum": [f"k{i}" for i in range(count)]}},
        "required": ["kind"],
        "allOf": [
            {"if": {"properties": {"kind": {"const": f"k{i}"}}}, "then": {"required": [f"f{i}"]}} for i in range(count)
        ],
    }


def test_conditions_hold_one_by_one() -> None:
    grammar, _ = compile_schema(conditions(8))
    assert accepts(grammar, b'{"kind":"k7","f7":1}')
    assert not accepts(grammar, b'{"kind":"k7","f6":1}')


def test_conditions_on_one_name_exclude_each_other() -> None:
    grammar, _ = compile_schema(conditions(40))
    members = grammar.nodes[grammar.root]
    assert isinstance(members, Members)
    assert len(members.values[members.names.index(b"kind")]) == 40  # and not 2 ** 40


def test_large_bounds_cost_nothing() -> None:
    schema = {"type": "array", "maxItems": 1_000_000, "items": {"type": "string", "maxLength": 1_000_000}}
    grammar, _ = compile_schema(schema)
    assert len(grammar.nodes) == 2
    assert len(grammar.regexes) < 400


@pytest.mark.parametrize(
    "option", [{"key_order": "random"}, {"whitespace": 3}, {"escapes": None}, {"numbers": "all"}, {"formats": ""}]
)
def test_wrong_options_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(GrammarDecodeError, match=next(iter(option))):
        JsonOptions(**option)


def test_the_schema_is_not_changed() -> None:
    schema = {"properties": {"a": {"const": [1, {"b": 2}]}}, "required": ["a"], "anyOf": [{"minProperties": 1}, {}]}
    copy = repr(schema)
    compile_schema(schema)
    assert repr(schema) == copy


def test_a_compilation_leaves_nothing_to_the_garbage_collector() -> None:
    point = {"type": "object", "properties": {"next": {"$ref": "#"}, "x": {"enum": [1, "x", True]}}, "required": ["x"]}
    kinds = [{"properties": {"kind": {"const": kind}, "n": {"multipleOf": 3}}} for kind in ("a", 1, False)]
    schema = {"$ref": "#/$defs/p", "unevaluatedProperties": False, "oneOf": kinds, "$defs": {"p": point}}
    compile_json_schema(schema, cache=None)
    gc.collect()
    gc.disable()
    try:
        grammar = compile_json_schema(schema, cache=None)
        assert len(grammar.report) > 5
        del grammar
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_equal_schemas_give_equal_grammars_whatever_was_compiled_before() -> None:
    schema = {"properties": {"a": {"type": "number", "minimum": 3}, "b": {"pattern": "^x"}}}
    first, _ = compile_schema(schema)
    compile_schema({"properties": {"z": {"pattern": "q+", "maximum": 77}}})
    second, _ = compile_schema(schema)
    assert first == second
