"""Constructors that keep regular expressions in normal form and share equal ones (hash-consing).

One :class:`Builder` makes one grammar. Every method returns an id; equal arguments give equal ids. The rewrites used
here (flattening, neutral elements, merging byte classes) keep the language and are the cheap ones only: whatever
needs an automaton is left to the engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from grammar_decode.ir.nodes import (
    Alternation,
    Automaton,
    ByteClass,
    Chain,
    Choice,
    Complement,
    Concatenation,
    Grammar,
    Intersection,
    LiteralSet,
    Members,
    Node,
    NodeId,
    Pick,
    Regex,
    RegexId,
    Repetition,
    Spacing,
    Terminal,
)

ALL_BYTES = (1 << 256) - 1
_EVERY = 0xFF  # each 256th is told to `watch`


class Watch(Protocol):
    """Who bounds the work of a builder."""

    def regexes(self, count: int) -> None:
        """The builder has so many regular expressions."""

    def tick(self, steps: int) -> None:
        """So many steps, of about a microsecond, come next."""


class Builder:
    """Tables under construction. Not shared between threads.

    Values are made with :meth:`reserve` and :meth:`define`, so that a node can refer to itself. A builder that is made
    ``like`` another one begins with its regular expressions, under the same ids.
    """

    def __init__(self, spacing: Spacing | None = None, like: Builder | None = None) -> None:
        self.spacing = spacing or Spacing()
        #: Told of the work that is done; may raise where it is too much.
        self.watch: Watch | None = None
        self.regexes: list[Regex] = like.regexes.copy() if like else []
        # By their contents, the frequent kinds apart: a node is made, and hashed, only where it is new.
        self._byte_classes: dict[int, RegexId] = like._byte_classes.copy() if like else {}
        self._concatenations: dict[tuple[RegexId, ...], RegexId] = like._concatenations.copy() if like else {}
        self._alternations: dict[tuple[RegexId, ...], RegexId] = like._alternations.copy() if like else {}
        self._repetitions: dict[tuple[RegexId, int, int | None], RegexId] = like._repetitions.copy() if like else {}
        self._others: dict[Regex, RegexId] = like._others.copy() if like else {}
        self.nodes: list[Node | None] = []
        self.origins: list[str] = []
        self._terminal_ids: dict[RegexId, NodeId] = {}
        self.empty: RegexId = self.byte_class(0)  # no string at all
        self.epsilon: RegexId = self._concatenation(())  # the empty string
        self.any_bytes: RegexId = self.repeat(self.byte_class(ALL_BYTES), 0, None)  # every string

    def _new(self, regex: Regex) -> RegexId:
        self.regexes.append(regex)
        count = len(self.regexes)
        if not count & _EVERY and self.watch is not None:
            self.watch.regexes(count)
        return count - 1

    def _other(self, regex: Intersection | Complement | LiteralSet | Automaton) -> RegexId:
        known = self._others.get(regex)
        if known is None:
            known = self._others[regex] = self._new(regex)
        return known

    def _concatenation(self, parts: tuple[RegexId, ...]) -> RegexId:
        known = self._concatenations.get(parts)
        if known is None:
            known = self._concatenations[parts] = self._new(Concatenation(parts))
        return known

    def _alternation(self, parts: tuple[RegexId, ...]) -> RegexId:
        known = self._alternations.get(parts)
        if known is None:
            known = self._alternations[parts] = self._new(Alternation(parts))
        return known

    def _repetition(self, part: RegexId, minimum: int, maximum: int | None) -> RegexId:
        key = (part, minimum, maximum)
        known = self._repetitions.get(key)
        if known is None:
            known = self._repetitions[key] = self._new(Repetition(part, minimum, maximum))
        return known

    # ---- regular expressions ----

    def byte_class(self, mask: int) -> RegexId:
        """One byte out of ``mask`` (bit b = byte b)."""
        known = self._byte_classes.get(mask)
        if known is None:
            known = self._byte_classes[mask] = self._new(ByteClass(mask))
        return known

    def byte_range(self, first: int, last: int) -> RegexId:
        """One byte out of ``first .. last``, both included."""
        return self.byte_class(((1 << (last - first + 1)) - 1) << first)

    def literal(self, text: bytes) -> RegexId:
        """Exactly ``text``."""
        return self.literals((text,))

    def literals(self, texts: Iterable[bytes]) -> RegexId:
        """One of ``texts`` (any order, repeats allowed); no text is the empty language."""
        unique = tuple(sorted(set(texts)))
        if not unique:
            return self.empty
        if unique == (b"",):
            return self.epsilon
        if all(len(t) == 1 for t in unique):
            mask = 0
            for t in unique:
                mask |= 1 << t[0]
            return self.byte_class(mask)
        return self._other(LiteralSet(unique))

    def concat(self, *parts: RegexId) -> RegexId:
        """The parts one after another."""
        flat: list[RegexId] = []
        for part in parts:
            if part == self.empty:
                return self.empty
            node = self.regexes[part]
            if isinstance(node, Concatenation):
                flat.extend(node.parts)
            else:
                flat.append(part)
        if len(flat) == 1:
            return flat[0]
        return self._concatenation(tuple(flat))

    def alternate(self, *parts: RegexId) -> RegexId:
        """The union of the parts."""
        flat: set[RegexId] = set()
        mask = 0
        stack = list(parts)
        while stack:
            part = stack.pop()
            node = self.regexes[part]
            if isinstance(node, Alternation):
                stack.extend(node.parts)
            elif isinstance(node, ByteClass):
                mask |= node.mask
            else:
                flat.add(part)
        if mask:
            flat.add(self.byte_class(mask))
        if not flat:
            return self.empty
        if self.any_bytes in flat:
            return self.any_bytes
        if len(flat) == 1:
            return flat.pop()
        return self._alternation(tuple(sorted(flat)))

    def optional(self, part: RegexId) -> RegexId:
        """``part`` or nothing."""
        return self.repeat(part, 0, 1)

    def repeat(self, part: RegexId, minimum: int, maximum: int | None) -> RegexId:
        """``part`` at least ``minimum`` and at most ``maximum`` times (None: any number)."""
        if maximum == 0:
            return self.epsilon
        if part == self.empty:
            return self.epsilon if minimum == 0 else self.empty
        if part == self.epsilon:
            return self.epsilon
        if minimum == 1 and maximum == 1:
            return part
        if maximum is None and minimum <= 1:
            node = self.regexes[part]
            if isinstance(node, Repetition) and node.maximum is None and node.minimum <= 1:
                return self.repeat(node.part, min(minimum, node.minimum), None)
        return self._repetition(part, minimum, maximum)

    def intersect(self, *parts: RegexId) -> RegexId:
        """The strings that every part matches; no part is every string."""
        flat: set[RegexId] = set()
        stack = list(parts)
        while stack:
            part = stack.pop()
            node = self.regexes[part]
            if isinstance(node, Intersection):
                stack.extend(node.parts)
            elif part == self.empty:
                return self.empty
            elif part != self.any_bytes:
                flat.add(part)
        if not flat:
            return self.any_bytes
        if len(flat) == 1:
            return flat.pop()
        return self._other(Intersection(tuple(sorted(flat))))

    def complement(self, part: RegexId) -> RegexId:
        """Every byte string that ``part`` does not match."""
        if part == self.empty:
            return self.any_bytes
        if part == self.any_bytes:
            return self.empty
        node = self.regexes[part]
        if isinstance(node, Complement):
            return node.part
        return self._other(Complement(part))

    def automaton(self, transitions: Sequence[Mapping[int, int]], accepting: Iterable[int]) -> RegexId:
        """A deterministic automaton that starts in state 0: ``transitions[s]`` maps byte masks to target states.

        States that are not reached, or from which no accepting state is reached, are dropped here. For languages whose
        expression would be far larger; everything else is better off as an expression, whose states the engines share.
        """
        final = set(accepting)
        if self.watch is not None:
            self.watch.tick(8 * len(transitions))
        before: list[list[int]] = [[] for _ in transitions]
        for state, row in enumerate(transitions):
            for target in row.values():
                before[target].append(state)
        live = set(final)
        work = list(final)
        while work:
            for state in before[work.pop()]:
                if state not in live:
                    live.add(state)
                    work.append(state)
        if 0 not in live:
            return self.empty
        numbers = {0: 0}
        order = [0]
        rows: list[tuple[tuple[int, int], ...]] = []
        for state in order:  # grows while it is walked
            row_of: dict[int, int] = {}
            for mask, target in transitions[state].items():
                if target not in live or mask == 0:
                    continue
                if target not in numbers:
                    numbers[target] = len(order)
                    order.append(target)
                row_of[numbers[target]] = row_of.get(numbers[target], 0) | mask
            rows.append(tuple((mask, target) for target, mask in row_of.items()))
        return self._other(Automaton(tuple(rows), tuple(state in final for state in order)))

    def whole_automaton(self, transitions: Sequence[Iterable[tuple[int, int]]], accepting: Sequence[bool]) -> RegexId:
        """The same where every state is reached and leads to an accepting one, and need not be looked through.

        ``transitions[s]``: disjoint byte masks with targets.
        """
        if self.watch is not None:
            self.watch.tick(2 * len(transitions))
        return self._new(Automaton(tuple(map(tuple, transitions)), tuple(accepting)))

    # ---- from one builder to another ----

    def take(self, root: RegexId) -> tuple[Regex, ...]:
        """The expression by itself: its nodes, children first, the root last; ids are places in the tuple.

        For :meth:`put`: what many grammars need is built once in a process, and copied.
        """
        needed = {root}
        for regex in range(root, -1, -1):
            if regex in needed:
                needed.update(_children(self.regexes[regex]))
        order = sorted(needed)
        places = {regex: i for i, regex in enumerate(order)}
        return tuple(_with_children(self.regexes[regex], places) for regex in order)

    def put(self, nodes: tuple[Regex, ...]) -> RegexId:
        """A copy of what :meth:`take` took out of another builder; about half a microsecond a node."""
        return self._put_all(nodes)[-1]

    def _put_all(self, nodes: Iterable[Regex]) -> list[RegexId]:
        """The new id of each; children come first."""
        ids: list[RegexId] = []
        for node in nodes:
            if isinstance(node, ByteClass):
                new = self.byte_class(node.mask)
            elif isinstance(node, Concatenation):
                new = self._concatenation(tuple([ids[part] for part in node.parts]))
            elif isinstance(node, Alternation):
                new = self._alternation(tuple(sorted([ids[part] for part in node.parts])))
            elif isinstance(node, Repetition):
                new = self._repetition(ids[node.part], node.minimum, node.maximum)
            elif isinstance(node, Intersection):
                new = self._other(Intersection(tuple(sorted([ids[part] for part in node.parts]))))
            elif isinstance(node, Complement):
                new = self._other(Complement(ids[node.part]))
            else:
                new = self._other(node)
            ids.append(new)
        return ids

    # ---- values ----

    def reserve(self, origin: str = "") -> NodeId:
        """An id for a node that :meth:`define` fills in later."""
        self.nodes.append(None)
        self.origins.append(origin)
        return len(self.nodes) - 1

    def define(self, node_id: NodeId, node: Node) -> None:
        """Fill in a reserved node; once."""
        assert self.nodes[node_id] is None, f"node {node_id} is defined already"
        self.nodes[node_id] = node

    def add(self, node: Node, origin: str = "") -> NodeId:
        """Reserve and define in one go; equal terminals share a node."""
        if isinstance(node, Terminal):
            known = self._terminal_ids.get(node.regex)
            if known is not None:
                return known
            self._terminal_ids[node.regex] = len(self.nodes)
        self.nodes.append(node)
        self.origins.append(origin)
        return len(self.nodes) - 1

    def include(self, grammar: Grammar, prefix: str = "") -> NodeId:
        """A copy of all of another grammar's nodes; its root. ``prefix`` stands before their origins."""
        regexes = self._put_all(grammar.regexes)
        first = len(self.nodes)
        self.nodes.extend(_moved(node, regexes, first) for node in grammar.nodes)
        self.origins.extend(prefix + origin.removeprefix("#") if origin else "" for origin in grammar.origins)
        return first + grammar.root

    def grammar(self, root: NodeId) -> Grammar:
        """The finished tables. Every reserved node must be defined."""
        nodes: list[Node] = []
        for index, node in enumerate(self.nodes):
            assert node is not None, f"node {index} ({self.origins[index]}) was reserved and never defined"
            nodes.append(node)
        return Grammar(tuple(self.regexes), tuple(nodes), root, self.spacing, tuple(self.origins))


