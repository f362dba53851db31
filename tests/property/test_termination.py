"""Within `max_tokens` every walk ends in a valid document: whatever is drawn, from the masks as they are."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import examples
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.encode import encode
from schema_judge import judge
from schemas import CURATED, Curated
from schemas_random import random_schemas, text_options
from strategies import chains, grammars
from vocabularies import ALL_SINGLE_BYTES, SYNTHETIC, TestVocabulary, shared_tokenizer
from walks import as_vocabulary, ids_of, mask_of, tokens_needed

SHARED = Path(__file__).resolve().parents[3] / "shared"
THOROUGH = settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))

Draws = Literal["any", "farthest"]


def walk_to_the_end(
    matcher: gd.GrammarMatcher, rng: random.Random, draws: Draws, plain: gd.GrammarMatcher | None = None
) -> None:
    """Draws tokens until a stop token: any allowed one, or of some the one that leads farthest from the end."""
    while not matcher.is_terminated():
        mask = mask_of(matcher)
        if plain is not None:
            assert not np.any(mask & ~mask_of(plain)), "narrowing added a token"
        ids = ids_of(mask)
        assert ids, f"nothing is allowed behind {matcher.text!r} with {matcher.tokens_left} tokens left"
        token_id = rng.choice(ids)
        if draws == "farthest":
            token_id = max(rng.sample(ids, min(len(ids), 8)), key=lambda drawn: distance_behind(matcher, drawn))
        assert matcher.accept_token(token_id), f"{token_id} was allowed behind {matcher.text!r}"
        if plain is not None and not matcher.is_terminated():
            assert plain.accept_token(token_id)


def distance_behind(matcher: gd.GrammarMatcher, token_id: int) -> int:
    twin = matcher.fork()
    assert twin.accept_token(token_id)
    return -1 if twin.is_terminated() else twin.completion_distance() or 0


def compiled(schema: Any, json_options: gd.JsonOptions) -> gd.Grammar:
    """The grammar of a drawn schema; one that has none is no example."""
    try:
        return gd.compile_json_schema(schema, json_options)
    except (gd.UnsatisfiableSchema, gd.SchemaTooComplex):
        pass  # assume() raises, and a chained error would hide that
    assume(False)
    raise AssertionError


def check_schema(
    schema: Any, grammar: gd.Grammar, vocabulary: gd.Vocabulary, spare: int, rng: random.Random, draws: Draws
) -> None:
    try:
        limit = tokens_needed(grammar, vocabulary) + spare
    except (gd.SchemaTooComplex, gd.UnsatisfiableSchema):
        return
    matcher = gd.GrammarMatcher(grammar, vocabulary, max_tokens=limit)
    try:
        walk_to_the_end(matcher, rng, draws, gd.GrammarMatcher(grammar, vocabulary))
    except gd.SchemaTooComplex:  # distinct items under a condition: a limit refuses, and no document comes out
        assume("uniqueItems" not in json.dumps(schema))
        raise
    assert matcher.num_steps <= limit
    assert judge(schema)(matcher.text.decode()), f"{matcher.text!r} is invalid for {schema}"


@pytest.mark.parametrize("draws", ["any", "farthest"])
@pytest.mark.parametrize("vocabulary", SYNTHETIC, ids=lambda v: v.name)
@given(schema=random_schemas(), json_options=text_options, spare=st.integers(0, 12), seed=st.integers(0, 2**32))
@THOROUGH
def test_walks_over_drawn_schemas_end_within_their_limit(
    vocabulary: TestVocabulary, draws: Draws, schema: Any, json_options: gd.JsonOptions, spare: int, seed: int
) -> None:
    check_schema(schema, compiled(schema, json_options), as_vocabulary(vocabulary), spare, random.Random(seed), draws)


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_walks_over_curated_schemas_end_within_their_limit(curated: Curated) -> None:
    rng = random.Random(3)
    for vocabulary in SYNTHETIC:
        grammar = gd.compile_json_schema(curated.schema)
        for spare in (0, 1, 3, 20):
            check_schema(curated.schema, grammar, as_vocabulary(vocabulary), spare, rng, "any")
        check_schema(curated.schema, grammar, as_vocabulary(vocabulary), 2, rng, "farthest")


@given(grammar=grammars() | grammars(unique=True) | chains(), spare=st.integers(0, 8), seed=st.integers(0, 2**32))
@THOROUGH
def test_walks_over_drawn_grammars_end_within_their_limit(grammar: Any, spare: int, seed: int) -> None:
    """The IR has kinds of alternatives that no schema comes to."""
    vocabulary = as_vocabulary(ALL_SINGLE_BYTES)
    report = gd.compile_json_schema(True).report  # none of its own
    try:
        drawn = gd.Grammar(encode(grammar), report, ("",) * len(grammar.nodes), gd.Limits())
        limit = tokens_needed(drawn, vocabulary) + spare
    except (gd.UnsatisfiableSchema, gd.SchemaTooComplex):
        return
    matcher = gd.GrammarMatcher(drawn, vocabulary, max_tokens=limit)
    try:
        walk_to_the_end(matcher, random.Random(seed), "any", gd.GrammarMatcher(drawn, vocabulary))
    except gd.SchemaTooComplex:  # as above
        assume(not any(isinstance(node, ir.Elements) and node.unique for node in grammar.nodes))
        raise
    assert matcher.num_steps <= limit


NAMES = [f"name_{i}" for i in range(24)]


def of_seven_names(i: int) -> Any:
    names = [f"name_{(5 * i + j * (i + 1)) % 24}" for j in range(7)]
    named = {name: {"type": ["string", "integer"]} for name in names}
    return {"properties": {"kind": {"const": f"kind {i}"}, **named}, "required": ["kind", *dict.fromkeys(names)]}


def with_a_key_that_matches(pattern: str) -> Any:
    return {"not": {"propertyNames": {"not": {"pattern": pattern}}}}


#: Schemas whose ends take a search among many ways.
FAR_TO_SEEK = {
    "alternatives of many required names": {
        "type": "object",
        "properties": {name: {} for name in NAMES},
        "anyOf": [of_seven_names(i) for i in range(12)],
    },
    "keys of two letters that must match several patterns": {
        "type": "object",
        "propertyNames": {"pattern": "^..$"},
        "allOf": [with_a_key_that_matches(letter) for letter in "abcd"],
    },
    "objects of such keys": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z]..$"},
        "patternProperties": {
            "a": {
                "type": "object",
                "propertyNames": {"pattern": "^..$"},
                "anyOf": [{"required": ["ca"]}, {"required": ["cb"]}],
                **with_a_key_that_matches("b"),
            }
        },
        "not": {"patternProperties": {"a": {"not": {"minProperties": 2}}}},
    },
    "multiples of several numbers": {
        "type": "number",
        "allOf": [
            {"anyOf": [{"multipleOf": 33}, {"multipleOf": 91}]},
            {"anyOf": [{"not": {"multipleOf": 7}}, {"multipleOf": 13}]},
            {"not": {"multipleOf": 8}},
        ],
    },
}


@pytest.mark.parametrize("name", FAR_TO_SEEK)
def test_an_end_that_is_far_to_seek_stays_within_reach(name: str) -> None:
    """Each was refused, when its matcher was made or in the middle of a walk: the search took more than a second."""
    schema = FAR_TO_SEEK[name]
    vocabulary = as_vocabulary(shared_tokenizer("llama3_1"))
    grammar = gd.compile_json_schema(schema)
    needed, rng, is_valid = tokens_needed(grammar, vocabulary), random.Random(name), judge(schema)
    for spare in (0, 3, 20):
        matcher = gd.GrammarMatcher(grammar, vocabulary, max_tokens=needed + spare)
        walk_to_the_end(matcher, rng, "any")
        assert matcher.num_steps <= needed + spare
        assert is_valid(matcher.text.decode()), matcher.text


def development_schemas() -> list[Any]:
    path = SHARED / "data" / "maskbench_dev.jsonl.gz"
    if not path.exists():
        pytest.skip("needs ../shared/data")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["schema"] for line in lines]


@pytest.mark.parametrize("draws", ["any", "farthest"])
@pytest.mark.parametrize("number", [12, pytest.param(1700, marks=pytest.mark.slow)])
def test_walks_over_development_schemas_end_within_their_limit(number: int, draws: Draws) -> None:
    """With the slow ones, three walks over each of 1,700 schemas, both ways of drawing: 10,200."""
    vocabulary = as_vocabulary(shared_tokenizer("llama3_1"))
    rng = random.Random(number)
    for schema in rng.sample(development_schemas(), number):
        try:
            grammar = gd.compile_json_schema(schema)
        except (gd.UnsatisfiableSchema, gd.SchemaTooComplex):
            continue
        for spare in (0, rng.randrange(1, 6), rng.randrange(6, 60)):
            limit = tokens_needed(grammar, vocabulary) + spare
            matcher = gd.GrammarMatcher(grammar, vocabulary, max_tokens=limit)
            walk_to_the_end(matcher, rng, draws)
            assert matcher.num_steps <= limit
            assert judge(schema)(matcher.text.decode()), f"{matcher.text!r} is invalid for {schema}"


@pytest.mark.parametrize("closing_budget", [0, 30])
@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_near_the_limit_a_token_is_accepted_just_if_the_mask_has_it(curated: Curated, closing_budget: int) -> None:
    vocabulary, rng = as_vocabulary(ALL_SINGLE_BYTES), random.Random(closing_budget)
    grammar = gd.compile_json_schema(curated.schema)
    try:
        needed = tokens_needed(grammar, vocabulary)
    except gd.SchemaTooComplex:
        pytest.skip("no way to the end is known")
    for spare in (0, 1, 5):
        matcher = gd.GrammarMatcher(grammar, vocabulary, max_tokens=needed + spare, closing_budget=closing_budget)
        for _ in range(25):
            allowed = set(ids_of(mask_of(matcher)))
            for token_id in rng.sample(range(vocabulary.size), 60):
                accepted = matcher.fork().accept_token(token_id)
                assert accepted == (token_id in allowed), f"{token_id} behind {matcher.text!r}"
            if not matcher.accept_token(rng.choice(sorted(allowed))) or matcher.is_terminated():
                break
