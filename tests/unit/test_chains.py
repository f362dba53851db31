"""Chains: text around JSON. Their languages by hand; that masks follow is in `tests/differential`."""

from __future__ import annotations

import itertools

import pytest

from grammar_decode import _core
from grammar_decode.errors import SerializationError
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.encode import decode, encode
from sketches import TIGHT, Sketch, language

ALPHABET = b'{}[]":,abx1 '


def text(b: Sketch, *texts: bytes) -> ir.NodeId:
    """A part: unlike the value of a container it may be empty."""
    return b.add(ir.Terminal(b.literals(texts)))


def kernel_accepts(grammar: ir.Grammar, document: bytes) -> bool:
    vocabulary = _core.Vocabulary([*(bytes((byte,)) for byte in range(256)), None], [256], 257)
    matcher = _core.Matcher(_core.Grammar(encode(grammar)), vocabulary, [])
    return matcher.accept_bytes(document) and matcher.is_accepting()


def check(grammar: ir.Grammar, expected: set[bytes]) -> None:
    """The reference knows exactly these documents, and the kernel accepts them, and no longer or shorter ones."""
    assert language(grammar, ALPHABET) == expected
    for document in expected:
        assert kernel_accepts(grammar, document), document
        for other in (document + b"a", document[:-1], document + b" "):
            assert kernel_accepts(grammar, other) == (other in expected), other
    assert decode(encode(grammar)) == ir.Grammar(
        grammar.regexes, grammar.nodes, grammar.root, grammar.spacing, ("",) * len(grammar.nodes)
    )


def test_the_language_is_the_concatenation() -> None:
    b = Sketch(TIGHT)
    items = b.add(ir.Elements(0, (b.pick(b"1"),), 0, 2))
    grammar = b.grammar(b.add(ir.Chain((text(b, b"ab", b" "), items, text(b, b"x")))))
    arrays = (b"[]", b"[1]", b"[1,1]")
    check(grammar, {before + array + b"x" for before in (b"ab", b" ") for array in arrays})


def test_parts_may_be_empty_and_all_of_them_too() -> None:
    b = Sketch(TIGHT)
    parts = (text(b, b"", b"a"), text(b, b"", b" "), text(b, b"", b"a", b"aa"))
    grammar = b.grammar(b.add(ir.Chain(parts)))
    pieces = ((b"", b"a"), (b"", b" "), (b"", b"a", b"aa"))
    check(grammar, {b"".join(chosen) for chosen in itertools.product(*pieces)})


def test_no_whitespace_stands_around_a_chain_or_between_its_parts() -> None:
    b = Sketch(ir.Spacing(32))
    grammar = b.grammar(b.add(ir.Chain((text(b, b"x"), b.value(b"1")))))
    assert kernel_accepts(grammar, b"x1")
    for document in (b" x1", b"x 1", b"x1 "):
        assert not kernel_accepts(grammar, document)


def test_an_empty_part_may_be_the_choice_or_the_chain_of_empty_ones() -> None:
    b = Sketch(TIGHT)
    nothing = b.add(ir.Chain((text(b, b""), text(b, b""))))
    some = b.add(ir.Choice((nothing, text(b, b"a"))))
    grammar = b.grammar(b.add(ir.Chain((some, b.value(b"1"), some))))
    check(grammar, {b"1", b"a1", b"1a", b"a1a"})


def test_a_chain_that_ends_with_itself_repeats_and_its_states_do_not_pile_up() -> None:
    b = Sketch(TIGHT)
    root = b.reserve()
    again = b.add(ir.Choice((text(b, b""), root)))
    b.define(root, ir.Chain((b.add(ir.Elements(0, (b.pick(b"1"),))), text(b, b"", b" "), again)))
    grammar = b.grammar(root)
    vocabulary = _core.Vocabulary([*(bytes((byte,)) for byte in range(256)), None], [256], 257)
    matcher = _core.Matcher(_core.Grammar(encode(grammar)), vocabulary, [])
    sizes = []
    for _ in range(3):
        assert matcher.accept_bytes(b"[1,1] []" * 100)
        assert matcher.is_accepting()
        sizes.append(matcher.engine_memory_bytes())
    assert sizes[0] == sizes[1] == sizes[2]
    assert not matcher.accept_bytes(b"  ")


def test_items_behind_a_marker_are_distinct() -> None:
    b = Sketch(TIGHT)
    items = b.add(ir.Elements(0, (b.pick(b"1", b"x"),), 0, None, unique=True))
    grammar = b.grammar(b.add(ir.Chain((text(b, b"a"), items, text(b, b"", b"b"), items))))
    arrays = (b"[]", b"[1]", b"[x]", b"[1,x]", b"[x,1]")
    check(grammar, {b"a" + one + between + two for one in arrays for between in (b"", b"b") for two in arrays})


def test_what_no_chain_may_be_is_refused() -> None:
    b = Sketch(TIGHT)
    one = b.value(b"1")
    chain = b.add(ir.Chain((one,)))
    inside = b.add(ir.Elements(0, ((ir.Pick((), b.add(ir.Choice((one, chain)))),),)))
    itself, other = b.reserve(), b.reserve()
    b.define(itself, ir.Chain((text(b, b"", b" "), other)))
    b.define(other, ir.Choice((one, itself)))

    def refused(root: ir.NodeId, message: str, nodes: tuple[ir.Node, ...] | None = None) -> None:
        grammar = ir.Grammar(tuple(b.regexes), nodes or tuple(n for n in b.nodes if n), root, TIGHT)
        with pytest.raises(SerializationError, match=message):
            _core.Grammar(encode(grammar))

    refused(one, "its root is none")
    refused(chain, "is a chain")
    nodes = tuple(one_node for one_node in b.nodes if one_node)
    without = tuple(ir.Terminal(0) if index == inside else node for index, node in enumerate(nodes))
    refused(chain, "begins with itself", without)
    refused(0, "no parts", (ir.Chain(()),))
    deep = (*(ir.Chain((index + 1,)) for index in range(300)), ir.Terminal(0))
    refused(0, "200 deep", deep)
