"""Threads share a grammar and a vocabulary, each with its own matcher: every mask is that of a run alone."""

from __future__ import annotations

import hashlib
import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

import grammar_decode as gd
from schemas import CURATED, Curated
from vocabularies import ALL_SINGLE_BYTES, TestVocabulary, gpt2
from walks import as_vocabulary, mask_of, tokens_of, written

NUM_THREADS = 4
BY_NAME = {curated.name: curated for curated in CURATED}


def fresh(vocabulary: TestVocabulary) -> gd.Vocabulary:
    """A vocabulary without the tables of other tests."""
    return gd.Vocabulary(
        list(vocabulary.token_bytes), stop_token_ids=vocabulary.stop_token_ids, size=vocabulary.size
    )  # fmt: skip


def masks_along(grammar: gd.Grammar, vocabulary: gd.Vocabulary, walks: list[list[int]]) -> list[bytes]:
    """A digest of every mask."""
    matcher = gd.GrammarMatcher(grammar, vocabulary)
    digests = []
    for walk in walks:
        matcher.reset()
        for token_id in walk:
            digests.append(hashlib.blake2b(mask_of(matcher).tobytes(), digest_size=16).digest())
            assert matcher.accept_token(token_id)
    return digests


def check_threads(curated: Curated, vocabulary: TestVocabulary, num_walks: int) -> None:
    rng = random.Random(curated.name)
    walks = [
        [tokens_of(written(rng.choice(curated.valid), rng).encode(), vocabulary, rng) for _ in range(num_walks)]
        for _ in range(NUM_THREADS)
    ]
    options = gd.JsonOptions(key_order="schema")
    alone = [
        masks_along(gd.compile_json_schema(curated.schema, options), as_vocabulary(vocabulary), each) for each in walks
    ]
    for limit in (None, 4096):
        grammar, shared = gd.compile_json_schema(curated.schema, options), fresh(vocabulary)
        if limit is not None:
            gd.GrammarMatcher(grammar, shared)._matcher.set_memo_limit(limit)
        together = Barrier(NUM_THREADS)

        def run(
            each: list[list[int]], g: gd.Grammar = grammar, v: gd.Vocabulary = shared, b: Barrier = together
        ) -> object:
            b.wait()
            return masks_along(g, v, each)

        with ThreadPoolExecutor(NUM_THREADS) as pool:
            assert list(pool.map(run, walks)) == alone


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_threads_share_a_grammar_and_a_small_vocabulary(curated: Curated) -> None:
    check_threads(curated, ALL_SINGLE_BYTES, 4)


@pytest.mark.parametrize("name", ["examples_order", "everything", "pattern_properties"])
def test_threads_share_a_grammar_and_gpt2(name: str) -> None:
    check_threads(BY_NAME[name], gpt2(), 2)
