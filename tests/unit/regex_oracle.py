"""A plain matcher for IR regular expressions: sets of end positions, straight from the definitions of the nodes.

Exponentially slower than an engine, and obviously right. Only for short data.
"""

from __future__ import annotations

from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import (
    Alternation,
    Automaton,
    ByteClass,
    Complement,
    Concatenation,
    Intersection,
    LiteralSet,
    RegexId,
    Repetition,
)


def matches(builder: Builder, regex: RegexId, data: bytes) -> bool:
    """Whether the regex matches the whole of ``data``."""
    return len(data) in _Ends(builder, data).of(regex, 0)


class _Ends:
    def __init__(self, builder: Builder, data: bytes) -> None:
        self.builder = builder
        self.data = data
        self.memo: dict[tuple[RegexId, int], frozenset[int]] = {}

    def of(self, regex: RegexId, start: int) -> frozenset[int]:
        """Every end of a match that begins at ``start``."""
        key = (regex, start)
        if key not in self.memo:
            self.memo[key] = self.compute(regex, start)
        return self.memo[key]

    def compute(self, regex: RegexId, start: int) -> frozenset[int]:
        node = self.builder.regexes[regex]
        data = self.data
        if isinstance(node, ByteClass):
            found = start < len(data) and node.mask >> data[start] & 1
            return frozenset((start + 1,)) if found else frozenset()
        if isinstance(node, LiteralSet):
            return frozenset(start + len(text) for text in node.literals if data.startswith(text, start))
        if isinstance(node, Concatenation):
            ends = {start}
            for part in node.parts:
                ends = {end for middle in ends for end in self.of(part, middle)}
            return frozenset(ends)
        if isinstance(node, Alternation):
            return frozenset().union(*[self.of(part, start) for part in node.parts])
        if isinstance(node, Intersection):
            return frozenset.intersection(*[self.of(part, start) for part in node.parts])
        if isinstance(node, Complement):
            return frozenset(range(start, len(data) + 1)) - self.of(node.part, start)
        if isinstance(node, Automaton):
            return self.accepted(node, start)
        assert isinstance(node, Repetition)
        return self.repeated(node, start)

    def accepted(self, node: Automaton, start: int) -> frozenset[int]:
        state = 0
        ends = {start} if node.accepting[0] else set()
        for end in range(start, len(self.data)):
            targets = [target for mask, target in node.transitions[state] if mask >> self.data[end] & 1]
            if not targets:
                break
            (state,) = targets
            if node.accepting[state]:
                ends.add(end + 1)
        return frozenset(ends)

    def repeated(self, node: Repetition, start: int) -> frozenset[int]:
        ends = {start}
        rounds = 0
        found = set(ends) if node.minimum == 0 else set()
        seen: set[tuple[int, ...]] = set()
        while rounds != node.maximum and ends:
            ends = {end for middle in ends for end in self.of(node.part, middle)}
            rounds += 1
            if rounds >= node.minimum:
                if ends <= found and tuple(sorted(ends)) in seen:
                    break
                seen.add(tuple(sorted(ends)))
                found |= ends
        return frozenset(found)
