"""Sets of lengths against sets of numbers."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

import grammar_decode as gd
from grammar_decode.json_schema.lengths import EVERY_LENGTH, Lengths, both, either

MOST = 12
bounds = st.integers(0, MOST)


@st.composite
def length_sets(draw: st.DrawFn) -> Lengths:
    sets = []
    for low, width in draw(st.lists(st.tuples(bounds, st.none() | st.integers(0, 4)), max_size=4)):
        sets.append(((low, None if width is None else low + width),))
    return either(sets)


def members(lengths: Lengths) -> set[int]:
    return {n for n in range(3 * MOST) for low, high in lengths if low <= n and (high is None or n <= high)}


def assert_normal(lengths: Lengths) -> None:
    for (low, high), (later, _) in pairwise(lengths):
        assert high is not None
        assert low <= high < later - 1


@given(length_sets(), length_sets())
def test_sets_of_lengths_are_sets(one: Lengths, other: Lengths) -> None:
    assert members(either([one, other])) == members(one) | members(other)
    assert members(both(one, other)) == members(one) & members(other)
    assert both(one, EVERY_LENGTH) == one
    for result in (either([one, other]), both(one, other)):
        assert_normal(result)


def test_lengths_that_exclude_each_other_are_seen_without_a_search() -> None:
    branch = {"type": "string", "minLength": 1, "maxLength": 1_000_000}
    exactly_one = {"oneOf": [branch, {"type": "string", "maxLength": 1_000_000}, {"type": "integer"}]}
    grammar = gd.compile_json_schema(exactly_one)  # the empty string, or an integer
    vocabulary = gd.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_token_ids=[256])
    for text, valid in ((b'""', True), (b"7", True), (b'"a"', False)):
        matcher = gd.GrammarMatcher(grammar, vocabulary)
        assert (matcher.accept_bytes(text) and matcher.is_accepting()) == valid
