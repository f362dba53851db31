"""`explain` says of every token what the mask says, and points at the first byte that the language refuses."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import examples
from grammar_decode import answers
from schemas import CURATED, Curated
from schemas_random import random_schemas
from vocabularies import SYNTHETIC, TestVocabulary
from walks import as_vocabulary, drawn_matcher, ids_of, mask_of, random_walk, tokens_of, written

RULES = {"grammar", "duplicate key", "duplicate item", "token budget", "special token", "stop token", "id without text"}


def check_answers(matcher: gd.GrammarMatcher) -> None:
    """Ask about every id of the vocabulary."""
    allowed = set(ids_of(mask_of(matcher)))
    before = (matcher.text, matcher.num_steps, matcher.tokens_left)
    place = answers.where(matcher._matcher, matcher.grammar, with_distance=False)
    assert place.is_complete == matcher.is_accepting()
    for token_id in range(matcher.vocabulary.size):
        answer = matcher.explain(token_id)
        assert answer.allowed == (token_id in allowed), str(answer)
        assert str(answer)
        if answer.allowed:
            assert (answer.rule, answer.offset) == (None, None)
            continue
        assert answer.rule in RULES
        if answer.data is None:
            assert answer.offset is None
        else:
            assert answer.offset == matcher.count_accepted_bytes(answer.data)
            assert (answer.rule == "token budget") == (answer.offset == len(answer.data))
            assert answer.expected or answer.rule == "token budget", str(answer)
    assert (matcher.text, matcher.num_steps, matcher.tokens_left) == before


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_answers_are_those_of_the_mask_along_documents(curated: Curated) -> None:
    rng = random.Random(curated.name)
    vocabulary = SYNTHETIC[0]
    grammar = gd.compile_json_schema(curated.schema)
    tokens = tokens_of(written(rng.choice(curated.valid), rng).encode(), vocabulary, rng)
    matcher = gd.GrammarMatcher(grammar, as_vocabulary(vocabulary))
    if rng.random() < 0.5:
        with contextlib.suppress(gd.SchemaTooComplex):  # no limit can be kept
            matcher = gd.GrammarMatcher(grammar, as_vocabulary(vocabulary), max_tokens=500)
    places = {rng.randrange(len(tokens))}
    for step, token_id in enumerate(tokens):
        if step in places:
            check_answers(matcher)
        assert matcher.accept_token(token_id)
    check_answers(matcher)
    assert answers.where(matcher._matcher, grammar, with_distance=False).pointer == ""


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(random_schemas(), st.sampled_from(SYNTHETIC), st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_answers_are_those_of_the_mask_along_random_walks(
    schema: Any, vocabulary: TestVocabulary, seed: int, spare: int
) -> None:
    matcher = drawn_matcher(schema, vocabulary, gd.JsonOptions())
    needed = None
    with contextlib.suppress(gd.SchemaTooComplex):
        needed = matcher.completion_distance()
    if needed is not None and spare % 2:
        matcher = gd.GrammarMatcher(
            matcher.grammar, matcher.vocabulary, max_tokens=needed + spare, closing_budget=spare // 2
        )
    tokens = random_walk(matcher.fork(), vocabulary, seed, free=8, most=40) or []
    places = set(random.Random(seed).sample(range(len(tokens) + 1), min(2, len(tokens) + 1)))
    for step in range(len(tokens) + 1):
        if step in places:
            check_answers(matcher)
        if step < len(tokens):
            assert matcher.accept_token(tokens[step])
