"""unevaluatedProperties and unevaluatedItems against an evaluator that collects annotations by the specification."""

from __future__ import annotations

import json
import random
from itertools import combinations, product
from typing import Any

import pytest

import grammar_decode as gd
from grammar_decode.errors import SchemaTooComplex

DRAFTS = {2019: "https://json-schema.org/draft/2019-09/schema", 2020: "https://json-schema.org/draft/2020-12/schema"}
BYTES = gd.Vocabulary([*(bytes((b,)) for b in range(256)), None], stop_token_ids=[256])

# ---- the oracle -----------------------------------------------------------------------------------------------------

SCALARS = {"integer": int, "string": str, "object": dict, "array": list}


def evaluated(schema: Any, value: Any, root: Any, draft: int) -> set[Any] | None:
    """The keys or indices that a schema (one of those made below) evaluates; None if the value fails it."""
    if isinstance(schema, bool):
        return set() if schema else None
    parts: list[set[Any] | None] = []

    def apply(inner: Any) -> set[Any] | None:
        return evaluated(inner, value, root, draft)

    def entries(chosen: dict[Any, Any]) -> None:
        parts.append(
            set(chosen)
            if all(evaluated(inner, value[key], root, draft) is not None for key, inner in chosen.items())
            else None
        )

    def holds(condition: bool) -> None:
        parts.append(set() if condition else None)

    if "type" in schema:
        holds(isinstance(value, SCALARS[schema["type"]]) and not isinstance(value, bool))
    if "enum" in schema:
        holds(value in schema["enum"])
    if "$ref" in schema:
        parts.append(apply(root["$defs"]["r"]))
    parts += map(apply, schema.get("allOf", ()))
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            found = [keys for keys in map(apply, schema[keyword]) if keys is not None]
            holds(len(found) == 1 if keyword == "oneOf" else bool(found))
            parts += found
    if "not" in schema:
        holds(apply(schema["not"]) is None)
    if "if" in schema:
        keys = apply(schema["if"])
        parts.append(keys or set())
        parts.append(apply(schema.get("else" if keys is None else "then", True)))
    if isinstance(value, dict):
        for name, inner in schema.get("dependentSchemas", {}).items():
            if name in value:
                parts.append(apply(inner))
        holds(all(name in value for name in schema.get("required", ())))
        named = {name: inner for name, inner in schema.get("properties", {}).items() if name in value}
        entries(named)
        seen = set(named)
        for prefix, inner in schema.get("patternProperties", {}).items():
            matching = {key: inner for key in value if key.startswith(prefix[1:])}
            entries(matching)
            seen |= set(matching)
        if "additionalProperties" in schema:
            entries({key: schema["additionalProperties"] for key in value if key not in seen})
        if "unevaluatedProperties" in schema:
            seen = set().union(*(part for part in parts if part))
            entries({key: schema["unevaluatedProperties"] for key in value if key not in seen})
    if isinstance(value, list):
        holds(len(value) >= schema.get("minItems", 0))
        prefix_items = schema.get("prefixItems" if draft == 2020 else "items", [])
        entries(dict(list(enumerate(prefix_items))[: len(value)]))
        for keyword in ("items",) if draft == 2020 else ("additionalItems",):
            if keyword in schema and (draft == 2020 or "items" in schema):
                entries(dict.fromkeys(range(len(prefix_items), len(value)), schema[keyword]))
        if "contains" in schema:
            found_at = {i for i, v in enumerate(value) if evaluated(schema["contains"], v, root, draft) is not None}
            least = schema.get("minContains", 1)
            holds(len(found_at) >= least)
            if draft == 2020:
                parts.append(found_at)
        if "unevaluatedItems" in schema:
            seen = set().union(*(part for part in parts if part))
            entries({i: schema["unevaluatedItems"] for i in range(len(value)) if i not in seen})
    return None if any(part is None for part in parts) else set().union(*(part for part in parts if part))


