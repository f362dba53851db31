"""What must not grow, and what may: documents, bounds, requests, branches, batches. Loading; applying."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

import grammar_decode as gd
from grammar_decode import _core
from parts import matcher_at, seconds, union
from tokens import Tokens

Row = dict[str, Any]

ITEM = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id", "name"],
    "additionalProperties": False,
}


def vocabulary_of(tokens: Tokens) -> gd.Vocabulary:
    return gd.Vocabulary(tokens.token_bytes, stop_token_ids=[tokens.stop], size=tokens.size)


def long_document(schema: Any, tokens: Tokens, length: int, *, repeats_from: str = ",") -> Row:
    """Masks and memory at the beginning and at the end of an array of `length` tokens."""
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, cache=None), vocabulary_of(tokens))
    bitmask = gd.allocate_token_bitmask(1, tokens.size)
    item = tokens.encode(json.dumps({"id": 7, "name": "Bob"}) + repeats_from)
    ids = [*tokens.encode("["), *item * (length // len(item))]
    times = np.zeros(len(ids))
    memory = {}
    for i, token in enumerate(ids):
        started = perf_counter()
        matcher.fill_next_token_bitmask(bitmask, 0)
        times[i] = perf_counter() - started
        if not matcher.accept_token(token):
            raise SystemExit(f"benchmark: token {i} of the long document was refused")
        if i in (999, len(ids) - 1):
            memory[i] = matcher._matcher.engine_memory_bytes()
    part = min(2000, len(ids) // 3)
    first, last = times[part : 2 * part] * 1e6, times[-part:] * 1e6  # the very first masks are cold
    return {
        "tokens": len(ids),
        "first_us": float(first.mean()),
        "last_us": float(last.mean()),
        "memory_mb": [memory[999] / 1e6, memory[len(ids) - 1] / 1e6],
    }


def long_documents(tokens: Tokens, length: int) -> list[Row]:
    rows = []
    for name, bound in (("no maxItems", {}), ("maxItems 1,000,000", {"maxItems": 1_000_000})):
        rows.append({"array": name} | long_document({"type": "array", "items": ITEM, **bound}, tokens, length))
    return rows


def bounds(tokens: Tokens) -> list[Row]:
    """The first mask and the median of the next ones, within strings and arrays of growing maxima."""
    rows = []
    for most in (10, 1_000, 100_000, 1_000_000):
        row: Row = {"maximum": most}
        for keyword, schema, prefix, more in (
            ("maxLength", {"type": "string", "maxLength": most}, '"', "a"),
            ("maxItems", {"type": "array", "items": {"type": "integer"}, "maxItems": most}, "[", "1,"),
        ):
            matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, cache=None), vocabulary_of(tokens))
            bitmask = gd.allocate_token_bitmask(1, tokens.size)
            matcher.accept_bytes(prefix.encode())
            first = seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0))  # noqa: B023  # called at once
            later = []
            for _ in range(8):
                matcher.accept_bytes(more.encode())
                later.append(seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0)))  # noqa: B023
            row[f"{keyword}_first_us"], row[f"{keyword}_us"] = first * 1e6, median(later) * 1e6
        rows.append(row)
    return rows


def requests(tokens: Tokens, count: int) -> list[Row]:
    """The first ten masks of a request, for the first and the last of `count` requests."""
    vocabulary = vocabulary_of(tokens)
    bitmask = gd.allocate_token_bitmask(1, tokens.size)
    ids = tokens.encode(json.dumps({"id": 7, "name": "Bob"}))[:10]
    rows = []
    for name, many in (("one schema", False), ("a new schema each", True)):
        cache = gd.GrammarCache()
        number = count // 50 if many else count  # a compilation each
        times, memory = [], []
        for i in range(number):
            schema = {
                **ITEM,
                "properties": {**ITEM["properties"], f"extra_{i}" if many else "extra": {"type": "boolean"}},
            }
            grammar = gd.compile_json_schema(schema, cache=cache)
            matcher = gd.GrammarMatcher(grammar, vocabulary)
            started = perf_counter()
            for token in ids:
                matcher.fill_next_token_bitmask(bitmask, 0)
                matcher.accept_token(token)
            times.append((perf_counter() - started) * 1e6 / len(ids))
            if i in (number // 100, number - 1):
                memory.append(resident_mb())
        part = max(1, number // 20)
        rows.append(
            {
                "requests": name,
                "count": number,
                "first_us": median(times[part : 2 * part]),
                "last_us": median(times[-part:]),
                "memory_mb": memory,
            }
        )
    return rows


def branches(tokens: Tokens) -> list[Row]:
    rows = []
    for count in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        cold, shared = [], []
        vocabulary = vocabulary_of(tokens)
        bitmask = gd.allocate_token_bitmask(1, tokens.size)
        for turn in range(4):
            matcher = matcher_at(union(count), vocabulary)
            (cold if turn == 0 else shared).append(seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0)))  # noqa: B023
        rows.append({"branches": count, "cold_us": cold[0] * 1e6, "new_grammar_us": min(shared) * 1e6})
    return rows


def batches(tokens: Tokens, repeats: int) -> list[Row]:
    """Microseconds a sequence: masks that were never computed (a grammar each), and masks that are remembered."""
    vocabulary = vocabulary_of(tokens)
    rows: list[Row] = []
    made = 0
    for size in (1, 8, 64, 512):
        row: Row = {"sequences": size}
        for threads in (1, 2):
            new, known = [], []
            for _ in range(max(3, repeats * 8 // size)):
                matchers = []
                for _ in range(size):
                    made += 1
                    schema = {"type": "object", "properties": {f"name_{made}_{i}": ITEM for i in range(20)}}
                    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, cache=None), vocabulary)
                    matcher.accept_bytes(b'{"')
                    matchers.append(matcher)
                bitmask = gd.allocate_token_bitmask(size, tokens.size)
                fill = lambda m=matchers, b=bitmask, t=threads: gd.fill_next_token_bitmasks(m, b, max_threads=t)  # noqa: E731
                new.append(seconds(fill))
                known += [seconds(fill) for _ in range(10)]
            row[f"new_{threads}"], row[f"known_{threads}"] = median(new) * 1e6 / size, median(known) * 1e6 / size
        rows.append(row)
    return rows


def loading(tokens: Tokens, repeats: int) -> list[Row]:
    """From the bytes of the tokens to an index that is ready: processor time of the one thread that works."""
    total, index, digest = [], [], []
    before = resident_mb()
    kept = []
    for _ in range(repeats):
        started = process_time()
        vocabulary = vocabulary_of(tokens)
        made = process_time()
        _core.Vocabulary(vocabulary.token_bytes, list(vocabulary.stop_token_ids), vocabulary.size)
        built = process_time()
        vocabulary.content_hash  # noqa: B018
        total.append(made - started)
        index.append(built - made)
        digest.append(process_time() - built)
        kept.append(vocabulary)
    return [
        {
            "vocabulary": tokens.name,
            "tokens": len(tokens.token_bytes),
            "checks_ms": (min(total) - min(index)) * 1e3,
            "index_ms": min(index) * 1e3,
            "total_ms": min(total) * 1e3,
            "hash_ms": min(digest) * 1e3,
            "index_mb": kept[0]._core_vocabulary.memory_bytes() / 1e6,
            "resident_mb": (resident_mb() - before) / repeats,
        }
    ]


def applying(tokens: Tokens) -> list[Row]:
    """apply_token_bitmask_inplace on one row, beside a copy of the row."""
    rows = []
    rng = np.random.default_rng(0)
    words = -(-tokens.size // 32)
    masks = {
        "50 allowed": np.zeros((1, words), np.int32),
        "half allowed": rng.integers(-(2**31), 2**31, (1, words)).astype(np.int32),
        "1 % forbidden": np.full((1, words), -1, np.int32),
    }
    for token in rng.integers(0, tokens.size, 50):
        masks["50 allowed"].view(np.uint32)[0, token // 32] |= np.uint32(1 << (token % 32))
    for token in rng.integers(0, tokens.size, tokens.size // 100):
        masks["1 % forbidden"].view(np.uint32)[0, token // 32] &= ~np.uint32(1 << (token % 32))
    for kind in ("float32", "float16", "bfloat16"):
        base, logits, copy = _row(kind, tokens.size)
        if base is None:
            continue
        for name, mask in masks.items():
            copied = _quick(copy, copy)
            applied = _quick(lambda: gd.apply_token_bitmask_inplace(logits, mask), copy)  # noqa: B023  # called at once
            rows.append({"type": kind, "mask": name, "copy_us": copied, "apply_us": applied, "ratio": applied / copied})
    return rows


def _row(kind: str, size: int) -> tuple[Any, Any, Callable[[], Any]]:
    if kind != "bfloat16":
        base = np.ones((1, size), kind)
        logits = base.copy()
        return base, logits, lambda: np.copyto(logits, base)
    try:
        import torch
    except ImportError:
        return None, None, lambda: None
    torch.set_num_threads(1)
    ones = torch.ones(1, size, dtype=torch.bfloat16)
    twin = ones.clone()
    return ones, twin, lambda: twin.copy_(ones)


def _quick(work: Callable[[], Any], before: Callable[[], Any]) -> float:
    times = []
    for _ in range(200):
        before()
        times.append(seconds(work))
    return float(np.percentile(times, 25)) * 1e6


def resident_mb() -> float:
    if sys.platform == "linux":
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  # not a file that is kept
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
