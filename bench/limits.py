"""What a limit of tokens costs: masks and commits of the same walks near a limit, and far from one.

A walk draws uniformly from the masks of a matcher that has a few tokens more than the shortest document, so all of it
is near the limit. It is then replayed with that limit and with one far away, each on a grammar of its own: once *cold*
(the vocabulary has seen other grammars, the grammar is new) and once *again*. Times are the thread's processor time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from time import thread_time_ns
from typing import Any

import numpy as np

import grammar_decode as gd

FAR = 1_000_000
SLACKS = (0, 4, 16)


def walk_near(matcher: gd.GrammarMatcher, rng: random.Random) -> list[int]:
    """A whole generation, drawn uniformly."""
    bitmask = gd.allocate_token_bitmask(1, matcher.vocabulary.size)
    tokens: list[int] = []
    while not matcher.is_terminated():
        matcher.fill_next_token_bitmask(bitmask)
        allowed = np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little"))
        tokens.append(int(allowed[rng.randrange(len(allowed))]))
        if not matcher.accept_token(tokens[-1]):
            raise SystemExit(f"benchmark: a token of the mask was refused behind {matcher.text!r}")
    return tokens


def replayed(matcher: gd.GrammarMatcher, tokens: list[int]) -> list[int]:
    """Nanoseconds of each mask with its commit."""
    bitmask = gd.allocate_token_bitmask(1, matcher.vocabulary.size)
    times = []
    for token in tokens:
        started = thread_time_ns()
        matcher.fill_next_token_bitmask(bitmask)
        matcher.accept_token(token)
        times.append(thread_time_ns() - started)
    return times


def measured(
    schemas: Iterable[tuple[str, Any]], vocabulary: gd.Vocabulary, tell: Callable[[str], None], seed: int = 1
) -> dict[str, Any]:
    rng = random.Random(seed)
    times: dict[tuple[str, str], list[int]] = {
        (heat, where): [] for heat in ("cold", "again") for where in ("near", "far")
    }
    num_schemas = 0
    for name, schema in schemas:
        tell(name)
        try:
            grammars = [gd.compile_json_schema(schema, cache=None) for _ in range(3)]
            distance = gd.GrammarMatcher(grammars[0], vocabulary, max_tokens=FAR).completion_distance()
            assert distance is not None
            limit = distance + 1 + SLACKS[num_schemas % len(SLACKS)]
            tokens = walk_near(gd.GrammarMatcher(grammars[0], vocabulary, max_tokens=limit), rng)
            sides = [("near", grammars[1], limit), ("far", grammars[2], FAR)][:: 1 if num_schemas % 2 else -1]
            for heat in ("cold", "again"):
                for where, grammar, most in sides:
                    matcher = gd.GrammarMatcher(grammar, vocabulary, max_tokens=most)
                    times[heat, where] += replayed(matcher, tokens)
        except gd.GrammarDecodeError:
            continue
        num_schemas += 1
    rows = []
    for heat in ("cold", "again"):
        row: dict[str, Any] = {"grammar": heat, "positions": len(times[heat, "near"])}
        for what, of in (("p50", np.median), ("mean", np.mean), ("p99", lambda each: np.percentile(each, 99))):
            near, far = (float(of(times[heat, where])) / 1000 for where in ("near", "far"))
            row |= {f"{what}_near": near, f"{what}_far": far, f"{what}_ratio": near / far}
        rows.append(row)
    return {"rows": rows, "note": f"{num_schemas} schemas."}
