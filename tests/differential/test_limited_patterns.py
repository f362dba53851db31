"""A pattern limited in length shares tables far from the limit, and has its own near it: as the reference says."""

from __future__ import annotations

import numpy as np
import pytest

from grammar_decode import _core
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.ir.encode import encode
from grammar_decode.reference import ReferenceMatcher

LETTERS = b"ab-"
# Long tokens, tokens across the end of the string, and a letter whose first byte is no token by itself.
TOKENS: list[bytes | None] = [
    *(bytes([b]) for b in b'ab-"x\xa9'),
    *(b"a" * n for n in (2, 3, 5, 8, 13, 21, 34)),
    b"ab-ab-ab", b"-b", b'a"', b'aaaa"', b"\xc3\xa9", b"\xc3\xa9b", b"b" * 40, b'b"', None,
]  # fmt: skip
STOP = len(TOKENS) - 1


def language(b: Builder, name: str) -> int:
    letter = b.byte_class(sum(1 << byte for byte in LETTERS))
    a, c = b.literal(b"a"), b.literal(b"\xc3\xa9")
    if name == "words":  # [ab]+(-[ab]+)*: one more letter behind each hyphen
        word = b.repeat(b.byte_class(1 << ord("a") | 1 << ord("b")), 1, None)
        return b.concat(word, b.repeat(b.concat(b.literal(b"-"), word), 0, None))
    if name == "needs five":  # .*abab-: the way to a match is five letters long
        return b.concat(b.repeat(letter, 0, None), b.literal(b"abab-"))
    # Behind a letter that no single token begins, forty more: a state that single-byte tokens do not reach.
    return b.alternate(b.repeat(a, 0, None), b.concat(c, b.repeat(b.literal(b"b"), 40, 40)))


@pytest.mark.parametrize("limit", [3, 16, 17, 20, 22, 60])
@pytest.mark.parametrize("name", ["words", "needs five", "behind a byte that is no token"])
def test_masks_are_equal_on_both_sides_of_the_limit(name: str, limit: int) -> None:
    b = Builder()
    unit = b.alternate(b.byte_class(sum(1 << byte for byte in LETTERS)), b.literal(b"\xc3\xa9"))
    quote = b.literal(b'"')
    body = b.intersect(language(b, name), b.repeat(unit, 0, limit))
    grammar = b.grammar(b.add(ir.Terminal(b.concat(quote, body, quote))))
    vocabulary = _core.Vocabulary(TOKENS, [STOP], len(TOKENS))
    try:
        kernel = _core.Matcher(_core.Grammar(encode(grammar)), vocabulary, [])
    except ValueError:
        pytest.skip("no text is that short")
    reference = ReferenceMatcher(grammar, TOKENS, [STOP], len(TOKENS))
    row = np.zeros((1, (len(TOKENS) + 31) // 32), np.int32)
    rng = np.random.default_rng(limit)
    for _ in range(3):
        kernel.reset()
        reference.reset()
        while not reference.is_terminated():
            kernel.fill_next_token_bitmask(row, 0)
            assert np.array_equal(row[0], reference.bitmask())
            allowed = sorted(reference.allowed_tokens())
            assert allowed, "a mask is never empty"
            token = int(rng.choice(allowed))
            assert kernel.accept_token(token)
            assert reference.accept_token(token)
