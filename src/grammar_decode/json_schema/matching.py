"""Does a pattern match a string that the schema writes out: a name, or a value of an enum.

Nearly all patterns become an automaton over positions (Glushkov, "The abstract theory of automata", 1961): a set of
positions is an integer, a character is one step, and steps are remembered. Patterns with assertions inside are matched
by their syntax tree. Both take polynomial time.
"""

from __future__ import annotations

from grammar_decode.limits import remembered
from grammar_decode.regex.charset import ALL, WORD, Charset
from grammar_decode.regex.parse import Alternation, Ast, Begin, Boundary, Chars, End, Look, Repeat, Sequence, parse

ANYTHING = Repeat(Chars(ALL), 0, None)
#: Positions of one automaton; a pattern that needs more is matched by its tree.
MOST_POSITIONS = 1_000
#: Steps that one automaton remembers; then it forgets them all.
MOST_STEPS = 10_000


@remembered(4096)
def matches(pattern: str, text: str) -> bool:
    """Whether the pattern matches somewhere in the text. Raises PatternError."""
    machine = _machine(pattern)
    if machine is not None:
        return machine.accepts(text)
    run = _Run(text)
    tree = parse(pattern)
    return any(run.ends(tree, start) for start in range(len(text) + 1))


def matches_whole(tree: Ast, text: str) -> bool:
    """Whether the tree matches the text from end to end."""
    return len(text) in _Run(text).ends(tree, 0)


@remembered(1024)
def _machine(pattern: str) -> _Positions | None:
    tree = parse(pattern)
    ways = tree.parts if isinstance(tree, Alternation) else (tree,)
    try:
        return _Positions([runs(way) for way in ways])
    except _NoPositions:
        return None


def runs(tree: Ast) -> tuple[Ast, ...]:
    """The parts, one after another, of the whole string: where an end is not anchored, anything may stand there."""
    parts = tree.parts if isinstance(tree, Sequence) else (tree,)
    if parts and isinstance(parts[0], Begin):
        parts = parts[1:]
    else:
        parts = (ANYTHING, *parts)
    if parts and isinstance(parts[-1], End):
        return parts[:-1]
    return (*parts, ANYTHING)


# ---- by positions ---------------------------------------------------------------------------------------------------


class _NoPositions(Exception):
    """The pattern has an assertion inside, or too many positions."""


class _Positions:
    """The automaton of the strings that one of the sequences matches from end to end.

    A position is one place of the pattern where a character is read; bit p of a set is position p, and bit 0 the start.
    """

    def __init__(self, sequences: list[tuple[Ast, ...]]) -> None:
        self.follow = [0]  # by position: which may come next
        self.members: dict[Charset, int] = {}  # the positions that read a character of the set
        self._allowed: dict[str, int] = {}
        self._steps: dict[tuple[int, str], int] = {}
        self.last = 0
        for parts in sequences:
            self.last |= self._after(1, parts)

    def accepts(self, text: str) -> bool:
        """Whether the text is one of the strings."""
        steps = self._steps
        state = 1
        for char in text:
            following = steps.get((state, char))
            if following is None:
                following = self._step(state, char)
            if not following:
                return False
            state = following
        return state & self.last != 0

    def _step(self, state: int, char: str) -> int:
        allowed = self._allowed.get(char)
        if allowed is None:
            code_point, allowed = ord(char), 0
            for charset, positions in self.members.items():
                if charset.contains(code_point):
                    allowed |= positions
            self._allowed[char] = allowed
        reached = 0
        for position in _bits(state):
            reached |= self.follow[position]
        if len(self._steps) >= MOST_STEPS:
            self._steps.clear()
        self._steps[state, char] = reached = reached & allowed
        return reached

    def _after(self, before: int, parts: tuple[Ast, ...]) -> int:
        """The positions where the parts may end, one after another, if they begin after one of ``before``."""
        for part in parts:
            before = self._end(before, part)
        return before

    def _end(self, before: int, node: Ast) -> int:
        if isinstance(node, Chars):
            position = len(self.follow)
            if position > MOST_POSITIONS:
                raise _NoPositions
            self.follow.append(0)
            self.members[node.charset] = self.members.get(node.charset, 0) | 1 << position
            self._link(before, 1 << position)
            return 1 << position
        if isinstance(node, Sequence):
            return self._after(before, node.parts)
        if isinstance(node, Alternation):
            ends = 0
            for way in node.parts:
                ends |= self._end(before, way)
            return ends
        if isinstance(node, Repeat):
            return self._repeated(before, node)
        raise _NoPositions

    def _repeated(self, before: int, node: Repeat) -> int:
        for _ in range(node.minimum):
            following = self._end(before, node.part)
            if following == before:
                break  # it reads nothing
            before = following
        ends = before
        if node.maximum is None:
            first = len(self.follow)
            after = self._end(before, node.part)
            # Once more: where a round may begin after `before`, it may begin after the round.
            self._link(after & ~before, self._begun(before, first))
            return ends | after
        for _ in range(node.maximum - node.minimum):
            following = self._end(before, node.part)
            if following == before:
                break
            before = following
            ends |= before
        return ends

    def _begun(self, before: int, first: int) -> int:
        """The positions from ``first`` on that may come right after one of ``before``."""
        found = 0
        for position in _bits(before):
            found |= self.follow[position]
        return found >> first << first

    def _link(self, before: int, after: int) -> None:
        for position in _bits(before):
            self.follow[position] |= after


