"""A limit on what is remembered never changes a mask."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import examples
from schemas import CURATED, Curated
from schemas_random import random_schemas
from vocabularies import ALL_SINGLE_BYTES, SYNTHETIC, TestVocabulary
from walks import as_vocabulary, drawn_matcher, ids_of, mask_of, random_walk, tokens_needed, tokens_of, written

#: Bytes: nothing is remembered, a mask or two, as many as by default.
LIMITS = (0, 4096, None)


def check_limits(grammar: gd.Grammar, vocabulary: TestVocabulary, walks: list[list[int]]) -> None:
    """The masks along all walks, one after another, are the same for every limit."""
    matchers = []
    for limit in LIMITS:
        copy = gd.Grammar.from_bytes(grammar.to_bytes())  # what is remembered belongs to a grammar and vocabulary
        own = gd.Vocabulary(vocabulary.token_bytes, stop_token_ids=vocabulary.stop_token_ids, size=vocabulary.size)
        matchers.append(gd.GrammarMatcher(copy, own))
        if limit is not None:
            matchers[-1]._matcher.set_memo_limit(limit)
            own._core_vocabulary.set_table_limit(limit)
    for walk in walks:
        for matcher in matchers:
            matcher.reset()
        for token_id in walk:
            without, *others = [mask_of(matcher) for matcher in matchers]
            assert all(np.array_equal(mask, without) for mask in others), f"in {walk} before {token_id}"
            assert all(matcher.accept_token(token_id) for matcher in matchers)


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_memo_limits_do_not_change_masks_along_documents(curated: Curated) -> None:
    rng = random.Random(curated.name)
    walks = [tokens_of(written(v, rng).encode(), ALL_SINGLE_BYTES, rng) for v in curated.valid for _ in range(2)]
    check_limits(gd.compile_json_schema(curated.schema), ALL_SINGLE_BYTES, walks)


@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(random_schemas(), st.sampled_from(("schema", "any")), st.sampled_from(SYNTHETIC), st.integers(0, 2**32 - 8))
def test_memo_limits_do_not_change_masks_along_random_walks(
    schema: Any, key_order: Any, vocabulary: TestVocabulary, seed: int
) -> None:
    matcher = drawn_matcher(schema, vocabulary, gd.JsonOptions(key_order=key_order))
    walks = [random_walk(matcher.fork(), vocabulary, seed + i, free=15, most=60) or [] for i in range(4)]
    check_limits(matcher.grammar, vocabulary, walks)


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_memo_limits_do_not_change_masks_near_a_limit_of_tokens(curated: Curated) -> None:
    """The limited matcher asks for each mask twice, and again along its walk when it is told what was drawn."""
    vocabulary, rng = as_vocabulary(ALL_SINGLE_BYTES), random.Random(curated.name)
    grammar = gd.compile_json_schema(curated.schema)
    try:
        needed = tokens_needed(grammar, vocabulary)
    except gd.SchemaTooComplex:
        pytest.skip("no way to the end is known")
    matchers = []
    for limit in (0, None):
        copy = gd.Grammar.from_bytes(grammar.to_bytes())
        matchers.append(gd.GrammarMatcher(copy, vocabulary, max_tokens=needed + 3, closing_budget=4))
        if limit is not None:
            matchers[-1]._matcher.set_memo_limit(limit)
    for _ in range(4):
        for matcher in matchers:
            matcher.reset()
        while not matchers[0].is_terminated():
            forgetful, *others = [mask_of(matcher) for matcher in (*matchers, *matchers)]
            assert all(np.array_equal(mask, forgetful) for mask in others), f"behind {matchers[0].text!r}"
            token_id = rng.choice(ids_of(forgetful))
            assert all(matcher.accept_token(token_id) for matcher in matchers)


@pytest.mark.parametrize("limit", [5_000, 20_000])
def test_what_is_remembered_stays_within_its_limit_while_a_matcher_lives(limit: int) -> None:
    vocabulary = gd.Vocabulary(ALL_SINGLE_BYTES.token_bytes, stop_token_ids=ALL_SINGLE_BYTES.stop_token_ids)
    vocabulary._core_vocabulary.set_table_limit(limit)
    names = {f"{n}-name": {"type": "string", "pattern": f"^[a-z]*{n}[a-f]{{{n + 1},}}$"} for n in range(40)}
    grammar = gd.compile_json_schema({"properties": names})
    matchers = [gd.GrammarMatcher(gd.Grammar.from_bytes(grammar.to_bytes()), vocabulary) for _ in range(2)]
    for matcher, bytes_remembered in zip(matchers, (0, limit), strict=True):
        matcher._matcher.set_memo_limit(bytes_remembered)
    text = ",".join(f'"{n}-name":"xyz{n}{"abcdef" * (n + 1)}"' for n in range(40))
    for byte in b"{" + text.encode() + b"}":
        forgetful, remembering = (mask_of(matcher) for matcher in matchers)
        assert np.array_equal(forgetful, remembering)
        assert all(matcher.accept_bytes(bytes([byte])) for matcher in matchers)
        assert vocabulary._core_vocabulary.table_memory_bytes() <= limit
        # The automata are the same, so the difference is what is remembered.
        assert matchers[1]._matcher.engine_memory_bytes() - matchers[0]._matcher.engine_memory_bytes() <= limit
    assert all(matcher.is_accepting() for matcher in matchers)
