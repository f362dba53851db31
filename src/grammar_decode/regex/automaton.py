r"""The fallback for assertions inside loops: an explicit automaton over classes of characters, turned into a regex.

Reading a string from left to right, the state is what the rest of the string still has to satisfy, together with what
is known of the part read:

* a *formula* over continuations (an interned linked list of tree nodes): lookaheads are conjunctions and negations, as
  in an alternating automaton, stepped by derivatives;
* the class of the last character (start, word, other), for ``^`` and ``\b``;
* for each lookbehind, the continuations of its body that are under way.

The automaton is minimised, and its steps of one character become steps of one byte: the spellings of all characters are
a prefix code, so between two characters the state is what is left of each spelling that has begun. All is bounded;
passing a bound raises TooManyStates. Exact wherever it answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import RegexId
from grammar_decode.regex.charset import ALL, NONE, WORD, Charset
from grammar_decode.regex.parse import Alternation, Ast, Begin, Boundary, Chars, End, Look, Repeat, Sequence

#: States before minimisation, classes of characters, continuations.
MAX_STATES = 600
MAX_CLASSES = 64
MAX_CONTINUATIONS = 2_000
#: States over bytes.
MAX_BYTE_STATES = 5_000
#: Steps over the tree, all states together: bounds the time at about a tenth of a second.
MAX_STEPS = 100_000
#: Junctions inside junctions.
MAX_FORMULA_DEPTH = 30

TOO_LARGE = "an assertion inside a repetition makes the automaton too large"

#: A formula: True, False, a continuation, or a junction of formulas.
Formula: TypeAlias = bool | int | tuple[str, frozenset["Formula"]]

# Continuations that end a list.
ANYTHING = -1  # the pattern is matched; the rest may be anything
STOP = -2  # the pattern is matched if the string ends here
ARRIVED = -3  # a lookbehind body is matched if it ends here

START, AFTER_WORD, AFTER_OTHER = 0, 1, 2
END_OF_TEXT = -1  # in the place of a class: there is no next character


class TooManyStates(Exception):
    """A bound was passed, or a construct has no place in the automaton; the message says which."""


def automaton_language(builder: Builder, tree: Ast, spell: Callable[[Charset], RegexId], *, search: bool) -> RegexId:
    """The spelled strings in which the tree matches somewhere (``search``) or as a whole. Raises TooManyStates."""
    automaton = _Automaton(tree, search)
    edges, accepting = _minimal(*automaton.explore())
    return _Bytes(builder).language(spell, automaton.classes, edges, accepting)


def _conjunction(parts: list[Formula]) -> Formula:
    return _junction("and", parts, True)


def _junction(kind: str, parts: list[Formula], neutral: bool) -> Formula:
    flat: set[Formula] = set()
    for part in parts:
        if part is neutral:
            continue
        if part is (not neutral):
            return not neutral
        if isinstance(part, tuple) and part[0] == kind:
            flat |= part[1]
        else:
            flat.add(part)
    # Absorption: a or (a and b) = a, and its dual.
    flat = {p for p in flat if not (isinstance(p, tuple) and p[0] != "not" and p[1] & flat)}
    if not flat:
        return neutral
    if len(flat) == 1:
        return flat.pop()
    return (kind, frozenset(flat))


def _negation(part: Formula) -> Formula:
    if isinstance(part, bool):
        return not part
    if isinstance(part, tuple) and part[0] == "not":
        return next(iter(part[1]))
    return ("not", frozenset((part,)))


State: TypeAlias = tuple[int, Formula, tuple[frozenset[int], ...]]


class _Automaton:
    def __init__(self, tree: Ast, search: bool) -> None:
        self.tree = tree
        # Continuations: a node, then another continuation. subtle: 0 and 1 would equal False and True, so none has
        # those numbers.
        self.nodes: list[tuple[Ast, int]] = [(tree, ANYTHING)] * 2
        self.ids: dict[tuple[int, int], int] = {}
        self.kept: list[Ast] = []
        self.counted: dict[tuple[int, int, int | None], Repeat] = {}
        self.behind: list[Look] = []  # a body comes after the bodies inside it
        self.classes = self.partition()
        self.behind_index = {id(look): i for i, look in enumerate(self.behind)}
        self.words = [cs.is_subset(WORD) for cs in self.classes]
        self.members: dict[Charset, frozenset[int]] = {}
        self.steps = 0
        body = self.push(tree, ANYTHING if search else STOP)
        if search:
            body = self.push(self.keep(Repeat(self.keep(Chars(ALL)), 0, None)), body)
        self.first: Formula = body
        self.behind_starts = [self.push(look.part, ARRIVED) for look in self.behind]

    def partition(self) -> list[Charset]:
        """The classes of characters that no node tells apart. Finds the lookbehinds on the way."""
        parts = [ALL]
        cuts: dict[Charset, None] = {}
        stack: list[tuple[Ast, bool]] = [(self.tree, False)]
        while stack:
            node, in_behind = stack.pop()
            if isinstance(node, Chars):
                cuts[node.charset] = None
            elif isinstance(node, Boundary):
                cuts[WORD] = None
            elif isinstance(node, Look):
                if node.behind:
                    self.behind.insert(0, node)
                elif in_behind:
                    raise TooManyStates("a lookahead inside a lookbehind of several characters is not supported")
                stack.append((node.part, in_behind or node.behind))
            elif isinstance(node, Repeat):
                stack.append((node.part, in_behind))
            elif isinstance(node, (Sequence, Alternation)):
                stack.extend((part, in_behind) for part in node.parts)
        for cut in cuts:
            parts = [p for part in parts for p in (part.intersection(cut), part.difference(cut)) if p]
            if len(parts) > MAX_CLASSES:
                raise TooManyStates(f"an assertion inside a repetition, with over {MAX_CLASSES} classes of characters")
        return parts

    def keep(self, node: Ast) -> Ast:
        self.kept.append(node)
        return node

    def push(self, node: Ast, then: int) -> int:
        """The continuation "node, then ``then``"."""
        key = (id(node), then)
        known = self.ids.get(key)
        if known is None:
            if len(self.nodes) >= MAX_CONTINUATIONS:
                raise TooManyStates(TOO_LARGE)
            self.ids[key] = known = len(self.nodes)
            self.nodes.append((node, then))
        return known

    def fewer(self, node: Repeat) -> Repeat:
        """The loop after one round."""
        high = None if node.maximum is None else node.maximum - 1
        key = (id(node.part), max(node.minimum - 1, 0), high)
        if key == (id(node.part), node.minimum, node.maximum):
            return node
        known = self.counted.get(key)
        if known is None:
            self.counted[key] = known = Repeat(node.part, key[1], high)
        return known

    # ---- one step of one continuation ----

    def step(self, at: int, char: int, before: int, behind: list[bool], busy: frozenset[int]) -> Formula:
        """What the string after the next character must satisfy, if ``at`` is what it must satisfy before it.

        ``busy`` holds the loops entered since the last character: a round that reads nothing adds nothing.
        """
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooManyStates(TOO_LARGE)
        if at < 0:
            return at == ANYTHING or (at == STOP and char == END_OF_TEXT)
        node, then = self.nodes[at]
        if isinstance(node, Chars):
            return self.after(then) if char != END_OF_TEXT and char in self.indices(node.charset) else False
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                then = self.push(part, then)
            return self.step(then, char, before, behind, busy)
        if isinstance(node, Alternation):
            ways = [self.step(self.push(part, then), char, before, behind, busy) for part in node.parts]
            return _junction("or", ways, False)
        if isinstance(node, Repeat):
            return self.step_repeat(node, at, then, char, before, behind, busy)
        if isinstance(node, Look) and not node.behind:
            seen = self.step(self.push(node.part, ANYTHING), char, before, behind, frozenset())
            rest = self.step(then, char, before, behind, busy)
            return _conjunction([_negation(seen) if node.negated else seen, rest])
        return self.holds(node, char, before, behind) and self.step(then, char, before, behind, busy)

    def step_repeat(
        self, node: Repeat, at: int, then: int, char: int, before: int, behind: list[bool], busy: frozenset[int]
    ) -> Formula:
        if at in busy:
            return False
        ways: list[Formula] = []
        if node.minimum == 0:
            ways.append(self.step(then, char, before, behind, busy))
        if node.maximum != 0:
            again = self.push(node.part, self.push(self.fewer(node), then))
            ways.append(self.step(again, char, before, behind, busy | {at} if node.minimum == 0 else busy))
        return _junction("or", ways, False)

    def after(self, then: int) -> Formula:
        return True if then == ANYTHING else then

    def holds(self, node: Ast, char: int, before: int, behind: list[bool]) -> bool:
        if isinstance(node, Begin):
            return before == START
        if isinstance(node, End):
            return char == END_OF_TEXT
        if isinstance(node, Boundary):
            return ((before == AFTER_WORD) != (char != END_OF_TEXT and self.words[char])) != node.negated
        assert isinstance(node, Look)
        return behind[self.behind_index[id(node)]] != node.negated

    def indices(self, cs: Charset) -> frozenset[int]:
        known = self.members.get(cs)
        if known is None:
            known = frozenset(i for i, part in enumerate(self.classes) if part.is_subset(cs))
            self.members[cs] = known
        return known

    def derive(self, formula: Formula, char: int, before: int, behind: list[bool], depth: int = 0) -> Formula:
        if depth > MAX_FORMULA_DEPTH:
            raise TooManyStates(TOO_LARGE)
        if isinstance(formula, bool):
            return formula
        if isinstance(formula, int):
            return self.step(formula, char, before, behind, frozenset())
        kind, parts = formula
        derived = [self.derive(part, char, before, behind, depth + 1) for part in parts]
        if kind == "not":
            return _negation(derived[0])
        return _junction(kind, derived, kind == "and")

    # ---- lookbehinds: what has been read ----

    def arrives(self, at: int, char: int, before: int, behind: list[bool], busy: frozenset[int]) -> bool:
        """Whether the continuation of a lookbehind body can end right here; ``char`` is the next character."""
        if at < 0:
            return at == ARRIVED
        node, then = self.nodes[at]
        if isinstance(node, Chars):
            return False
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                then = self.push(part, then)
            return self.arrives(then, char, before, behind, busy)
        if isinstance(node, Alternation):
            return any(self.arrives(self.push(p, then), char, before, behind, busy) for p in node.parts)
        if isinstance(node, Repeat):
            if at in busy:
                return False
            if node.minimum == 0 and self.arrives(then, char, before, behind, busy):
                return True
            again = self.push(node.part, self.push(self.fewer(node), then))
            return node.maximum != 0 and self.arrives(again, char, before, behind, busy | {at})
        return self.holds(node, char, before, behind) and self.arrives(then, char, before, behind, busy)

    def behind_values(self, under_way: tuple[frozenset[int], ...], char: int, before: int) -> list[bool]:
        values: list[bool] = []
        padded = [False] * len(self.behind)
        for i, running in enumerate(under_way):
            found = any(self.arrives(at, char, before, padded, frozenset()) for at in running)
            values.append(found)
            padded[i] = found
        return values

    def advance_behind(
        self, under_way: tuple[frozenset[int], ...], char: int, before: int, values: list[bool]
    ) -> tuple[frozenset[int], ...]:
        out = []
        for i, running in enumerate(under_way):
            following = {self.behind_starts[i]}
            for at in running:
                _gather(self.step(at, char, before, values, frozenset()), following)
            out.append(frozenset(following))
        return tuple(out)

    # ---- all states ----

    def explore(self) -> tuple[list[list[int]], list[bool]]:
        """For each state the next state by class, and whether it accepts. State 0 is the first."""
        start: State = (START, self.first, tuple(frozenset((s,)) for s in self.behind_starts))
        numbers = {start: 0}
        order = [start]
        edges: list[list[int]] = []
        accepting: list[bool] = []
        for before, formula, under_way in order:
            values = self.behind_values(under_way, END_OF_TEXT, before)
            accepting.append(self.derive(formula, END_OF_TEXT, before, values) is True)
            row = []
            for char in range(len(self.classes)):
                state = self.next_state(before, formula, under_way, char)
                if state not in numbers:
                    numbers[state] = len(order)
                    order.append(state)
                    if len(order) > MAX_STATES:
                        raise TooManyStates(TOO_LARGE)
                row.append(numbers[state])
            edges.append(row)
        return edges, accepting

    def next_state(self, before: int, formula: Formula, under_way: tuple[frozenset[int], ...], char: int) -> State:
        values = self.behind_values(under_way, char, before)
        after = self.derive(formula, char, before, values)
        if isinstance(after, bool):
            return (START, after, ())
        return (
            AFTER_WORD if self.words[char] else AFTER_OTHER,
            after,
            self.advance_behind(under_way, char, before, values),
        )


def _gather(formula: Formula, into: set[int]) -> None:
    """The continuations of a formula that is a disjunction (lookbehind bodies hold no lookahead)."""
    if isinstance(formula, bool):
        return
    if isinstance(formula, int):
        into.add(formula)
        return
    for part in formula[1]:
        _gather(part, into)


def _minimal(edges: list[list[int]], accepting: list[bool]) -> tuple[list[list[int]], list[bool]]:
    """The automaton with equivalent states merged (Moore's algorithm). State 0 stays the first."""
    block = [int(a) for a in accepting]
    count = len(set(block))
    while True:
        signatures: dict[tuple[int, ...], int] = {}
        refined = [
            signatures.setdefault((block[s], *[block[t] for t in row]), len(signatures)) for s, row in enumerate(edges)
        ]
        block = refined
        if len(signatures) == count:
            break
        count = len(signatures)
    # Blocks are numbered by first appearance, so state 0 is in block 0.
    merged: dict[int, tuple[list[int], bool]] = {}
    for state, row in enumerate(edges):
        merged.setdefault(block[state], ([block[t] for t in row], accepting[state]))
    return [merged[b][0] for b in range(count)], [merged[b][1] for b in range(count)]


#: What is left of a spelling: expressions one after another, and the state that follows its last byte.
Rest: TypeAlias = tuple[tuple[RegexId, ...], int]


class _Bytes:
    """Turns an automaton over classes of characters into one over bytes."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.numbers: dict[frozenset[Rest], int] = {}
        self.order: list[frozenset[Rest]] = []

    def number(self, rests: frozenset[Rest]) -> int:
        known = self.numbers.get(rests)
        if known is None:
            known = self.numbers[rests] = len(self.order)
            self.order.append(rests)
            if known >= MAX_BYTE_STATES:
                raise TooManyStates(TOO_LARGE)
        return known

    def language(
        self,
        spell: Callable[[Charset], RegexId],
        classes: list[Charset],
        edges: list[list[int]],
        accepting: list[bool],
    ) -> RegexId:
        """The spelled strings that the automaton accepts."""
        useful = _useful(edges, accepting)
        if 0 not in useful:
            return self.builder.empty
        spelled: dict[Charset, RegexId] = {}
        self.number(frozenset((((), 0),)))
        rows: list[dict[int, int]] = []
        final: list[int] = []
        for rests in self.order:  # grows while it is walked
            between = next((state for parts, state in rests if not parts), None)
            if between is not None:
                assert len(rests) == 1, "the spellings of characters are a prefix code"
                if accepting[between]:
                    final.append(len(rows))
                targets: dict[int, Charset] = {}
                for cs, target in zip(classes, edges[between], strict=True):
                    if target in useful:
                        targets[target] = targets.get(target, NONE).union(cs)
                for cs in targets.values():
                    if cs not in spelled:
                        spelled[cs] = spell(cs)
                rests = frozenset(((spelled[cs],), target) for target, cs in targets.items())
            rows.append(self.row(rests))
        return self.builder.automaton(rows, final)

    def row(self, rests: frozenset[Rest]) -> dict[int, int]:
        """Byte mask -> state."""
        pieces: list[tuple[int, frozenset[Rest]]] = []
        for parts, state in sorted(rests):
            for mask, after in self.firsts(parts):
                rest = frozenset(((after, state),))
                split: list[tuple[int, frozenset[Rest]]] = []
                for piece, others in pieces:
                    if piece & mask:
                        split.append((piece & mask, others | rest))
                    if piece & ~mask:
                        split.append((piece & ~mask, others))
                    mask &= ~piece
                pieces = [*split, (mask, rest)] if mask else split
        return {piece: self.number(after) for piece, after in pieces}

    def firsts(self, parts: tuple[RegexId, ...]) -> list[tuple[int, tuple[RegexId, ...]]]:
        """What the expressions may begin with, and what is left of them then."""
        head, tail = self.builder.regexes[parts[0]], parts[1:]
        if isinstance(head, ir.ByteClass):
            return [(head.mask, tail)] if head.mask else []
        if isinstance(head, ir.Concatenation):
            return self.firsts(head.parts + tail)
        if isinstance(head, ir.Alternation):
            return [first for part in head.parts for first in self.firsts((part, *tail))]
        if isinstance(head, ir.LiteralSet):
            lefts = [(text[0], (self.builder.literal(text[1:]),) if text[1:] else ()) for text in head.literals]
            return [(1 << byte, left + tail) for byte, left in lefts]
        assert isinstance(head, ir.Repetition), "a character is spelled without and, not, automata"
        assert head.minimum == head.maximum, "a character is spelled without loops"
        return self.firsts((head.part,) * head.minimum + tail)


def _useful(edges: list[list[int]], accepting: list[bool]) -> set[int]:
    """The states from which an accepting one can be reached."""
    before: list[set[int]] = [set() for _ in edges]
    for source, row in enumerate(edges):
        for target in row:
            before[target].add(source)
    found = {s for s, a in enumerate(accepting) if a}
    stack = list(found)
    while stack:
        for source in before[stack.pop()]:
            if source not in found:
                found.add(source)
                stack.append(source)
    return found