def _moved(node: Node, regexes: Sequence[RegexId], first: NodeId) -> Node:
    """The node over other ids: expressions by a table, nodes by the place of the first one."""
    if isinstance(node, Terminal):
        return Terminal(regexes[node.regex])
    if isinstance(node, (Choice, Chain)):
        return type(node)(tuple(first + child for child in node.nodes))
    values = tuple(tuple(Pick(pick.claims, first + pick.node) for pick in picks) for picks in node.values)
    if isinstance(node, Members):
        return replace(node, values=values, patterns=tuple(regexes[pattern] for pattern in node.patterns))
    return replace(node, values=values)


def _children(node: Regex) -> tuple[RegexId, ...]:
    if isinstance(node, (Concatenation, Alternation, Intersection)):
        return node.parts
    if isinstance(node, (Repetition, Complement)):
        return (node.part,)
    return ()


def _with_children(node: Regex, ids: Mapping[RegexId, RegexId]) -> Regex:
    """The node over other ids. Different ones stay different, so only the order of a union or intersection changes."""
    if isinstance(node, (ByteClass, LiteralSet, Automaton)):
        return node
    if isinstance(node, Concatenation):
        return Concatenation(tuple([ids[part] for part in node.parts]))
    if isinstance(node, (Alternation, Intersection)):
        return type(node)(tuple(sorted([ids[part] for part in node.parts])))
    if isinstance(node, Repetition):
        return Repetition(ids[node.part], node.minimum, node.maximum)
    return Complement(ids[node.part])
