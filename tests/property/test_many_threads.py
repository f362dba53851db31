"""Eight threads with 200 matchers each share grammars and vocabularies; others compile, clear caches and drop grammars.

Every mask is that of a run alone.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import grammar_decode as gd
from schemas import CURATED
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, mask_of, tokens_of

NUM_THREADS = 8
NUM_MATCHERS = 200
NAMES = ("everything", "unique_strings", "pattern_properties", "tagged_union", "mutual_recursion", "lengths")
SCHEMAS = [c for c in CURATED if c.name in NAMES]


def walk(number: int) -> list[int]:
    curated, rng = SCHEMAS[number % len(SCHEMAS)], random.Random(number)
    return tokens_of(json.dumps(rng.choice(curated.valid), ensure_ascii=False).encode(), ALL_SINGLE_BYTES, rng)


def digests(matchers: list[gd.GrammarMatcher], walks: list[list[int]]) -> list[str]:
    """Of all the masks of each matcher. They take turns, token by token."""
    found = [hashlib.blake2b(digest_size=16) for _ in matchers]
    for step in range(max(map(len, walks))):
        for matcher, tokens, digest in zip(matchers, walks, found, strict=True):
            if step < len(tokens):
                digest.update(mask_of(matcher).tobytes())
                assert matcher.accept_token(tokens[step])
    return [digest.hexdigest() for digest in found]


def test_eight_threads_of_two_hundred_matchers_while_others_compile_clear_and_drop() -> None:
    walks = [walk(number) for number in range(NUM_MATCHERS)]

    def matchers(grammars: list[gd.Grammar], vocabulary: gd.Vocabulary) -> list[gd.GrammarMatcher]:
        return [gd.GrammarMatcher(grammars[n % len(grammars)], vocabulary) for n in range(NUM_MATCHERS)]

    alone = [gd.compile_json_schema(c.schema, cache=None) for c in SCHEMAS]
    expected = digests(matchers(alone, as_vocabulary(ALL_SINGLE_BYTES)), walks)

    grammars = [gd.compile_json_schema(c.schema, cache=None) for c in SCHEMAS]
    vocabulary = as_vocabulary(ALL_SINGLE_BYTES)
    together, done = threading.Barrier(NUM_THREADS), threading.Event()

    def run(_: int) -> list[str]:
        mine = matchers(grammars, vocabulary)
        together.wait()
        return digests(mine, walks)

    def disturb(seed: int) -> int:
        rng, turns = random.Random(seed), 0
        while not done.is_set():
            turns += 1
            curated = rng.choice(SCHEMAS)
            dropped = gd.compile_json_schema({"title": str(turns % 9), **curated.schema})
            matcher = gd.GrammarMatcher(dropped, vocabulary)
            mask_of(matcher)
            if turns % 5 == 0:
                gd.grammar_cache.clear()
                vocabulary._core_vocabulary.clear_tables()
            if turns % 7 == 0:
                gd.GrammarMatcher(rng.choice(grammars), vocabulary)._matcher.set_memo_limit(
                    rng.choice((0, 4096, 1 << 20))
                )
        return turns

    with ThreadPoolExecutor(NUM_THREADS + 2) as pool:
        disturbing = [pool.submit(disturb, seed) for seed in range(2)]
        try:
            found = list(pool.map(run, range(NUM_THREADS)))
        finally:
            done.set()
    assert found == [expected] * NUM_THREADS
    assert all(future.result() > 0 for future in disturbing)
