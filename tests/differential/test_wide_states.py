"""Masks of states that loop on many characters: a token is in the mask exactly if it is accepted byte by byte."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import grammar_decode as gd
from vocabularies import AWKWARD_TOKENS, MISSING_BYTES
from walks import mask_of

WORDS = [b"foo", b"ab", b"x", b"z9", b"Qu", b"0f", b"deadbeef", b"-", b"/", b"a.b", b"it's", b"\xc3\xa9t\xc3\xa9"]
# What `.` and `\S` do not match, and parts of such characters.
SPACES = [
    b" ",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b"\xe2\x80",
    b"\xe3\x80\x80",
    b"\xef\xbb",
    b"\xe1\x9a\x80",
    b"\\n",
    b"\\u",
]
JOINED = [a + b for a, b in itertools.product([*WORDS, *SPACES], [*WORDS, *SPACES, b'"', b'",', b'":', b"\\", b"\x01"])]
LONG = [b"a" * n for n in (4, 9, 17, 30)] + [b" word" * n for n in (1, 2, 5)] + [b'ab"}', b'ab", "', b'"ab": ']
TEXTS = sorted({*WORDS, *SPACES, *JOINED, *LONG, *AWKWARD_TOKENS})

STRINGS: list[dict[str, Any]] = [
    {},
    {"maxLength": 6},
    {"minLength": 3, "maxLength": 9},
    {"pattern": "foo"},
    {"pattern": "[0-9a-f]{4}-[0-9a-f]{2}"},
    {"pattern": "^.*$"},
    {"pattern": "^[^/]+/[^/]*$"},
    {"pattern": "^[^/]+/[^/]*$", "maxLength": 8},
    {"pattern": "^[a-z]+$"},
    {"pattern": "^[a-z]{2,5}$"},
    {"pattern": "^[a-z-]+(/[a-z-]+)*$", "maxLength": 12},
    {"pattern": r"^(?:\S+\s+){0,3}\S+$", "maxLength": 20},
    {"pattern": r"^(?:\S+\s+){0,3}\S+$"},
    {"pattern": "^(a|b-c)*$", "maxLength": 7},
    {"pattern": r"^\w+(\.\w+)*$"},
    {"not": {"const": "ab"}, "maxLength": 2},
    {"not": {"enum": ["foo", "foofoo", ""]}, "maxLength": 6},
    {"not": {"pattern": "foo"}},
    {"not": {"pattern": "foo"}, "maxLength": 9},
    {"format": "email", "maxLength": 14},
    {"format": "uri", "maxLength": 16},
    {"format": "uri"},
]
OBJECTS: list[dict[str, Any]] = [
    {"patternProperties": {"^[a-z]+$": {"type": "integer"}, "foo": {"type": "string"}}},
    {"properties": {"foo": True, "ab": True}, "additionalProperties": {"type": "integer"}},
    {"propertyNames": {"maxLength": 4}, "additionalProperties": {"type": "boolean"}},
    {"anyOf": [{"properties": {"foo": {"type": "null"}}}, {"additionalProperties": {"type": "integer"}}]},
]
#: Bytes, for tables and for masks.
LIMITS = {"nothing remembered": 0, "little remembered": 4_000}
SCHEMAS = [{"type": "string", **s} for s in STRINGS] + [{"type": "object", **s} for s in OBJECTS]


def a_vocabulary(missing: frozenset[int]) -> gd.Vocabulary:
    singles = [bytes([b]) for b in range(256) if b not in missing]
    return gd.Vocabulary([*TEXTS, *singles, None], stop_token_ids=[len(TEXTS) + len(singles)])


@pytest.fixture(scope="module", params=["all bytes", "some missing", "nothing remembered", "little remembered"])
def vocabulary(request: pytest.FixtureRequest) -> gd.Vocabulary:
    vocabulary = a_vocabulary(MISSING_BYTES if request.param == "some missing" else frozenset())
    if (limit := LIMITS.get(request.param)) is not None:
        vocabulary._core_vocabulary.set_table_limit(limit)
    return vocabulary


def by_definition(matcher: gd.GrammarMatcher) -> npt.NDArray[np.int32]:
    accepted = [matcher.fork().accept_token(token) for token in range(matcher.vocabulary.size)]
    bits = np.packbits(np.array(accepted, dtype=np.uint8), bitorder="little")
    return np.concatenate([bits, np.zeros(-len(bits) % 4, np.uint8)]).view(np.int32)


@pytest.mark.parametrize("schema", SCHEMAS, ids=repr)
def test_a_mask_holds_what_is_accepted(
    schema: dict[str, Any], vocabulary: gd.Vocabulary, request: pytest.FixtureRequest
) -> None:
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema), vocabulary)
    if (limit := LIMITS.get(request.node.callspec.params["vocabulary"])) is not None:
        matcher._matcher.set_memo_limit(limit)
    rng = random.Random(repr(schema))
    for _ in range(3):
        matcher.reset()
        for _ in range(9):
            mask = mask_of(matcher)
            expected = by_definition(matcher)
            wrong = [t for t in range(vocabulary.size) if (int(mask[t // 32]) ^ int(expected[t // 32])) >> (t % 32) & 1]
            assert not wrong, [vocabulary.token_bytes[token] for token in wrong[:9]]
            allowed = [t for t in range(len(TEXTS)) if int(mask[t // 32]) >> (t % 32) & 1]
            if not allowed or not matcher.accept_token(rng.choice(allowed)):
                break
