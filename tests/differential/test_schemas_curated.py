"""Schemas, compiled: the kernel's masks equal the reference's bit for bit at every token of documents."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

import grammar_decode as gd
from amounts import EVERYTHING
from grammar_decode.reference import ReferenceMatcher
from schemas import CURATED, Curated
from vocabularies import ALL_SINGLE_BYTES, SOME_BYTES_MISSING, TestVocabulary, gpt2, shared_tokenizer
from vocabularies_gpt2 import smollm2_vocabulary
from walks import as_vocabulary, ids_of, mask_of, text_of, tokens_of, written

WHITESPACE = ("flexible", "compact", "spaced", "any")
KEY_ORDERS = ("schema", "any")
BY_NAME = {curated.name: curated for curated in CURATED}


def check_masks(
    curated: Curated,
    value: Any,
    options: gd.JsonOptions,
    vocabulary: TestVocabulary,
    rng: random.Random,
    part: float = 1,
) -> None:
    """Both masks at (a part of) the tokens of the value's text, and behind it."""
    grammar = gd.compile_json_schema(curated.schema, options)
    reference = ReferenceMatcher(grammar.ir, vocabulary.token_bytes, vocabulary.stop_token_ids, vocabulary.size)
    matcher = gd.GrammarMatcher(grammar, as_vocabulary(vocabulary))
    separators = (", ", ": ") if options.whitespace == "spaced" else (",", ":")
    blanks = rng if options.whitespace in ("flexible", "any") else None
    tokens = tokens_of(written(value, blanks, *separators).encode(), vocabulary, rng)
    for step, token_id in enumerate([*tokens, vocabulary.stop_token_ids[0]]):
        if rng.random() < part:
            compare(matcher, reference, f"{curated} {options} {vocabulary.name} {text_of(vocabulary, tokens[:step])!r}")
        assert matcher.accept_token(token_id)
        assert reference.accept_token(token_id)
    compare(matcher, reference, f"{curated} behind the stop token")


def compare(matcher: gd.GrammarMatcher, reference: ReferenceMatcher, where: str) -> None:
    kernel, ours = ids_of(mask_of(matcher)), ids_of(reference.bitmask())
    if kernel != ours:
        texts = matcher.vocabulary.token_bytes
        wrong = [(t, texts[t] if t < len(texts) else None, t in ours) for t in sorted({*kernel} ^ {*ours})]
        pytest.fail(f"{where}\n{len(wrong)} tokens differ, (id, text, whether the reference permits it): {wrong[:20]}")
    assert matcher.is_accepting() == reference.is_accepting(), where
    assert matcher.is_terminated() == reference.is_terminated(), where


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_masks_are_equal_in_every_whitespace_and_key_order(curated: Curated) -> None:
    rng = random.Random(curated.name)
    every = list(product(WHITESPACE, KEY_ORDERS))
    for number in range(len(every)) if EVERYTHING else sorted(rng.sample(range(len(every)), 3)):
        whitespace, key_order = every[number]
        options = gd.JsonOptions(whitespace=whitespace, key_order=key_order)  # type: ignore[arg-type]
        check_masks(curated, curated.valid[number % len(curated.valid)], options, ALL_SINGLE_BYTES, rng, 0.5)


@pytest.mark.parametrize("curated", [c for c in CURATED if c.name != "examples_order"], ids=str)
def test_masks_are_equal_where_bytes_are_missing_from_the_vocabulary(curated: Curated) -> None:
    rng = random.Random(curated.name)
    for key_order, value in product(KEY_ORDERS, curated.valid):
        options = gd.JsonOptions(key_order=key_order)  # type: ignore[arg-type]
        check_masks(curated, value, options, SOME_BYTES_MISSING, rng, 1 if EVERYTHING else 0.4)


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_masks_are_equal_in_every_spelling(curated: Curated) -> None:
    rng = random.Random(curated.name)
    for escapes, numbers in (("canonical", "canonical"), ("any", "any")):
        options = gd.JsonOptions(escapes=escapes, numbers=numbers)  # type: ignore[arg-type]
        check_masks(curated, rng.choice(curated.valid), options, ALL_SINGLE_BYTES, rng, 0.5)


@pytest.mark.parametrize("name", ["examples_person", "examples_event", "enum_of_every_kind", "tuple", "awkward_names"])
def test_masks_are_equal_on_gpt2(name: str) -> None:
    rng = random.Random(name)
    check_masks(BY_NAME[name], BY_NAME[name].valid[0], gd.JsonOptions(), gpt2(), rng, 0.3)


def real_vocabulary(name: str) -> TestVocabulary:
    if name == "gpt2":
        return gpt2()
    if name == "smollm2":
        smollm2 = smollm2_vocabulary()
        return TestVocabulary(name, smollm2.token_bytes, smollm2.stop_token_ids, smollm2.size)
    return shared_tokenizer(name)


@pytest.mark.slow
@pytest.mark.parametrize("curated", CURATED, ids=str)
@pytest.mark.parametrize("name", ["gpt2", "smollm2", "llama3_1", "qwen3"])
def test_masks_are_equal_on_real_vocabularies(name: str, curated: Curated) -> None:
    rng = random.Random(curated.name)
    vocabulary = real_vocabulary(name)
    for key_order in KEY_ORDERS:
        options = gd.JsonOptions(key_order=key_order)  # type: ignore[arg-type]
        check_masks(curated, rng.choice(curated.valid), options, vocabulary, rng, 0.15)