# ---- random schemas -------------------------------------------------------------------------------------------------


def leaf(rng: random.Random) -> Any:
    return rng.choice([True, {"type": "integer"}, {"type": "string"}, {"enum": [1]}, {"enum": [1, "x"]}, False])


def object_keywords(rng: random.Random) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if rng.random() < 0.6:
        schema["properties"] = {name: leaf(rng) for name in rng.sample("abc", rng.randint(1, 2))}
    if rng.random() < 0.25:
        schema["patternProperties"] = {rng.choice(["^a", "^b", "^ab", "^z"]): leaf(rng)}
    if rng.random() < 0.3:
        schema["required"] = rng.sample("abc", 1)
    if rng.random() < 0.08:
        schema["additionalProperties"] = leaf(rng)
    return schema


def array_keywords(rng: random.Random, draft: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if rng.random() < 0.5:
        schema["prefixItems" if draft == 2020 else "items"] = [leaf(rng) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.08:
        schema["items" if draft == 2020 else "additionalItems"] = leaf(rng)
        if draft == 2019 and "items" not in schema:
            schema["items"] = [True]
    if rng.random() < 0.3:
        schema["contains"] = leaf(rng)
        if rng.random() < 0.3:
            schema["minContains"] = rng.choice([0, 2])
    if rng.random() < 0.2:
        schema["minItems"] = rng.randint(1, 2)
    return schema


def random_schema(rng: random.Random, draft: int, depth: int, keyword: str) -> dict[str, Any]:
    is_object = keyword == "unevaluatedProperties"
    schema = object_keywords(rng) if is_object else array_keywords(rng, draft)

    def inner() -> dict[str, Any]:
        return random_schema(rng, draft, depth - 1, keyword)

    for applicator in rng.sample(list(APPLICATORS), rng.choice([0, 1, 1, 2])) if depth else []:
        schema.update(APPLICATORS[applicator](rng, inner))
    if rng.random() < 0.25:
        schema[keyword] = rng.choice([False, leaf(rng)])
    return schema


APPLICATORS: dict[str, Any] = {
    "allOf": lambda rng, inner: {"allOf": [inner() for _ in range(rng.randint(1, 2))]},
    "anyOf": lambda rng, inner: {"anyOf": [inner() for _ in range(rng.randint(1, 2))]},
    "oneOf": lambda rng, inner: {"oneOf": [inner() for _ in range(rng.randint(1, 2))]},
    "not": lambda _rng, inner: {"not": inner()},
    "if": lambda rng, inner: {key: inner() for key in ("if", "then", "else") if key == "if" or rng.random() < 0.7},
    "dependentSchemas": lambda rng, inner: {"dependentSchemas": {rng.choice("abc"): inner()}},
    "$ref": lambda _rng, _inner: {"$ref": "#/$defs/r"},
}
VALUES: list[Any] = [1, "x", None]
INSTANCES: dict[str, list[Any]] = {
    "unevaluatedProperties": [
        dict(zip(names, values, strict=True))
        for size in range(4)
        for names in combinations(["a", "b", "c", "ab", "z"], size)
        for values in product(VALUES, repeat=size)
    ],
    "unevaluatedItems": [list(values) for size in range(5) for values in product(VALUES, repeat=size)],
}


def check(seed: int) -> None:
    rng = random.Random(seed)
    draft, keyword = rng.choice([2019, 2020]), rng.choice(list(INSTANCES))
    body = random_schema(rng, draft, 2, keyword) | {keyword: rng.choice([False, False, leaf(rng)])}
    if rng.random() < 0.25:
        body = {"not": body}
    schema = {"$schema": DRAFTS[draft], **body, "$defs": {"r": random_schema(rng, draft, 0, keyword)}}
    try:
        grammar = gd.compile_json_schema(schema)
    except gd.UnsatisfiableSchema:
        grammar = None
    except SchemaTooComplex:
        return
    for value in rng.sample(INSTANCES[keyword], 25):
        expected = evaluated(schema, value, schema, draft) is not None
        text = json.dumps(value)
        try:
            taken = False
            if grammar is not None:
                matcher = gd.GrammarMatcher(grammar, BYTES)
                taken = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
        except SchemaTooComplex:
            return
        assert taken == expected, (seed, json.dumps(schema), text)


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_random_schemas_accept_what_the_annotations_say(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)


# ---- by hand --------------------------------------------------------------------------------------------------------


def accepts(schema: Any, text: str) -> bool:
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema), BYTES)
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def test_only_branches_that_hold_evaluate() -> None:
    schema = {
        "type": "object",
        "anyOf": [
            {"properties": {"kind": {"const": "a"}, "x": True}, "required": ["kind"]},
            {"properties": {"kind": {"const": "b"}, "y": True}, "required": ["kind"]},
        ],
        "unevaluatedProperties": False,
    }
    good = ['{"kind":"a","x":1}', '{"y":1,"kind":"b"}', '{"kind":"a"}']
    bad = ['{"kind":"a","y":1}', '{"x":1,"kind":"b"}', '{"kind":"a","z":1}', '{"x":1}']
    assert [text for text in good if not accepts(schema, text)] == []
    assert [text for text in bad if accepts(schema, text)] == []


