"""The byte format of the IR: a round trip, and damage that is always an error of its own class."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import strategies
from amounts import examples
from grammar_decode import _core
from grammar_decode.errors import SerializationError
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.encode import Beginning, decode, encode

SMALL = ir.Grammar((ir.LiteralSet((b"1", b"22")),), (ir.Terminal(0),), 0, ir.Spacing(), ("",))


@settings(max_examples=examples(40), deadline=None)
@given(strategies.grammars(wild=True))
def test_decode_is_the_inverse_of_encode_but_for_origins(grammar: ir.Grammar) -> None:
    assert decode(encode(grammar)) == replace(grammar, origins=("",) * len(grammar.nodes))


@settings(max_examples=examples(40), deadline=None)
@given(strategies.grammars())
def test_equal_grammars_have_equal_bytes(grammar: ir.Grammar) -> None:
    assert encode(decode(encode(grammar))) == encode(grammar)


@settings(max_examples=examples(40), deadline=None)
@given(strategies.grammars(), st.data())
def test_a_beginning_that_is_encoded_already_changes_nothing(grammar: ir.Grammar, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(grammar.regexes)))
    assert encode(grammar, Beginning.of(grammar.regexes[:count])) == encode(grammar)


@pytest.mark.parametrize("bound", [None, 0, 32, 2**32 - 2])
def test_bounds_survive(bound: int | None) -> None:
    grammar = replace(SMALL, spacing=ir.Spacing(bound, b",\n", b": "))
    assert decode(encode(grammar)).spacing == grammar.spacing


AUTOMATON = ir.Automaton((((1 << 48, 0), (1 << 49, 1)), ()), (False, True))


def _with_automaton(automaton: ir.Automaton) -> bytes:
    return encode(replace(SMALL, regexes=(automaton,)))


def test_an_automaton_survives() -> None:
    assert decode(_with_automaton(AUTOMATON)).regexes == (AUTOMATON,)


@pytest.mark.parametrize(
    "automaton",
    [
        ir.Automaton((), ()),
        replace(AUTOMATON, transitions=(((1 << 48, 0), (3 << 48, 1)), ())),
        replace(AUTOMATON, transitions=(((1 << 48, 0), (1 << 49, 2)), ())),
        replace(AUTOMATON, accepting=(False, 2)),
    ],
    ids=["no states", "not deterministic", "a target that is no state", "neither accepting nor not"],
)
def test_a_damaged_automaton_is_an_error(automaton: ir.Automaton) -> None:
    data = _with_automaton(automaton)
    with pytest.raises(SerializationError):
        decode(data)
    with pytest.raises(SerializationError):
        _core.Grammar(data, 1_000)


def test_every_truncation_is_an_error() -> None:
    data = encode(SMALL)
    for length in range(len(data)):
        with pytest.raises(SerializationError):
            decode(data[:length])


def test_trailing_bytes_are_an_error() -> None:
    with pytest.raises(SerializationError):
        decode(encode(SMALL) + b"\0")


def test_another_version_is_an_error_that_says_what_to_do() -> None:
    data = encode(SMALL)
    with pytest.raises(SerializationError, match="Compile it again"):
        decode(data[:4] + struct.pack("<I", 99) + data[8:])


@settings(max_examples=examples(120), deadline=None)
@given(strategies.grammars(), st.data())
def test_damaged_words_are_an_error_or_another_grammar(grammar: ir.Grammar, data: st.DataObject) -> None:
    """Never another exception, and ids of what is read always lie inside the tables."""
    damaged = bytearray(encode(grammar))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(4, len(damaged) - 4))
        word = data.draw(st.integers(0, 8) | st.integers(0, 2**32 - 1))
        damaged[at : at + 4] = struct.pack("<I", word)
    try:
        read = decode(bytes(damaged))
    except SerializationError:
        return
    assert read.root < len(read.nodes)
    assert all(pick.node < len(read.nodes) for node in read.nodes for pick in _picks(node))


def _picks(node: ir.Node) -> list[ir.Pick]:
    if isinstance(node, (ir.Members, ir.Elements)):
        return [pick for picks in node.values for pick in picks]
    return []


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=200))
@example(b"GDIR" + b"\xff" * 12)
@example(b"GDIR" + struct.pack("<3I", 1, 1, 0) + b"\xff" * 4)
def test_arbitrary_bytes_are_an_error(data: bytes) -> None:
    for prefix in (b"", b"GDIR" + struct.pack("<3I", 1, len(data) // 4, len(data) % 4)):
        with pytest.raises(SerializationError):
            decode(prefix + data)
