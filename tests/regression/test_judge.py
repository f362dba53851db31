"""Faults of the judge of finished documents."""

from __future__ import annotations

import pytest

from grammar_decode.judge import judge_of


@pytest.mark.parametrize("text", ["-0E+990", "0e-999", "0.0"])
def test_every_spelling_of_zero_is_an_integer(text: str) -> None:
    judge = judge_of({"type": "integer"})
    assert judge is not None
    assert judge(text)


def test_the_remainder_of_a_long_number_is_exact() -> None:
    judge = judge_of({"multipleOf": 0.01})
    assert judge is not None
    assert judge("1e300")
    assert judge(f"{10**300}.25")
    assert not judge(f"{10**300}.255")