def _bits(number: int) -> list[int]:
    found = []
    while number:
        lowest = number & -number
        found.append(lowest.bit_length() - 1)
        number ^= lowest
    return found


# ---- by the tree -----------------------------------------------------------------------------------------------------


class _Run:
    """The positions where matches end, by node and start; all of them, so nothing is tried twice."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.size = len(text)
        self.memo: dict[tuple[int, int], frozenset[int]] = {}

    def ends(self, node: Ast, start: int) -> frozenset[int]:
        key = (id(node), start)
        known = self.memo.get(key)
        if known is None:
            known = self.memo[key] = frozenset(self._ends(node, start))
        return known

    def _ends(self, node: Ast, start: int) -> set[int] | frozenset[int]:
        if isinstance(node, Chars):
            return {start + 1} if start < self.size and node.charset.contains(ord(self.text[start])) else set()
        if isinstance(node, Sequence):
            here = {start}
            for part in node.parts:
                here = {end for at in here for end in self.ends(part, at)}
            return here
        if isinstance(node, Alternation):
            return {end for part in node.parts for end in self.ends(part, start)}
        if isinstance(node, Repeat):
            return self._repeated(node, start)
        return {start} if self._holds(node, start) else set()

    def _repeated(self, node: Repeat, start: int) -> set[int]:
        # More rounds than characters only add empty ones, after which nothing changes.
        here, rounds = {start}, 0
        while rounds < node.minimum and here:
            following = {end for at in here for end in self.ends(node.part, at)}
            rounds += 1
            if following == here:
                break
            here = following
        found = set(here)
        rounds = node.minimum
        while here and (node.maximum is None or rounds < node.maximum):
            here = {end for at in here for end in self.ends(node.part, at)} - found
            found |= here
            rounds += 1
        return found

    def _holds(self, node: Ast, at: int) -> bool:
        if isinstance(node, Begin):
            return at == 0
        if isinstance(node, End):
            return at == self.size
        if isinstance(node, Boundary):
            before = at > 0 and WORD.contains(ord(self.text[at - 1]))
            after = at < self.size and WORD.contains(ord(self.text[at]))
            return (before != after) != node.negated
        assert isinstance(node, Look)
        if node.behind:
            found = any(at in self.ends(node.part, start) for start in range(at + 1))
        else:
            found = bool(self.ends(node.part, at))
        return found != node.negated
