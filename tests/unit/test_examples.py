"""The example schemas are valid, compile, and take the documents that they are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import grammar_decode as gd

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = ["person", "order", "event", "comment", "api_error"]
BYTES = gd.Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_token_ids=[256])

GOOD: list[tuple[str, Any]] = [
    ("person", {"name": "Bob", "age": 42, "tags": ["a", "b"]}),
    ("person", {"name": "Zoë", "age": 0, "tags": ["x"]}),
    (
        "order",
        {
            "order_id": "AB-12345",
            "customer": {"name": "Alice", "country": "DE"},
            "items": [{"product": "mug", "quantity": 2, "unit_price": 7.5}],
            "currency": "EUR",
        },
    ),
    ("event", {"kind": "click", "position": [10, 20], "button": "left"}),
    ("event", {"kind": "purchase", "product": "tea", "amount": 3.25}),
    ("event", {"kind": "message", "from": "Ann", "to": "Tom", "text": "Dinner?"}),
    (
        "comment",
        {"author": "ann", "text": "hi", "replies": [{"author": "tom", "text": "yo", "likes": 3, "replies": []}]},
    ),
    ("api_error", {"status": 404, "message": "No such user.", "code": "not_found"}),
    (
        "api_error",
        {
            "status": 400,
            "message": "The email is missing.",
            "code": "bad_request",
            "retry_after_seconds": None,
            "details": [{"field": "user.email", "problem": "is required"}],
        },
    ),
]

BAD: list[tuple[str, Any]] = [
    ("person", {"name": "Bob", "age": 121, "tags": ["a"]}),
    ("person", {"name": "Bob", "age": 42}),
    ("order", {"order_id": "AB-12345", "customer": {"name": "A"}, "items": [], "currency": "EUR"}),
    (
        "order",
        {
            "order_id": "AB-12345",
            "customer": {"name": "A"},
            "items": [{"product": "mug", "quantity": 2, "unit_price": 7.505}],
            "currency": "EUR",
        },
    ),
    ("event", {"kind": "click", "product": "tea", "amount": 3}),
    ("event", {"kind": "click", "position": [1, 2, 3]}),
    ("comment", {"author": "ann", "text": "hi", "replies": [{"author": "t", "text": "yo"}]}),
    ("api_error", {"status": 200, "message": "No such user.", "code": "not_found"}),
    ("api_error", {"status": 404, "message": "No such user.", "code": "not_found", "extra": 1}),
]


def schema_of(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.schema.json").read_text())


def accepts(name: str, value: Any) -> bool:
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema_of(name)), BYTES)
    return bool(matcher.accept_bytes(json.dumps(value, ensure_ascii=False).encode()) and matcher.is_accepting())


def test_every_example_is_listed_with_a_prompt() -> None:
    readme = (FOLDER / "README.md").read_text()
    found = {path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json")}
    assert found == set(NAMES)
    assert all(f"({name}.schema.json)" in readme for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_a_schema_and_nothing_of_it_is_dropped(name: str) -> None:
    schema = schema_of(name)
    jsonschema.validators.validator_for(schema).check_schema(schema)
    assert gd.compile_json_schema(schema).report.entries


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_an_example_takes_what_it_is_about(name: str, value: Any) -> None:
    jsonschema.validate(value, schema_of(name))
    assert accepts(name, value)


@pytest.mark.parametrize(("name", "value"), BAD)
def test_an_example_refuses_what_its_schema_refuses(name: str, value: Any) -> None:
    assert not jsonschema.validators.validator_for(schema_of(name))(schema_of(name)).is_valid(value)
    assert not accepts(name, value)
