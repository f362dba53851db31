"""Many masks over many schemas in one process: ``python tests/soak.py [--masks N]``.

Requests come as they do in a service: a schema (most of them new, some seen before), one vocabulary, a document token
by token, a mask before each. Memory is the resident set of the process, which must be flat after the first third.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grammar_decode as gd
from schemas import CURATED
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, tokens_of

PARTS = 6


@dataclass
class Part:
    """One part of the run."""

    masks: int
    schemas: int
    resident_mb: float
    cache_mb: float
    tables_mb: float
    p50_us: float
    p99_us: float


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def request(rng: random.Random, number: int) -> tuple[Any, Any]:
    """A schema and a document of it. Two of three schemas were never seen before."""
    curated = rng.choice(CURATED)
    schema, value = curated.schema, rng.choice(curated.valid)
    if number % 3:
        name = f"field {number}"
        schema = {
            "type": "object",
            "properties": {name: schema, "n": {"type": "integer", "minimum": number}},
            "required": [name],
        }
        value = {name: value}
    return schema, value


def soak(masks: int, cache: gd.GrammarCache) -> list[Part]:
    vocabulary = as_vocabulary(ALL_SINGLE_BYTES)
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    rng = random.Random(1)
    parts, number = [], 0
    for _ in range(PARTS):
        times: list[float] = []
        schemas = 0
        while len(times) < masks // PARTS:
            number += 1
            schema, value = request(rng, number)
            if "$ref" in json.dumps(schema):  # which would point elsewhere inside of another schema
                schema, value = (
                    {"type": "object", "properties": {f"n{number}": {"type": "integer"}}},
                    {f"n{number}": number},
                )
            matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, cache=cache), vocabulary)
            schemas += 1
            for token in tokens_of(json.dumps(value, ensure_ascii=False).encode(), ALL_SINGLE_BYTES, rng):
                begun = time.perf_counter()
                matcher.fill_next_token_bitmask(bitmask)
                times.append((time.perf_counter() - begun) * 1e6)
                if not matcher.accept_token(token):
                    raise AssertionError(
                        f"request {number}: token {token} is refused behind {matcher.num_steps} tokens"
                    )
            if not matcher.is_accepting():
                raise AssertionError(f"request {number}: the document is not complete")
        gc.collect()
        times.sort()
        tables = vocabulary._core_vocabulary.table_memory_bytes() / 2**20
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        parts.append(Part(len(times), schemas, resident_mb(), cache.memory_bytes() / 2**20, tables, p50, p99))
    return parts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--masks", type=int, default=1_000_000)
    arguments = parser.parse_args()
    cache = gd.GrammarCache(max_grammars=128)  # full, and the memory flat, within the first third of a short run
    parts = soak(arguments.masks, cache)
    for part in parts:
        sys.stdout.write(f"{part}\n")
    sys.stdout.write(f"{sum(p.masks for p in parts)} masks, {sum(p.schemas for p in parts)} requests\n")
    settled = parts[PARTS // 3].resident_mb
    grown = parts[-1].resident_mb - settled
    sys.stdout.write(f"grown by {grown:.1f} MB since the first third ({settled:.0f} MB)\n")
    return 0 if grown < max(10, settled / 10) else 1


if __name__ == "__main__":
    sys.exit(main())
