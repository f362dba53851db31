"""Faults of the judge of finished documents."""

from __future__ import annotations

import json

import pytest

from grammar_decode.judge import judge_of
from schemas import judge


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


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        (r"^\$.*$", ("$", "$.a"), ("", "a", "$\n")),
        (r"^[$a-z]+$", ("$", "a$"), ("Z", "\\", "a\n")),
        (r"^[\]$]$", ("]", "$"), ("a", "]\n")),
        (r"^(a|\\$)", ("a", "\\"), ("\\$", "$")),
        ("^iglu:[a-zA-Z0-9-_.]+/([1-9]|\\*)$", ("iglu:a-_.0/1", "iglu:-/*"), ("iglu:$/1", "iglu:a/0")),
    ],
)
def test_only_a_dollar_that_is_an_end_is_translated_for_python(
    pattern: str, valid: tuple[str, ...], invalid: tuple[str, ...]
) -> None:
    for schema, wrap in (({"pattern": pattern}, "{}"), ({"patternProperties": {pattern: False}}, "{{{}: 1}}")):
        is_valid = judge(schema)
        for text in valid:
            assert is_valid(wrap.format(json.dumps(text))) == ("pattern" in schema)
        for text in invalid:
            assert is_valid(wrap.format(json.dumps(text))) == ("pattern" not in schema)
