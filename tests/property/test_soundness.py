"""Token by token: what a mask permits is accepted and leaves a way on; the rest is refused and changes nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import examples
from schemas import CURATED, Curated
from schemas_random import random_schemas
from vocabularies import SYNTHETIC, TestVocabulary
from walks import as_vocabulary, drawn_matcher, ids_of, mask_of, random_walk, text_of, tokens_of, written

THOROUGH = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))


def check_every_token(matcher: gd.GrammarMatcher, where: object) -> None:
    """Ask the matcher about every id of the vocabulary."""
    mask = mask_of(matcher)
    allowed = set(ids_of(mask))
    assert allowed, f"the mask is empty {where}"
    num_steps = matcher.num_steps
    for token_id in range(matcher.vocabulary.size):
        if token_id in allowed:
            fork = matcher.fork()
            assert fork.accept_token(token_id), f"the permitted token {token_id} is refused {where}"
            assert mask_of(fork).any(), f"the mask after the permitted token {token_id} is empty {where}"
        else:
            assert not matcher.accept_token(token_id), f"the forbidden token {token_id} is accepted {where}"
            assert matcher.validate_tokens([token_id]) == 0, f"the forbidden token {token_id} is valid {where}"
    assert matcher.num_steps == num_steps
    assert (mask_of(matcher) == mask).all(), f"refused tokens, or forks, changed the state {where}"


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_each_token_is_accepted_just_if_it_is_permitted_along_documents(curated: Curated) -> None:
    rng = random.Random(curated.name)
    vocabulary = SYNTHETIC[0]
    grammar = gd.compile_json_schema(curated.schema, gd.JsonOptions(key_order=rng.choice(("schema", "any"))))
    matcher = gd.GrammarMatcher(grammar, as_vocabulary(vocabulary))
    text = written(rng.choice(curated.valid), rng).encode()
    for token_id in tokens_of(text, vocabulary, rng):
        if rng.random() < 0.4:
            check_every_token(matcher, f"in {text!r} after {matcher.num_steps} tokens")
        assert matcher.accept_token(token_id)
    check_every_token(matcher, f"after {text!r}")


@THOROUGH
@given(random_schemas(), st.sampled_from(("schema", "any")), st.sampled_from(SYNTHETIC), st.integers(0, 2**32 - 1))
def test_each_token_is_accepted_just_if_it_is_permitted_along_random_walks(
    schema: Any, key_order: Any, vocabulary: TestVocabulary, seed: int
) -> None:
    matcher = drawn_matcher(schema, vocabulary, gd.JsonOptions(key_order=key_order))
    tokens = random_walk(matcher.fork(), vocabulary, seed, free=12, most=40) or []
    places = set(random.Random(seed).sample(range(len(tokens) + 1), min(4, len(tokens) + 1)))
    for step in range(len(tokens) + 1):
        if step in places and not matcher.is_terminated():
            check_every_token(matcher, f"for {schema} after {text_of(vocabulary, tokens[:step])!r}")
        if step < len(tokens):
            assert matcher.accept_token(tokens[step])


@pytest.mark.parametrize("vocabulary", SYNTHETIC, ids=lambda v: v.name)
def test_only_stop_tokens_are_on_the_mask_of_a_terminated_matcher(vocabulary: TestVocabulary) -> None:
    matcher = gd.GrammarMatcher(gd.compile_json_schema({"type": "null"}), as_vocabulary(vocabulary))
    assert matcher.accept_bytes(b"null")
    assert set(vocabulary.stop_token_ids) <= set(ids_of(mask_of(matcher)))
    assert matcher.accept_token(vocabulary.stop_token_ids[-1])
    assert ids_of(mask_of(matcher)) == sorted(vocabulary.stop_token_ids)
    assert not any(matcher.accept_token(token_id) for token_id in range(vocabulary.size))


@pytest.mark.parametrize("vocabulary", SYNTHETIC, ids=lambda v: v.name)
def test_special_empty_and_padding_ids_are_never_permitted(vocabulary: TestVocabulary) -> None:
    matcher = gd.GrammarMatcher(gd.compile_json_schema({}, gd.JsonOptions(escapes="any")), as_vocabulary(vocabulary))
    never = {t for t, text in enumerate(vocabulary.token_bytes) if not text} - set(vocabulary.stop_token_ids)
    never |= set(range(len(vocabulary.token_bytes), vocabulary.size))
    for text in (b"", b'"a', b'"', b" "):
        assert matcher.accept_bytes(text) or not text
        assert never.isdisjoint(ids_of(mask_of(matcher)))
