"""Everyday objects and arrays are lowered on a short way; the long one, which takes all of them, says the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from grammar_decode.json_schema.arrays import _ArrayLowering
from grammar_decode.json_schema.claims import ARRAY, OBJECT
from grammar_decode.json_schema.containers import Impossible
from grammar_decode.json_schema.document import Document
from grammar_decode.json_schema.lower import Lowering
from grammar_decode.json_schema.objects import _ObjectLowering
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.limits import Limits

NAMES = st.sampled_from(["a", "b", "c", "é", 'with "quotes"', "\ud800"])
VALUES = st.sampled_from([True, False, {"type": "string"}, {"minimum": 3}, {"items": {}}, {"enum": []}, {"not": {}}])
DECLARED = st.dictionaries(NAMES, VALUES, max_size=3)
OBJECTS = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": DECLARED,
        "required": st.lists(NAMES, max_size=3),
        "additionalProperties": VALUES,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), VALUES, max_size=1),
        "allOf": st.lists(
            st.fixed_dictionaries({"properties": st.dictionaries(NAMES, VALUES, max_size=2)}), max_size=1
        ),
        "maxProperties": st.integers(0, 3),
        "propertyNames": st.just({"maxLength": 3}),
    },
)
ARRAYS = st.fixed_dictionaries(
    {"type": st.just("array")},
    optional={
        "items": VALUES,
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "prefixItems": st.lists(VALUES, max_size=1),
        "allOf": st.lists(st.fixed_dictionaries({"items": VALUES}), max_size=1),
    },
)


def lowered(schema: dict[str, Any], key_order: Any) -> tuple[Lowering, int]:
    lowering = Lowering(Document(schema), JsonOptions(key_order=key_order), Limits())
    return lowering, lowering.combiner.formula(OBJECT if schema["type"] == "object" else ARRAY, lowering.document.root)


@settings(max_examples=examples(300), deadline=None)
@given(OBJECTS, st.sampled_from(["any", "schema"]))
def test_both_ways_give_the_same_object(schema: dict[str, Any], key_order: str) -> None:
    lowering, formula = lowered(schema, key_order)
    short = lowering.objects.lower(formula, "#", lowering.node)
    try:
        long = _ObjectLowering(lowering.objects, formula, "#").members(lowering.node)
    except Impossible:
        long = None
    assert short == long


@settings(max_examples=examples(300), deadline=None)
@given(ARRAYS)
def test_both_ways_give_the_same_array(schema: dict[str, Any]) -> None:
    lowering, formula = lowered(schema, "any")
    short = lowering.arrays.lower(formula, "#", lowering.node)
    try:
        long = [_ArrayLowering(lowering.arrays, formula, "#").elements(lowering.node)]
    except Impossible:
        long = []
    assert short == long


@pytest.mark.parametrize(
    ("schema", "short"),
    [
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a", "z"]}, True),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, True),
        ({"type": "object", "properties": {"a": False}}, False),
        ({"type": "object", "patternProperties": {"^a": {"type": "null"}}}, False),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2}, True),
        ({"type": "array", "items": {"type": "null"}, "uniqueItems": True}, True),
        ({"type": "array", "prefixItems": [{"type": "null"}]}, False),
    ],
)
def test_the_short_way_is_taken_by_everyday_schemas(schema: dict[str, Any], short: bool) -> None:
    lowering, formula = lowered(schema, "any")
    owner = lowering.objects if schema["type"] == "object" else lowering.arrays
    assert (owner._plain(formula, lowering.node) is not None) == short
