"""Faults of the languages of numerals."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pytest

from grammar_decode import GrammarMatcher, JsonOptions, Vocabulary, compile_json_schema

VOCABULARY = Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_token_ids=[256])


@pytest.mark.parametrize("divisor", [2, 4, 5, 6, 20, 0.5, 0.04])
def test_a_point_among_the_zeros_of_a_multiple_is_not_skipped(divisor: float) -> None:
    """`10.0e-1` (1) was taken for a multiple of 2: `10.` is one, and the exponent needs one zero behind it."""
    grammar = compile_json_schema({"type": "number", "multipleOf": divisor}, JsonOptions(numbers="any"))
    start = GrammarMatcher(grammar, VOCABULARY)
    step = Decimal(str(divisor))
    for digits, exponent in product(map("".join, product("0125", repeat=4)), range(-3, 4)):
        for point in range(1, 5):
            if digits[0] == "0" and point > 1:
                continue
            text = digits[:point] + "." * (point < 4) + digits[point:] + f"e{exponent}" * (exponent != 0)
            matcher = start.fork()
            accepted = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
            assert accepted == (Decimal(text) % step == 0), text
