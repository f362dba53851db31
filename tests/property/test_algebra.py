"""What schemas say of each other: `not (not S)` and `oneOf [S]` are S, and `allOf [S, T]` is what both accept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grammar_decode as gd
from amounts import examples
from schemas_random import likely_values, random_schemas
from vocabularies import SYNTHETIC
from walks import as_vocabulary, written

THOROUGH = settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))

Language = Callable[[str], bool]


def language(schema: Any) -> Language | None:
    """The texts that the kernel accepts; None where the schema passes a limit or negates `uniqueItems`."""
    try:
        grammar = gd.compile_json_schema(schema)
    except gd.UnsatisfiableSchema:
        return lambda _: False
    except gd.SchemaTooComplex:
        return None
    except gd.UnsupportedSchema as error:
        if (error.location or "").endswith("/uniqueItems"):
            return None
        raise

    def accepts(text: str) -> bool:
        matcher = gd.GrammarMatcher(grammar, as_vocabulary(SYNTHETIC[0]))
        return matcher.accept_bytes(text.encode()) and matcher.is_accepting()

    return accepts


def texts(data: st.DataObject, *schemas: Any) -> list[str]:
    """Texts of values that are likely for one of the schemas, without exponents: a negation has fewer of those."""
    drawn = (written(data.draw(likely_values(schema, schema))) for schema in schemas for _ in range(4))
    return [text for text in drawn if not re.search("[0-9][eE]", text)]


@pytest.mark.parametrize(
    "around",
    [
        lambda schema: {"not": {"not": schema}},
        lambda schema: {"oneOf": [schema]},
        lambda schema: {"oneOf": [schema, False]},
        lambda schema: {"oneOf": [{"not": schema}, True]},
        lambda schema: {"if": schema, "else": False},
        lambda schema: {"anyOf": [schema, schema]},
        lambda schema: {"$ref": "#/$defs/s", "$defs": {"s": schema}},
    ],
    ids=["not not", "oneOf one", "oneOf or nothing", "oneOf not or all", "if else false", "anyOf twice", "$ref"],
)
@pytest.mark.parametrize("draft7", [False, True])
def test_a_schema_around_a_schema_says_the_same(around: Callable[[Any], Any], draft7: bool) -> None:
    tally: Counter[bool] = Counter()

    @settings(THOROUGH, max_examples=examples(50))
    @given(random_schemas(2, refs=False, draft7=draft7), st.data())
    def check(schema: Any, data: st.DataObject) -> None:
        plain, wrapped = language(schema), language(around(schema))
        if plain is None or wrapped is None:
            return
        for text in texts(data, schema):
            assert plain(text) == wrapped(text), f"{text!r} for {schema}"
            tally[plain(text)] += 1

    check()
    assert min(tally[True], tally[False]) >= examples(50) // 10, tally


@THOROUGH
@given(random_schemas(2, refs=False), random_schemas(2, refs=False), st.data())
def test_all_any_and_one_of_two_schemas(one: Any, other: Any, data: st.DataObject) -> None:
    first, second = language(one), language(other)
    combined = {word: language({word: [one, other]}) for word in ("allOf", "anyOf", "oneOf")}
    negated = language({"not": one})
    for text in texts(data, one, other, {"allOf": [one, other]}):
        if first is None or second is None:
            return
        held = first(text) + second(text)
        for word, accepts in combined.items():
            expected = {"allOf": held == 2, "anyOf": held > 0, "oneOf": held == 1}[word]
            assert accepts is None or accepts(text) == expected, f"{text!r} for {word} of {one} and {other}"
        assert negated is None or negated(text) != first(text), f"{text!r} for not {one}"
