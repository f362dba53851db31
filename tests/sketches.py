"""Small grammars by hand, and their whole languages by the reference matcher."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.reference import Automaton, ReferenceMatcher
from grammar_decode.reference.automaton import Configuration

TIGHT = ir.Spacing(0)


class Sketch(Builder):
    """A builder with short words for what these tests need."""

    def value(self, *texts: bytes) -> ir.NodeId:
        """A terminal with these texts."""
        return self.add(ir.Terminal(self.literals(texts)))

    def pick(self, *texts: bytes) -> tuple[ir.Pick, ...]:
        """The one pick of an everyday class."""
        return (ir.Pick((), self.value(*texts)),)

    def object(self, names: Iterable[bytes], patterns: Iterable[ir.RegexId] = (), **fields: Any) -> ir.Grammar:
        """An object whose values are all ``1``."""
        names, patterns = tuple(names), tuple(patterns)
        values = fields.pop("values", (self.pick(b"1"),) * (len(names) + len(patterns)))
        ranks = fields.pop("ranks", (None,) * len(names))
        return self.grammar(self.add(ir.Members(names, ranks, patterns, values, **fields)))

    def array(self, *item_texts: bytes, **fields: Any) -> ir.Grammar:
        """An array of these items."""
        return self.grammar(self.add(ir.Elements(0, (self.pick(*item_texts),), **fields)))


def language(grammar: ir.Grammar, alphabet: bytes, longest: int = 60) -> set[bytes]:
    """Every document over ``alphabet``, of a finite language. Fails on a prefix that no document begins with."""
    automaton = Automaton(grammar, alphabet)
    found: set[bytes] = set()

    def explore(text: bytes, configuration: Configuration) -> bool:
        assert len(text) <= longest, f"the language is not as small as the test thinks: {text!r}"
        live = automaton.is_accepting(configuration)
        if live:
            found.add(text)
        for byte in alphabet:
            after = automaton.step(configuration, byte)
            live |= bool(after) and explore(text + bytes((byte,)), after)
        assert live, f"{text!r} is a dead end that the reference took for live"
        return live

    initial = automaton.initial()
    if initial:
        explore(b"", initial)
    return found


JSON_BYTES = b'{}[]":,ab1'


def allowed_bytes(grammar: ir.Grammar, text: bytes, missing: bytes = b"") -> set[int]:
    """The bytes that may come after ``text``, where the tokens are all bytes but the missing ones."""
    vocabulary = [bytes((b,)) for b in range(256) if b not in missing]
    matcher = ReferenceMatcher(grammar, [*vocabulary, None], [len(vocabulary)])
    assert matcher.accept_bytes(text)
    return matcher.allowed_bytes()
