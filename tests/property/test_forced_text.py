"""With and without forced text, a model that decides by the text alone writes the same."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import examples
from schemas_random import random_schemas
from text_models import Chance, Writer
from vocabularies import ALL_SINGLE_BYTES, SYNTHETIC, TestVocabulary
from walks import as_vocabulary, drawn_matcher, random_walk, text_of

SETTINGS = settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))

options = st.builds(
    gd.JsonOptions,
    key_order=st.sampled_from(("schema", "any")),
    whitespace=st.sampled_from(("compact", "flexible", "spaced")),
)
seeds = st.integers(0, 2**32 - 1)


def written(model: Any, matcher: gd.GrammarMatcher, *, forced_text: bool) -> gd.GenerationResult:
    result = gd.generate(model, None, matcher.fork(), "", max_tokens=250, forced_text=forced_text, removed_mass=False)
    assert result.num_model_calls == len(result.tokens) - result.num_forced
    return result


def is_without_blanks_at_the_end(text: str, of: str) -> bool:
    """A document ends where only blanks could follow; a model that is asked may write some."""
    return of.startswith(text) and not of[len(text) :].strip(" \t\n\r")


@SETTINGS
@given(random_schemas(), options, st.sampled_from(SYNTHETIC), seeds)
def test_a_model_that_wants_a_document_writes_it_in_the_same_tokens(
    schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary, seed: int
) -> None:
    matcher = drawn_matcher(schema, vocabulary, json_options)
    tokens = None
    with contextlib.suppress(gd.SchemaTooComplex):  # a mask may be refused as well
        tokens = random_walk(matcher.fork(), vocabulary, seed)
    assume(tokens is not None)
    assert tokens is not None
    model = Writer(as_vocabulary(vocabulary), text_of(vocabulary, tokens))
    plain, forced = (written(model, matcher, forced_text=forced_text) for forced_text in (False, True))
    assert is_without_blanks_at_the_end(forced.text, plain.text)
    if vocabulary == ALL_SINGLE_BYTES:  # else the longest token may lead to where no token goes on
        assert plain.text == text_of(vocabulary, tokens).decode()
    kept = len(forced.tokens) - 1
    assert forced.tokens[:kept] == plain.tokens[:kept]  # the last are stop tokens, and any of them will do
    assert forced.num_model_calls <= plain.num_model_calls


@SETTINGS
@given(random_schemas(), options, seeds)
def test_a_model_that_wants_what_can_not_be_writes_the_same_text(
    schema: Any, json_options: gd.JsonOptions, seed: int
) -> None:
    matcher = drawn_matcher(schema, ALL_SINGLE_BYTES, json_options)
    model = Chance(as_vocabulary(ALL_SINGLE_BYTES), seed)
    plain, forced = (written(model, matcher, forced_text=forced_text) for forced_text in (False, True))
    if not is_without_blanks_at_the_end(forced.text, plain.text):
        assert plain.stop_reason == "length"  # forced text takes fewer tokens, so it has come farther
        assert forced.text.startswith(plain.text.rstrip("\N{REPLACEMENT CHARACTER}"))


@SETTINGS
@given(random_schemas(), options, st.sampled_from(SYNTHETIC), seeds, st.integers(0, 12))
def test_within_a_tight_limit_every_document_is_complete_and_valid(
    schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary, seed: int, slack: int
) -> None:
    distance = drawn_matcher(schema, vocabulary, json_options).completion_distance()
    assume(distance is not None)
    assert distance is not None
    model = Chance(as_vocabulary(vocabulary), seed)
    for closing_budget in (0, 6):
        result = gd.generate(
            model,
            None,
            gd.compile_json_schema(schema, json_options),
            "",
            max_tokens=distance + 1 + slack,
            closing_budget=closing_budget,
        )
        assert result.stop_reason == "completed"
        assert result.is_complete
        assert len(result.tokens) <= distance + 1 + slack
