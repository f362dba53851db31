"""Documents of which only some schemas are everyday ones: the same language as where all of it goes the long way."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import EVERYTHING, examples
from grammar_decode.errors import GrammarDecodeError
from grammar_decode.everyday import EverydayDocument
from grammar_decode.ir.encode import encode
from grammar_decode.json_schema import compile_schema
from grammar_decode.json_schema.compile import compile_encoded
from grammar_decode.json_schema.parts import NoPart
from grammar_decode.json_schema.report import Report
from schemas_random import random_schemas

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "maskbench_dev.jsonl.gz"
BYTES = gd.Vocabulary([*(bytes((b,)) for b in range(256)), None], stop_token_ids=[256])
LIMITS = gd.Limits()
#: A hard schema: objects that are told apart by what they require.
HARD = {"anyOf": [{"type": "object", "required": ["k"]}, {"type": "object", "required": ["l"]}]}


def num_parts(schema: Any) -> int:
    document = EverydayDocument.of(schema, gd.JsonOptions(), LIMITS)
    assert document is not None
    assert document.compile() is None
    return compile_encoded(schema, parts=document).num_parts


def long_way(schema: Any) -> gd.Grammar:
    grammar, _ = compile_schema(schema)
    return gd.Grammar(encode(grammar), Report(()), grammar.origins, LIMITS, gd.JsonOptions())


def outcome(compiler: Any, schema: Any) -> gd.Grammar | tuple[type[GrammarDecodeError], str]:
    try:
        grammar = compiler(schema)
    except GrammarDecodeError as error:
        return type(error), str(error)
    if compiler is long_way and grammar._core_grammar.is_empty():
        return gd.UnsatisfiableSchema, ""
    return grammar


def check_same(schema: Any, seed: int, num_walks: int = 3) -> bool:
    """Walks over bytes: both ways allow the same ones. Whether the schema has a document."""
    one, other = outcome(lambda s: gd.compile_json_schema(s, cache=None), schema), outcome(long_way, schema)
    if not isinstance(one, gd.Grammar) or not isinstance(other, gd.Grammar):
        assert not isinstance(one, gd.Grammar), (schema, one, other)
        assert not isinstance(other, gd.Grammar), (schema, one, other)
        assert one[0] is other[0]
        return False
    rng = random.Random(seed)
    for _ in range(num_walks):
        matchers = [gd.GrammarMatcher(grammar, BYTES) for grammar in (one, other)]
        for _ in range(150):
            allowed, expected = (matcher.allowed_bytes() for matcher in matchers)
            assert allowed == expected, schema
            assert matchers[0].is_accepting() == matchers[1].is_accepting(), schema
            # Letters and what closes, rather than whitespace and rare bytes.
            choices = [b for b in allowed if chr(b) in '{}[]",:abckl01' and rng.random() < 0.9] or list(allowed)
            if not choices:
                break
            byte = bytes((rng.choice(choices),))
            for matcher in matchers:
                assert matcher.accept_bytes(byte)
    return True


EVERYDAY = st.recursive(
    st.sampled_from(
        [
            {"type": "string", "maxLength": 2},
            {"type": "integer", "minimum": 0, "maximum": 11},
            {"enum": ["a", "b", 1, None]},
            {"$ref": "#/$defs/plain"},
            {"$ref": "#/$defs/hard"},
            {"$ref": "#"},
            {"type": "boolean"},
            True,
            False,
        ]
    ),
    lambda inner: st.one_of(
        st.builds(
            lambda properties, required, others: {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": others,
            },
            st.dictionaries(st.sampled_from("abckl"), inner, max_size=3),
            st.lists(st.sampled_from("abckl"), max_size=2, unique=True),
            inner,
        ),
        st.builds(lambda items, low: {"type": "array", "items": items, "minItems": low}, inner, st.integers(0, 2)),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda parts: {"allOf": parts}, st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=6,
)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(EVERYDAY, EVERYDAY, EVERYDAY, st.integers(0, 2**32 - 1))
def test_parts_and_the_long_way_are_one_language(root: Any, plain: Any, hard: Any, seed: int) -> None:
    definitions = {"plain": plain, "hard": {"allOf": [hard, HARD]}}
    check_same({"allOf": [HARD, root], "$defs": definitions}, seed)
    check_same({"properties": {"k": root, "l": HARD}, "$defs": definitions}, seed)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(random_schemas(), random_schemas(), st.integers(0, 2**32 - 1))
def test_any_schema_beside_a_hard_one(one: Any, other: Any, seed: int) -> None:
    check_same({"type": "object", "properties": {"a": one, "b": {"items": other}, "k": HARD}}, seed)


def test_the_parts_of_the_development_data_are_the_long_way() -> None:
    if not DATA.exists():
        pytest.skip(f"needs ../shared/data/{DATA.name}")
    tally: Counter[bool] = Counter()
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            schema = json.loads(line)["schema"]
            if not EVERYTHING and number % 40:
                continue
            document = EverydayDocument.of(schema, gd.JsonOptions(), LIMITS)
            if document is None or document.compile() is not None:
                continue
            tally[check_same(schema, number, num_walks=2)] += 1
    assert tally[True] > (1_000 if EVERYTHING else 20)


MIXED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "hard": {"allOf": [HARD, {"properties": {"k": {"$ref": "#/$defs/node"}, "l": {"$ref": "#/$defs/node"}}}]},
        "list": {"type": "array", "items": {"$ref": "#/$defs/node"}, "minItems": 1},
    },
    "$defs": {
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "value": {"enum": [1, "x"]}}}
    },
}


def test_what_is_everyday_is_compiled_apart() -> None:
    assert num_parts(MIXED) >= 3  # the node, its value, the list
    assert num_parts({"anyOf": [HARD, {"type": "array", "items": HARD}]}) == 0
    assert check_same(MIXED, 0, num_walks=20)


def test_each_node_has_its_location() -> None:
    grammar = gd.compile_json_schema(MIXED, cache=None)
    assert len(grammar.origins) == len(grammar.ir.nodes)
    assert {"#/$defs/node", "#/properties/list", "#/properties/hard"} <= set(grammar.origins)
    matcher = gd.GrammarMatcher(grammar, BYTES)
    assert matcher.accept_bytes(b'{"list":[{"value":')
    explanation = matcher.explain(b"2")
    assert not explanation.allowed
    assert "#/$defs/node/properties/value" in str(explanation)


def test_schemas_that_share_their_parts_in_memory_have_locations() -> None:
    node: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
    for _ in range(60):  # 2^60 paths
        node = {"type": "object", "properties": {"a": node, "b": node}}
    circle: dict[str, Any] = {"type": "array"}
    circle["items"] = circle
    for shared in (node, circle):
        grammar = gd.compile_json_schema({"properties": {"k": HARD, "l": shared}}, cache=None)
        assert "#/properties/l" in grammar.origins


def test_a_refusal_by_the_kernel_names_the_schema_of_a_part() -> None:
    long = {"type": "string", "minLength": 1_000_000, "pattern": "[a-z]+-[a-z]+"}
    for schema in (
        {"properties": {"a/b": long}, "required": ["a/b"]},
        {"properties": {"k": HARD, "a": {"items": long}}},
    ):
        with pytest.raises(gd.SchemaTooComplex) as refusal:
            gd.compile_json_schema(schema, cache=None)
        assert refusal.value.location in ("#/properties/a~1b", "#/properties/a/items")


def test_the_report_is_whole() -> None:
    for cache in ({}, {"cache": None}):
        report = gd.compile_json_schema(MIXED, **cache).report
        assert report == compile_schema(MIXED)[1]
        assert any("/$defs/node/properties/value" in entry.location for entry in report)


def test_a_schema_in_a_resource_of_its_own_is_no_part() -> None:
    """There `#/$defs/a` names another schema."""
    inner = {"$id": "https://example.com/inner", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "null"}}}
    schema = {"allOf": [HARD], "properties": {"k": inner}, "$defs": {"a": {"type": "boolean"}}}
    assert check_same(schema, 3)
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, cache=None), BYTES)
    assert matcher.accept_bytes(b'{"k":[null')
    assert not matcher.accept_bytes(b",true")


def test_a_part_that_is_found_too_late_to_be_none() -> None:
    """An array whose items nothing satisfies is left to the long way, and only making its node shows it."""
    nothing = {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]}
    schema = {"properties": {"k": HARD, "a": {"type": "array", "items": {"anyOf": [nothing]}, "minItems": 1}}}
    check_same(schema, 5)
    schema["properties"]["a"]["items"] = {"enum": []}
    check_same(schema, 5)


def test_everyday_documents_have_no_parts() -> None:
    document = EverydayDocument.of({"type": "object"}, gd.JsonOptions(), LIMITS)
    assert document is not None
    assert document.compile() is not None
    assert isinstance(document.node({"not": {}}, 1), NoPart)