def test_a_mask_never_offers_a_key_that_no_branch_evaluates() -> None:
    schema = {
        "type": "object",
        "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
        "then": {"properties": {"x": True}},
        "else": {"properties": {"y": True}},
        "unevaluatedProperties": False,
    }
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, gd.JsonOptions(whitespace="compact")), BYTES)
    assert matcher.accept_bytes(b'{"x":1,"')
    assert bytes(matcher.allowed_bytes()) == b"k"
    assert matcher.accept_bytes(b'kind":"')
    assert bytes(matcher.allowed_bytes()) == b"a"


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "if"])
def test_many_branches_with_a_discriminator_stay_apart(keyword: str) -> None:
    kinds: list[dict[str, Any]] = [{"properties": {"kind": {"const": n}}, "required": ["kind"]} for n in range(60)]
    own = [{"properties": {"kind": True, f"p{n}": True, f"q{n}": True, "shared": True}} for n in range(60)]
    if keyword == "if":
        schema: dict[str, Any] = {"allOf": [{"if": a, "then": b} for a, b in zip(kinds, own, strict=True)]}
    else:
        schema = {keyword: [{"allOf": [a, b]} for a, b in zip(kinds, own, strict=True)]}
    schema |= {"type": "object", "unevaluatedProperties": False}
    assert accepts(schema, '{"kind":7,"p7":1,"shared":2}')
    assert accepts(schema, '{"q7":1,"kind":7}')
    assert not accepts(schema, '{"kind":7,"p8":1}')
    assert not accepts(schema, '{"q7":1,"kind":8}')
    assert not accepts(schema, '{"q7":1,"p8":1}')


def test_contains_evaluates_the_items_it_matches_since_2020() -> None:
    schema = {"contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}}
    for draft, expected in ((2019, False), (2020, True)):
        assert accepts({"$schema": DRAFTS[draft], **schema}, '[1,"a",2]') == expected


def test_overlapping_conditions_have_a_limit() -> None:
    branches = [{"contains": {"const": n}} for n in range(8)]
    with pytest.raises(SchemaTooComplex) as caught:
        gd.compile_json_schema({"anyOf": branches, "unevaluatedItems": False})
    assert caught.value.location == "#/unevaluatedItems"


def test_a_loop_through_a_lone_if_is_an_error() -> None:
    schema = {"$schema": DRAFTS[2020], "if": {"$ref": "#"}, "unevaluatedProperties": False}
    with pytest.raises(gd.SchemaError):
        gd.compile_json_schema(schema)
