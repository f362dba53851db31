"""A limit on what is remembered never changes a mask."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from schemas import CURATED, Curated, random_schemas
from vocabularies import ALL_SINGLE_BYTES, SYNTHETIC, TestVocabulary
from walks import as_vocabulary, drawn_matcher, mask_of, random_walk, tokens_of, written

#: Bytes: nothing is remembered, a mask or two, as many as by default.
LIMITS = (0, 4096, None)


def check_limits(grammar: gd.Grammar, vocabulary: TestVocabulary, walks: list[list[int]]) -> None:
    """The masks along all walks, one after another, are the same for every limit."""
    matchers = []
    for limit in LIMITS:
        copy = gd.Grammar.from_bytes(grammar.to_bytes())  # what is remembered belongs to a grammar and vocabulary
        matchers.append(gd.GrammarMatcher(copy, as_vocabulary(vocabulary)))
        if limit is not None:
            matchers[-1]._matcher.set_memo_limit(limit)
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


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_schemas(), st.sampled_from(("schema", "any")), st.sampled_from(SYNTHETIC), st.integers(0, 2**32 - 8))
def test_memo_limits_do_not_change_masks_along_random_walks(
    schema: Any, key_order: Any, vocabulary: TestVocabulary, seed: int
) -> None:
    matcher = drawn_matcher(schema, vocabulary, gd.JsonOptions(key_order=key_order))
    walks = [random_walk(matcher.fork(), vocabulary, seed + i, free=15, most=60) or [] for i in range(4)]
    check_limits(matcher.grammar, vocabulary, walks)
