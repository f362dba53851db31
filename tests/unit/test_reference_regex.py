"""Derivatives against the definition of a match, on all short strings."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from amounts import examples
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.reference.regex import Expression, Regexes

LETTERS = b"ab1"
SHORT = [bytes(t) for n in range(5) for t in itertools.product(LETTERS, repeat=n)]


def naive_match(table: list[ir.Regex], regex_id: ir.RegexId, text: bytes) -> bool:
    """The definition, by trying every split."""
    regex = table[regex_id]
    if isinstance(regex, ir.ByteClass):
        return len(text) == 1 and bool(regex.mask >> text[0] & 1)
    if isinstance(regex, ir.LiteralSet):
        return text in regex.literals
    if isinstance(regex, ir.Complement):
        return not naive_match(table, regex.part, text)
    if isinstance(regex, ir.Alternation):
        return any(naive_match(table, part, text) for part in regex.parts)
    if isinstance(regex, ir.Intersection):
        return all(naive_match(table, part, text) for part in regex.parts)
    if isinstance(regex, ir.Automaton):
        return _naive_run(regex, text)
    if isinstance(regex, ir.Concatenation):
        return _naive_sequence(table, regex.parts, text)
    most = max(regex.minimum, len(text)) if regex.maximum is None else min(regex.maximum, regex.minimum + len(text))
    return any(_naive_sequence(table, (regex.part,) * n, text) for n in range(regex.minimum, most + 1))


def _naive_run(automaton: ir.Automaton, text: bytes) -> bool:
    state = 0
    for byte in text:
        targets = [target for mask, target in automaton.transitions[state] if mask >> byte & 1]
        if not targets:
            return False
        (state,) = targets
    return automaton.accepting[state]


def _naive_sequence(table: list[ir.Regex], parts: tuple[ir.RegexId, ...], text: bytes) -> bool:
    """Which lengths the parts can have read, one part after another."""
    ends = {0}
    for part in parts:
        ends = {j for i in ends for j in range(i, len(text) + 1) if naive_match(table, part, text[i:j])}
    return len(text) in ends


@st.composite
def expressions(draw: st.DrawFn) -> tuple[Builder, ir.RegexId]:
    builder = Builder()
    return builder, draw(strategies.regexes(builder, 3, LETTERS))


def translate(builder: Builder, regex: ir.RegexId, alphabet: bytes) -> tuple[Regexes, Expression]:
    regexes = Regexes(alphabet)
    return regexes, regexes.from_table(tuple(builder.regexes))[regex]


@settings(max_examples=examples(120), deadline=None)
@given(expressions())
def test_a_string_matches_iff_the_definition_says_so(drawn: tuple[Builder, ir.RegexId]) -> None:
    regexes, expr = translate(*drawn, LETTERS)
    for text in SHORT:
        assert regexes.matches(expr, text) == naive_match(drawn[0].regexes, drawn[1], text), text


@settings(max_examples=examples(120), deadline=None)
@given(expressions(), st.sampled_from([b"ab1", b"a", b"b1", b""]))
def test_the_shortest_match_over_the_alphabet_is_shortest(drawn: tuple[Builder, ir.RegexId], alphabet: bytes) -> None:
    regexes, expr = translate(*drawn, alphabet)
    found = regexes.shortest(expr)
    assert regexes.is_empty(expr) == (found is None)
    if found is not None:
        assert set(found) <= set(alphabet)
        assert regexes.matches(expr, found)
    shorter = [t for t in SHORT if set(t) <= set(alphabet) and (found is None or len(t) < len(found))]
    assert not any(regexes.matches(expr, text) for text in shorter)


@settings(max_examples=examples(120), deadline=None)
@given(expressions(), st.sampled_from([b"ab1", b"a", b"b1"]))
def test_the_size_counts_the_strings_over_the_alphabet(drawn: tuple[Builder, ir.RegexId], alphabet: bytes) -> None:
    regexes, expr = translate(*drawn, alphabet)
    size = regexes.size(expr)
    any_byte = regexes.one_byte((1 << 256) - 1)
    if size is None:  # then there is a match of any length that one likes to exceed
        assert not regexes.is_empty(regexes.all_of((expr, regexes.repeat(any_byte, 60, None))))
    elif regexes.is_empty(regexes.all_of((expr, regexes.repeat(any_byte, 5, None)))):
        assert size == sum(regexes.matches(expr, text) for text in SHORT if set(text) <= set(alphabet))


def test_derivatives_of_a_counted_repetition_repeat() -> None:
    """The states of ``(a|b){0,1000}`` are at most 1001 (plus the empty one), not a tree."""
    regexes = Regexes(b"ab")
    expr = regexes.repeat(regexes.one_byte(1 << ord("a") | 1 << ord("b")), 0, 1000)
    assert regexes.derivative(expr, ord("a")) is regexes.derivative(expr, ord("b"))


@pytest.mark.parametrize(
    ("texts", "alphabet", "size"), [([b"a", b"ab", b"q"], b"ab", 2), ([b""], b"a", 1), ([], b"a", 0)]
)
def test_the_size_of_a_literal_set(texts: list[bytes], alphabet: bytes, size: int) -> None:
    regexes = Regexes(alphabet)
    assert regexes.size(regexes.texts(texts)) == size
