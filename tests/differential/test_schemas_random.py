"""Random schemas, compiled: the kernel's masks equal the reference's along walks, and both agree on what is empty."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import examples
from grammar_decode.errors import VocabularyError
from grammar_decode.ir import nodes as ir
from grammar_decode.reference import ReferenceMatcher
from schemas_random import random_schemas, text_options
from vocabularies import SYNTHETIC, TestVocabulary, gpt2
from walks import as_vocabulary, mask_of, random_walk, text_of

THOROUGH = settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))

seeds = st.integers(0, 2**32 - 1)


def pair_of(
    schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary
) -> tuple[gd.GrammarMatcher, ReferenceMatcher] | None:
    """Both matchers; None where the schema has no document, which both must find."""
    try:
        grammar = gd.compile_json_schema(schema, json_options)
    except (gd.UnsatisfiableSchema, gd.SchemaTooComplex):
        return None
    reference = reference_of(grammar.ir, vocabulary)
    try:
        matcher = gd.GrammarMatcher(grammar, as_vocabulary(vocabulary))
    except gd.UnsatisfiableSchema:
        assert reference is None, f"the kernel finds no document of {schema}, the reference does"
        return None
    assert reference is not None, f"the reference finds no document of {schema}, the kernel does"
    return matcher, reference


def reference_of(grammar: ir.Grammar, vocabulary: TestVocabulary) -> ReferenceMatcher | None:
    try:
        return ReferenceMatcher(grammar, vocabulary.token_bytes, vocabulary.stop_token_ids, vocabulary.size)
    except VocabularyError:
        return None


def compare_along_a_walk(
    schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary, seed: int, most: int
) -> None:
    pair = pair_of(schema, json_options, vocabulary)
    assume(pair is not None)
    assert pair is not None
    matcher, reference = pair
    tokens = random_walk(matcher.fork(), vocabulary, seed, free=10, most=60) or []
    places = set(random.Random(seed).sample(range(len(tokens) + 1), min(most, len(tokens) + 1)))
    for step in range(len(tokens) + 1):
        where = f"for {schema} {json_options} after {text_of(vocabulary, tokens[:step])!r}"
        if step in places:
            kernel, ours = mask_of(matcher), reference.bitmask()
            assert np.array_equal(kernel, ours), f"{where}: words {np.flatnonzero(kernel != ours)[:9]} differ"
        assert matcher.is_accepting() == reference.is_accepting(), where
        if step < len(tokens):
            assert matcher.accept_token(tokens[step]), where
            assert reference.accept_token(tokens[step]), where


@THOROUGH
@given(random_schemas(), text_options, st.sampled_from(SYNTHETIC), seeds)
def test_masks_are_equal_along_walks(
    schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary, seed: int
) -> None:
    compare_along_a_walk(schema, json_options, vocabulary, seed, 12)


@THOROUGH
@given(random_schemas(draft7=True), text_options, st.sampled_from(SYNTHETIC), seeds)
def test_masks_are_equal_along_walks_over_schemas_of_draft_7(
    schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary, seed: int
) -> None:
    compare_along_a_walk(schema, json_options, vocabulary, seed, 12)


@pytest.mark.slow
@settings(THOROUGH, max_examples=60)
@given(random_schemas(), text_options, seeds)
def test_masks_are_equal_along_walks_on_gpt2(schema: Any, json_options: gd.JsonOptions, seed: int) -> None:
    compare_along_a_walk(schema, json_options, gpt2(), seed, 3)
