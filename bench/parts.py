"""One benchmark a mechanism: a schema, what has been written so far, and the mask behind it.

Each is measured three times: *cold* (a vocabulary that no grammar has used), *new grammar* (compiled again, so that
only what the vocabulary shares is warm), *again* (the same state). Each mask is checked against tokens read by bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import grammar_decode as gd


@dataclass(frozen=True)
class Part:
    name: str
    schema: Any
    prefix: str


STRING = {"type": "string"}
PERSON = {
    "type": "object",
    "properties": {"name": STRING, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"v": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}


def names(count: int) -> list[str]:
    """Names that share beginnings, as those of one author do."""
    groups = ("user", "order", "item", "price", "created", "is_active", "total", "address", "x", "html")
    return [f"{groups[i % len(groups)]}{'' if i < len(groups) else f'_{i // len(groups)}'}" for i in range(count)]


def keys(count: int) -> Part:
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names(count)},
        "additionalProperties": False,
    }
    return Part(f"key, {count} names", schema, '{"')


def union(count: int) -> Part:
    """Objects that only their last member tells apart, so that all of them live on."""
    branches = [
        {
            "type": "object",
            "properties": {"a": STRING, "n": {"type": "integer"}, name: {"type": "boolean"}},
            "required": ["a", name],
            "additionalProperties": False,
        }
        for name in names(count)
    ]
    return Part(f"union of {count} objects", {"anyOf": branches}, '{"a": "x", "')


def enum(count: int) -> Part:
    return Part(f"enum of {count:,}", {"enum": [f"{n}-{i}" for i, n in enumerate(names(count))]}, '"')


ANY_ORDER = {
    "type": "object",
    "properties": {name: {"type": "integer"} for name in names(12)},
    "required": names(9),
    "additionalProperties": False,
}

PARTS = [
    Part("terminal table: free string", STRING, '"hello'),
    Part("terminal table: integer in a range", {"type": "integer", "minimum": 0, "maximum": 120}, "1"),
    Part("residual walk: string, then a member", PERSON, '{"name": "Bob'),
    Part("residual walk: string, then an item", {"type": "array", "items": STRING}, '["a", "b'),
    keys(5),
    keys(50),
    keys(500),
    Part("counted string, at most 40", {"type": "string", "maxLength": 40}, '"hello'),
    Part("counted string, 10 to 100,000", {"type": "string", "minLength": 10, "maxLength": 100_000}, '"hello'),
    Part("pattern, anchored", {"type": "string", "pattern": "^[a-z]{2}-[0-9]{4}$"}, '"ab'),
    Part("pattern, unanchored", {"type": "string", "pattern": "foo.*bar"}, '"a foo'),
    Part("pattern with a length", {"type": "string", "pattern": "^(\\w+ ?)+$", "maxLength": 80}, '"a b'),
    Part("format date-time", {"type": "string", "format": "date-time"}, '"2024-0'),
    enum(10),
    enum(1_000),
    enum(20_000),
    Part("any order, 3 of 12 names read", ANY_ORDER, '{"item": 1, "x": 2, "user": 3, "'),
    union(2),
    union(20),
    union(100),
    Part("uniqueItems, integers", {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "[1, 20, 3, "),
    Part(
        "uniqueItems, enum",
        {"type": "array", "items": {"enum": names(30)}, "uniqueItems": True},
        '["user", "order", "item", "',
    ),
    Part("nested 200 deep", TREE, '{"c": [' * 100 + '{"v": 1'),
    Part("any value", {}, '{"a": [1, '),
    Part("end of a document", PERSON, '{"name": "Bob", "age": 1}'),
]


def fresh(vocabulary: gd.Vocabulary) -> gd.Vocabulary:
    """The same vocabulary, and nothing that was remembered for it."""
    return gd.Vocabulary(vocabulary.token_bytes, stop_token_ids=vocabulary.stop_token_ids, size=vocabulary.size)


def matcher_at(part: Part, vocabulary: gd.Vocabulary) -> gd.GrammarMatcher:
    matcher = gd.GrammarMatcher(gd.compile_json_schema(part.schema, cache=None), vocabulary)
    if not matcher.accept_bytes(part.prefix.encode()):
        raise ValueError(f"{part.prefix!r} is no beginning of a document: {part.name}")
    return matcher


def wrong_tokens(matcher: gd.GrammarMatcher, most: int, seed: int = 0) -> tuple[int, list[int]]:
    """How many tokens the mask allows, and those of a sample (`most` allowed, `most` not) whose bytes say otherwise."""
    vocabulary = matcher.vocabulary
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    allowed = np.unpackbits(bitmask[0].astype("<i4").view(np.uint8), bitorder="little")[: vocabulary.size]
    rng = random.Random(seed)
    wrong = []
    for value in (0, 1):
        ids = np.flatnonzero(allowed == value).tolist()
        for token in rng.sample(ids, min(most, len(ids))):
            text = vocabulary.token_bytes[token] if token < len(vocabulary.token_bytes) else None
            if token in vocabulary.stop_token_ids:
                expected = matcher.is_accepting()
            else:
                expected = bool(text) and matcher.count_accepted_bytes(text) == len(text)
            if expected != value:
                wrong.append(token)
    return int(allowed.sum()), wrong


def seconds(work: Callable[[], Any]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def measured(part: Part, vocabulary: gd.Vocabulary, repeats: int) -> dict[str, Any]:
    cold, new_grammar, again = [], [], []
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    for _ in range(repeats):
        unused = fresh(vocabulary)
        for times in (cold, new_grammar):
            matcher = matcher_at(part, unused)
            times.append(seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0)))  # noqa: B023  # called at once
        again += [seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0)) for _ in range(100)]  # noqa: B023
    legal, wrong = wrong_tokens(matcher, 500)
    if wrong:
        raise SystemExit(f"benchmark: the mask differs from the bytes of tokens {wrong[:5]}: {part.name}")
    return {
        "part": part.name,
        "legal": legal,
        "cold_us": median(cold) * 1e6,
        "new_grammar_us": median(new_grammar) * 1e6,
        "again_us": median(again) * 1e6,
    }
