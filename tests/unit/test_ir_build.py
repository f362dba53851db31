"""Builders: what is copied from one to another stays what it is; automata lose the states that no text needs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from amounts import examples
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from unit.regex_oracle import matches

TEXTS = [b"", b"a", b"b", b"ab", b"a1", b"1ab", b"qq", b'":', b"\xc3\xa9", b"aaa"]


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_copy_has_the_same_language_and_is_shared_with_its_equals(data: st.DataObject) -> None:
    one, other = Builder(), Builder()
    data.draw(strategies.regexes(other))  # so that the ids differ
    regex = data.draw(strategies.regexes(one))
    nodes = one.take(regex)
    assert one.put(nodes) == regex
    copy = other.put(nodes)
    assert other.put(nodes) == copy
    for text in TEXTS:
        assert matches(one, regex, text) == matches(other, copy, text), text


def test_an_automaton_keeps_only_the_states_between_its_start_and_an_accepting_one() -> None:
    b = Builder()
    a, one = 1 << ord("a"), 1 << ord("1")
    dead, unreached = 3, 4
    regex = b.automaton([{a: 2, one: dead}, {}, {a: 2, one: 1}, {a: dead}, {a: 1, one: unreached}], (1,))
    assert b.regexes[regex] == ir.Automaton((((a, 1),), ((a, 1), (one, 2)), ()), (False, False, True))


def test_an_automaton_without_a_text_is_the_empty_language() -> None:
    b = Builder()
    assert b.automaton([{1 << ord("a"): 0}, {}], (1,)) == b.empty


def test_bytes_with_one_target_are_one_transition() -> None:
    b = Builder()
    regex = b.automaton([{1 << ord("a"): 1, 1 << ord("b"): 1}, {}], (1,))
    assert b.regexes[regex] == ir.Automaton((((3 << ord("a"), 1),), ()), (False, True))
