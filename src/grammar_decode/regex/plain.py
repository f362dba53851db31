"""Pure parts of a pattern, those without assertions, as the regular expressions that one would write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import ByteClass, Concatenation, LiteralSet, RegexId, Repetition
from grammar_decode.regex.charset import Charset
from grammar_decode.regex.parse import Alternation, Ast, Chars, Repeat, Sequence
from grammar_decode.regex.trees import post_order

#: The regex of how one character of a set is written.
Spell: TypeAlias = Callable[[Charset], RegexId]


class PlainParts:
    """The pure parts of one pattern. ``mirrored``: concatenations are written from right to left.

    Remembered by node identity, so whoever asks keeps the nodes alive.
    """

    def __init__(self, builder: Builder, spell: Spell, *, mirrored: bool) -> None:
        self.builder = builder
        self.spell = spell
        self.mirrored = mirrored
        self.regexes: dict[int, RegexId] = {}

    def chars(self, cs: Charset) -> RegexId:
        return self.spell(cs) if cs else self.builder.empty

    def regex(self, tree: Ast) -> RegexId:
        """The regex of a pure node; no recursion, so any depth will do."""
        regexes = self.regexes
        if id(tree) in regexes:
            return regexes[id(tree)]
        if isinstance(tree, Chars):
            regexes[id(tree)] = self.chars(tree.charset)
            return regexes[id(tree)]
        for node in post_order(tree):
            key = id(node)
            if key in regexes:
                continue
            if isinstance(node, Chars):
                regexes[key] = self.chars(node.charset)
            elif isinstance(node, Sequence):
                regexes[key] = self.sequence([regexes[id(p)] for p in node.parts])
            elif isinstance(node, Alternation):
                regexes[key] = self.alternation([regexes[id(p)] for p in node.parts])
            elif isinstance(node, Repeat):
                regexes[key] = self.builder.repeat(regexes[id(node.part)], node.minimum, node.maximum)
            else:
                raise AssertionError(f"{node} is not pure")
        return regexes[id(tree)]

    def sequence(self, parts: list[RegexId]) -> RegexId:
        """The concatenation; ``x x*`` becomes ``x+`` and runs of fixed bytes become one literal."""
        out: list[RegexId] = []
        literals: list[bytes] = []  # not yet in out
        for part in reversed(parts) if self.mirrored else parts:
            text = self.fixed_text(part)
            if text is not None:
                literals.append(text)
                continue
            if literals:
                if isinstance(self.builder.regexes[part], Repetition) and len(literals[-1]) == 1:
                    last = literals.pop()  # keep it apart: it may be the x of x x*
                    if literals:
                        out.append(self.builder.literal(b"".join(literals)))
                    out.append(self.builder.literal(last))
                else:
                    out.append(self.builder.literal(b"".join(literals)))
                literals = []
            merged = self.merged_counts(out[-1], part) if out else None
            if merged is None:
                out.append(part)
            else:
                out[-1] = merged
        if literals:
            out.append(self.builder.literal(b"".join(literals)))
        return self.builder.concat(*out)

    def fixed_text(self, regex: RegexId) -> bytes | None:
        node = self.builder.regexes[regex]
        if isinstance(node, LiteralSet) and len(node.literals) == 1:
            return node.literals[0]
        if isinstance(node, ByteClass) and node.mask and not node.mask & (node.mask - 1):
            return bytes((node.mask.bit_length() - 1,))
        if isinstance(node, Concatenation) and len(node.parts) <= 4:
            texts = [self.fixed_text(part) for part in node.parts]
            return None if None in texts else b"".join(t for t in texts if t is not None)
        return None

    def merged_counts(self, left: RegexId, right: RegexId) -> RegexId | None:
        """``x{a,b} x{c,d}`` as ``x{a+c,b+d}``, where at least one of them is a repetition."""
        (part, low, high), (other, low2, high2) = self.counts(left), self.counts(right)
        if left == other:
            part, low, high = left, 1, 1
        elif right == part:
            other, low2, high2 = right, 1, 1
        if part != other or (left == right and not isinstance(self.builder.regexes[left], Repetition)):
            return None
        return self.builder.repeat(part, low + low2, None if high is None or high2 is None else high + high2)

    def counts(self, regex: RegexId) -> tuple[RegexId, int, int | None]:
        node = self.builder.regexes[regex]
        if isinstance(node, Repetition):
            return node.part, node.minimum, node.maximum
        return regex, 1, 1

    def alternation(self, parts: list[RegexId]) -> RegexId:
        """The union; fixed texts become one literal set."""
        texts: list[bytes] = []
        others: list[RegexId] = []
        for part in parts:
            node = self.builder.regexes[part]
            if isinstance(node, LiteralSet):
                texts.extend(node.literals)
            else:
                others.append(part)
        if texts:
            others.append(self.builder.literals(texts))
        return self.builder.alternate(*others)
