"""Uniform random logits under the mask always write a document that `jsonschema` finds valid."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import EVERYTHING, examples
from schema_judge import judge
from schemas import CURATED, Curated
from schemas_random import METASCHEMA, random_schemas, text_options
from vocabularies import SYNTHETIC, TestVocabulary, gpt2
from walks import as_vocabulary, random_walk, text_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of jsonschema, by hypothesis-jsonschema
    from hypothesis_jsonschema import from_schema

THOROUGH = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))

seeds = st.integers(0, 2**32 - 1)


def matcher_of(schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary) -> gd.GrammarMatcher:
    """A matcher, or no example where there is no document, or the schema passes a limit."""
    try:
        return gd.GrammarMatcher(gd.compile_json_schema(schema, json_options), as_vocabulary(vocabulary))
    except (gd.UnsatisfiableSchema, gd.SchemaTooComplex):
        pass  # assume() raises, and a chained error would hide that
    assume(False)
    raise AssertionError


def check_document(schema: Any, text: bytes) -> None:
    """What a document of the grammar is, whatever the options."""
    document = text.decode("utf-8")  # strict: no overlong forms, no surrogates
    assert judge(schema)(document), f"{document!r} is invalid for {schema}"
    json.dumps(json.loads(document), ensure_ascii=False, allow_nan=False).encode("utf-8")  # no lone \ud800, no 9e999


def walk_and_judge(schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary, seed: int) -> bool:
    """Whether the walk came to its end, in a valid document."""
    matcher = matcher_of(schema, json_options, vocabulary)
    tokens = random_walk(matcher, vocabulary, seed)
    if tokens is None:
        return False
    assert matcher.is_terminated()
    check_document(schema, text_of(vocabulary, tokens))
    return True


def most_end(strategy: st.SearchStrategy[Any], run: settings) -> None:
    """Walk over drawn schemas; most of the walks must end, or nothing was judged."""
    tally: Counter[bool] = Counter()

    @run
    @given(strategy, text_options, st.sampled_from(SYNTHETIC), seeds)
    def walk(schema: Any, json_options: gd.JsonOptions, vocabulary: TestVocabulary, seed: int) -> None:
        tally[walk_and_judge(schema, json_options, vocabulary, seed)] += 1

    walk()
    assert tally[True] > examples(150) // 3
    # A sample is too small for the share of many: 18 of 25 have been seen.
    assert tally[True] > (9 if EVERYTHING else 1) * tally[False], tally


def test_random_walks_over_every_keyword_end_in_valid_documents() -> None:
    most_end(random_schemas(), THOROUGH)


def test_random_walks_over_schemas_of_draft_7_end_in_valid_documents() -> None:
    most_end(random_schemas(draft7=True), THOROUGH)


def test_random_walks_over_schemas_drawn_from_a_metaschema_end_in_valid_documents() -> None:
    most_end(from_schema(METASCHEMA), THOROUGH)


@pytest.mark.parametrize("vocabulary", SYNTHETIC, ids=lambda v: v.name)
@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_random_walks_over_curated_schemas_end_in_valid_documents(curated: Curated, vocabulary: TestVocabulary) -> None:
    num_ended = {"schema": 0, "any": 0}
    for seed, (whitespace, key_order) in enumerate(product(("flexible", "compact", "spaced", "any"), num_ended)):
        json_options = gd.JsonOptions(whitespace=whitespace, key_order=key_order)
        try:
            grammar = gd.compile_json_schema(curated.schema, json_options)
            matcher = gd.GrammarMatcher(grammar, as_vocabulary(vocabulary))
        except gd.UnsatisfiableSchema:
            pytest.skip("this vocabulary can't spell a document")
        tokens = random_walk(matcher, vocabulary, seed)
        if tokens is not None:
            check_document(curated.schema, text_of(vocabulary, tokens))
            num_ended[key_order] += 1
    # Where any key may come, chance finds a required one too rarely.
    assert num_ended["schema"] >= 3


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_random_walks_on_gpt2_end_in_valid_documents(curated: Curated) -> None:
    vocabulary = gpt2()
    json_options = gd.JsonOptions(key_order="schema")
    matcher = gd.GrammarMatcher(gd.compile_json_schema(curated.schema, json_options), as_vocabulary(vocabulary))
    num_ended = 0
    for seed in range(3):
        matcher.reset()
        tokens = random_walk(matcher, vocabulary, seed)
        if tokens is not None:
            check_document(curated.schema, text_of(vocabulary, tokens))
            num_ended += 1
    assert num_ended >= 2


@pytest.mark.slow
@settings(THOROUGH, max_examples=300)
@given(random_schemas(), text_options, seeds)
def test_random_walks_on_gpt2_over_random_schemas(schema: Any, json_options: gd.JsonOptions, seed: int) -> None:
    walk_and_judge(schema, json_options, gpt2(), seed)
