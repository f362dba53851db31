"""OpenAPI 3.0's own keywords: read under ``openapi=True``, annotations without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_decode.errors import GrammarDecodeError, SchemaError, UnsupportedSchema
from grammar_decode.json_schema import JsonOptions, Outcome, compile_schema
from grammar_decode.reference import accepts

OPENAPI = JsonOptions(openapi=True)


def accepted(schema: Any, *values: Any, options: JsonOptions = OPENAPI) -> list[bool]:
    grammar, _ = compile_schema(schema, options)
    return [accepts(grammar, json.dumps(value).encode()) for value in values]


def outcome(schema: Any, keyword: str, options: JsonOptions = OPENAPI) -> Outcome:
    _, report = compile_schema(schema, options)
    return next(entry.outcome for entry in report.entries if entry.keyword == keyword)


# ---- nullable -------------------------------------------------------------------------------------------------------


def test_nullable_adds_null_to_the_type() -> None:
    assert accepted({"type": "integer", "nullable": True, "minimum": 3}, None, 3, 2, "a") == [True, True, False, False]
    assert accepted({"type": "string", "nullable": False}, None, "a") == [False, True]


def test_nullable_says_nothing_without_type() -> None:
    assert accepted({"nullable": False}, None) == [True]
    schema = {"allOf": [{"type": "string"}], "nullable": True}
    assert accepted(schema, None, "a") == [False, True]
    assert outcome(schema, "nullable") is Outcome.ANNOTATION


def test_enum_beside_nullable_must_hold_null() -> None:
    assert accepted({"type": "string", "nullable": True, "enum": ["a"]}, None, "a") == [False, True]
    assert accepted({"type": "string", "nullable": True, "enum": ["a", None]}, None, "a") == [True, True]


def test_openapi_keywords_are_annotations_without_the_option() -> None:
    schema = {"type": "string", "nullable": True}
    assert accepted(schema, None, "a", options=JsonOptions()) == [False, True]
    assert outcome(schema, "nullable", JsonOptions()) is Outcome.ANNOTATION
    assert outcome(schema, "nullable") is Outcome.ENFORCED
    schema = pets(discriminator={"propertyName": "kind"})
    assert accepted(schema, {"kind": "Eel", "lives": 1.5}, options=JsonOptions()) == [True]
    assert outcome(schema, "discriminator", JsonOptions()) is Outcome.ANNOTATION
    assert outcome(schema, "discriminator") is Outcome.ENFORCED


# ---- discriminator --------------------------------------------------------------------------------------------------


def pets(combine: str = "oneOf", **more: Any) -> dict[str, Any]:
    return {
        combine: [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "components": {
            "schemas": {
                "Cat": {"type": "object", "properties": {"lives": {"type": "integer"}}, "required": ["lives"]},
                "Dog": {"type": "object", "properties": {"lives": {"type": "number"}}},
            }
        },
        **more,
    }


@pytest.mark.parametrize("combine", ["oneOf", "anyOf"])
def test_the_property_names_the_alternative(combine: str) -> None:
    schema = pets(combine, discriminator={"propertyName": "kind"})
    # Of `oneOf` exactly one must hold, whatever the property says.
    assert accepted(schema, {"kind": "Cat", "lives": 9}) == [combine == "anyOf"]
    assert accepted(schema, {"kind": "Dog", "lives": 1.5}, {"kind": "Dog"}) == [True, True]
    assert not any(accepted(schema, {"kind": "Cat"}, {"kind": "Eel", "lives": 1.5}, {"lives": 1.5}, {"kind": 3}, 3))


def test_a_mapping_takes_the_place_of_the_implicit_name() -> None:
    mapping = {"cat": "#/components/schemas/Cat", "kitty": "Cat", "Eel": "#/components/schemas/Eel"}
    schema = pets("anyOf", discriminator={"propertyName": "kind", "mapping": mapping})
    cats = [{"kind": kind, "lives": 9} for kind in ("cat", "kitty", "Cat", "Eel", "Dog")]
    assert accepted(schema, *cats) == [True, True, False, False, True]


def test_a_mapped_name_is_no_implicit_name_of_another() -> None:
    schema = pets("anyOf", discriminator={"propertyName": "kind", "mapping": {"Dog": "Cat"}})
    assert accepted(schema, {"kind": "Dog", "lives": 9}, {"kind": "Dog"}) == [True, False]


def test_an_alternative_without_reference_admits_no_object() -> None:
    schema = pets("anyOf", discriminator={"propertyName": "kind"})
    schema["anyOf"] += [{"type": "null"}, {"required": ["x"]}]
    assert accepted(schema, None, {"x": 1}, {"kind": "Dog"}) == [True, False, True]


def test_a_discriminator_needs_alternatives_that_are_references() -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema({"oneOf": [{"required": ["a"]}], "discriminator": {"propertyName": "kind"}}, OPENAPI)
    assert caught.value.location == "#/discriminator"


def test_a_discriminator_on_a_parent_is_an_annotation() -> None:
    schema = {"type": "object", "discriminator": {"propertyName": "kind"}}
    assert accepted(schema, {}) == [True]
    assert outcome(schema, "discriminator") is Outcome.ANNOTATION


@pytest.mark.parametrize(
    ("schema", "location"),
    [
        ({"type": "string", "nullable": "yes"}, "#/nullable"),
        ({"oneOf": [{"$ref": "#"}], "discriminator": "kind"}, "#/discriminator"),
        ({"oneOf": [{"$ref": "#"}], "discriminator": {"mapping": {}}}, "#/discriminator"),
    ],
)
def test_wrong_arguments(schema: Any, location: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema, OPENAPI)
    assert caught.value.location == location


# ---- formats --------------------------------------------------------------------------------------------------------


def test_byte_is_a_format_of_openapi_alone() -> None:
    schema = {"type": "string", "format": "byte"}
    assert accepted(schema, "Zg==", "base64 encoded binary value") == [True, False]
    assert accepted(schema, "base64 encoded binary value", options=JsonOptions()) == [True]
    assert outcome(schema, "format", JsonOptions()) is Outcome.ANNOTATION
    assert outcome(schema, "format") is Outcome.ENFORCED
    with pytest.raises(UnsupportedSchema):
        compile_schema(schema, JsonOptions(formats="strict"))


def test_the_option_is_a_truth_value() -> None:
    with pytest.raises(GrammarDecodeError):
        JsonOptions(openapi="yes")  # type: ignore[arg-type]
