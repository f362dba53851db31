"""Types as schemas: what pydantic reads as the type is what the grammar admits."""

from __future__ import annotations

import dataclasses
import enum
import json
import random
import sys
from datetime import date
from typing import Annotated, Any, Literal

import pytest

import grammar_decode as gd

pydantic = pytest.importorskip("pydantic", reason="types as schemas need pydantic")
from pydantic import BaseModel, Field, TypeAdapter  # noqa: E402
from typing_extensions import TypedDict  # noqa: E402

BYTES = gd.Vocabulary([*(bytes((b,)) for b in range(256)), None], stop_token_ids=[256])
COMPACT = gd.JsonOptions(whitespace="compact")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str = Field(min_length=1, max_length=8)
    number: int = Field(ge=1, lt=1000, alias="no")


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str] = []


class Owner(BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: Annotated[str, Field(pattern="^[A-Z][a-z]{1,6}$")]
    born: date | None = None
    colour: Colour = Colour.RED
    address: Address
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Node(BaseModel):
    value: int = Field(ge=0, le=9)
    children: list[Node] = Field(default=[], max_length=2)


@dataclasses.dataclass
class Point:
    x: int
    y: Annotated[float, Field(ge=0, le=1)] = 0.5


class Movie(TypedDict):
    title: Literal["Alien", "Brazil"]
    year: int


def accepts(hint: Any, value: Any) -> bool:
    matcher = gd.GrammarMatcher(gd.compile_json_schema(hint, COMPACT), BYTES)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def written(grammar: gd.Grammar, rng: random.Random) -> bytes | None:
    """A random text of the grammar; None where no end comes in sight."""
    matcher, text = gd.GrammarMatcher(grammar, BYTES), b""
    while not matcher.is_accepting():
        allowed = list(matcher.allowed_bytes())
        closing = [b for b in allowed if b in b"]}"] or [b for b in allowed if b in b'"']
        chosen = bytes((rng.choice(closing if closing and rng.random() < len(text) / 60 else allowed),))
        if len(text) > 600:
            return None
        assert matcher.accept_bytes(chosen)
        text += chosen
    return text


@pytest.mark.parametrize("hint", [Owner, Node, Point, Movie, list[Point], int | None, dict[str, Cat]], ids=str)
def test_what_is_written_is_read_by_the_type(hint: Any) -> None:
    options = gd.JsonOptions(whitespace="compact", key_order="schema")  # a random walk finds no required key otherwise
    grammar, adapter = gd.compile_json_schema(hint, options), TypeAdapter(hint)
    rng = random.Random(1)
    texts = [text for text in (written(grammar, rng) for _ in range(20)) if text is not None]
    assert len(texts) > 3
    for text in texts:
        adapter.validate_json(text)


def test_a_model() -> None:
    good = {"name": "Ada", "address": {"street": "Elm", "no": 3}, "pet": {"kind": "cat", "lives": 9}}
    assert accepts(Owner, good)
    assert accepts(Owner, good | {"born": None, "colour": "blue"})
    assert not accepts(Owner, good | {"pet": {"kind": "dog", "lives": 9, "tricks": [1]}})
    assert not accepts(Owner, good | {"address": {"street": "Elm", "number": 3}})
    assert not accepts(Owner, good | {"more": 1})
    assert not accepts(Owner, good | {"born": "2023-02-29"})


def test_dataclasses_typed_dicts_and_hints() -> None:
    assert accepts(Point, {"x": 1})
    assert not accepts(Point, {"x": 1, "y": 2})
    assert accepts(Movie, {"title": "Alien", "year": 1979})
    assert not accepts(Movie, {"title": "Alien"})
    assert accepts(list[int], [1, 2])
    assert not accepts(list[int], ["a"])
    assert accepts(int | None, None)
    assert accepts(TypeAdapter(Point), {"x": 1})
    assert accepts(bool, True)
    assert not accepts(bool, 1)


def test_what_pydantic_has_no_schema_for_is_an_error() -> None:
    with pytest.raises(gd.SchemaError, match="Plain"):
        gd.compile_json_schema(type("Plain", (object,), {}))


def test_a_model_that_is_an_object_is_no_schema() -> None:
    with pytest.raises(gd.SchemaError):
        gd.compile_json_schema(Cat(kind="cat", lives=1))


def test_without_pydantic_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(gd.SchemaError, match="pip install pydantic") as caught:
        gd.compile_json_schema(Point)
    assert "Point" in str(caught.value)
