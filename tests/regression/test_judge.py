"""Faults of the judge of finished documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_decode.judge import judge_of
from schema_judge import judge


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


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"^\p{Lu}$"},
        {"items": {"patternProperties": {r"\Aa\Z": True}}},
        {"pattern": "^a{,2}$"},
        {"pattern": "^(?<n>a)$"},
        {"exclusiveMinimum": True, "minimum": 0},
        {"items": [{"type": "integer"}], "additionalItems": False},
        {"$schema": 7},
    ],
)
def test_what_the_package_reads_otherwise_is_not_judged(schema: Any) -> None:
    assert judge_of(schema) is None


def test_a_reference_that_the_package_does_not_find_is_not_judged() -> None:
    judge = judge_of({"properties": {"a": {"$ref": "http://nowhere.invalid/x"}}})
    assert judge is not None
    assert judge('{"a": 1}') is None
    assert judge("{}")


def test_keywords_of_openapi_are_not_judged() -> None:
    assert judge_of({"type": "string", "nullable": True}, openapi=True) is None


def test_constants_that_look_like_schemas_are_judged() -> None:
    judge = judge_of({"enum": [{"patternProperties": 5, "pattern": 6}]})
    assert judge is not None
    assert judge('{"patternProperties": 5, "pattern": 6}')
    assert not judge("{}")
