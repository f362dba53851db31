"""Objects and arrays: what may come next, and whether the container can still be closed.

A *state* (``ObjectState``, ``ArrayState``) is all that the future of a container depends on, apart from the texts of
the pattern keys that are used up, and from the values of items that must be distinct (see ``values``). The rules of a
container make the next state, and search the states ahead exhaustively for one that may close, over entries that the
alphabet can spell and values that are not empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from grammar_decode.ir import nodes as ir
from grammar_decode.reference import formula as fm
from grammar_decode.reference.regex import Expression, Regexes


@dataclass(frozen=True, slots=True)
class ObjectState:
    """An object between two members."""

    formula: fm.Formula
    names: frozenset[ir.ClassId]  # may still appear
    missing: frozenset[ir.ClassId]  # required, and not read yet
    left: tuple[int | None, ...]  # for each pattern, the number of unused keys over the alphabet (None: infinite)
    needed: int  # members that must still come
    allowed: int | None  # members that may still come


@dataclass(frozen=True, slots=True)
class ArrayState:
    """An array between two items."""

    formula: fm.Formula
    cls: ir.ClassId  # of the next item
    needed: int
    allowed: int | None


S = TypeVar("S", ObjectState, ArrayState)


class Rules(ABC, Generic[S]):
    """What objects and arrays have in common. ``nonempty`` are the nodes with a value that the alphabet can spell."""

    brackets: bytes
    initial: S

    def __init__(
        self, node: ir.Members | ir.Elements, regexes: Regexes, nonempty: frozenset[ir.NodeId], spacing: ir.Spacing
    ) -> None:
        self.regexes = regexes
        self.picks = [[pick for pick in picks if pick.node in nonempty] for picks in node.values]
        for cls, name in enumerate(node.names if isinstance(node, ir.Members) else ()):
            if not regexes.spells(name):
                self.picks[cls] = []  # as if the name had no value
        never = frozenset(cls for cls, picks in enumerate(self.picks) if not picks)
        self.first_formula = fm.without_classes(fm.from_ir(node.formula, node.claims), never)
        self.separator_spelled = regexes.spells(spacing.item_separator)
        self.bracket_spelled = [regexes.spells(self.brackets[i : i + 1]) for i in (0, 1)]
        self._finishable: dict[S, bool] = {}

    @abstractmethod
    def complete(self, state: S) -> bool:
        """Whether the closing bracket may come now."""

    @abstractmethod
    def next_classes(self, state: S) -> Iterator[ir.ClassId]:
        """The classes that the alphabet can spell the next entry of."""

    def useful_classes(self, state: S) -> Iterator[ir.ClassId]:
        """The next classes, less those whose entries bring the container no closer to its end."""
        return self.next_classes(state)

    @abstractmethod
    def hopeless(self, state: S) -> bool:
        """True only if the container can't be closed; a quick test that ends a search early."""

    @abstractmethod
    def after(self, state: S, cls: ir.ClassId, picked: fm.ClaimSet, spelled: bool = True) -> S:
        """The state after an entry. ``spelled``: its key is one of those that ``left`` counts."""

    def successors(self, state: S, cls: ir.ClassId, spelled: bool = True) -> Iterator[tuple[ir.NodeId, S]]:
        """Every way to read an entry of ``cls``: the node of its value, and the state after it."""
        if state.allowed == 0:
            return
        projection = fm.project(state.formula, cls)
        for pick in self.picks[cls]:
            picked = frozenset(pick.claims)
            if picked in projection:
                yield pick.node, self.after(state, cls, picked, spelled)

    def live_successors(self, state: S, cls: ir.ClassId, spelled: bool = True) -> list[tuple[ir.NodeId, S]]:
        """Those successors from which the container can still be closed."""
        return [(node, after) for node, after in self.successors(state, cls, spelled) if self.can_finish(after)]

    def can_start(self) -> bool:
        """Whether the alphabet can spell the container at all."""
        return self.bracket_spelled[0] and self.can_close_or_continue(self.initial)

    def can_close_or_continue(self, state: S) -> bool:
        """Right after the opening bracket: whether the container can still be closed."""
        return self.can_close(state) or self.can_continue(state)

    def can_continue(self, state: S) -> bool:
        """Whether the container can still be closed when an entry must come next (no separator before it)."""
        return any(self.live_successors(state, cls) for cls in self.next_classes(state))

    def can_finish(self, state: S) -> bool:
        """After an entry: whether the container can still be closed."""
        known = self._finishable.get(state)
        if known is None:
            known = self._finishable[state] = self._search_end(state)
        return known

    def can_close(self, state: S) -> bool:
        """Whether the closing bracket may come now, and the alphabet has it."""
        return self.bracket_spelled[1] and self.complete(state)

    def _search_end(self, start: S) -> bool:
        seen = {start}
        stack = [start]
        while stack:
            state = stack.pop()
            if self.can_close(state):
                return True
            for after in self._worth_trying(state):
                if after not in seen:
                    seen.add(after)
                    stack.append(after)
        self._finishable.update(dict.fromkeys(seen, False))
        return False

    def _worth_trying(self, state: S) -> Iterator[S]:
        if not self.separator_spelled or self.hopeless(state):
            return
        for cls in self.useful_classes(state):
            for _, after in self.successors(state, cls):
                yield after


def _one_less(count: int | None) -> int | None:
    return None if count is None else count - 1


class ObjectRules(Rules[ObjectState]):
    """A ``Members`` node."""

    brackets = b"{}"

    def __init__(
        self,
        node: ir.Members,
        expressions: tuple[Expression, ...],
        regexes: Regexes,
        nonempty: frozenset[ir.NodeId],
        spacing: ir.Spacing,
    ) -> None:
        super().__init__(node, regexes, nonempty, spacing)
        self.node = node
        self.colon_spelled = regexes.spells(spacing.key_separator)
        self.entry_spelled = regexes.spells(b'"') and self.colon_spelled
        # A key that equals a name is never a pattern key, whether or not the name can appear.
        self.patterns = [regexes.without(expressions[pattern], node.names) for pattern in node.patterns]
        self.initial = ObjectState(
            formula=self.first_formula,
            names=frozenset(cls for cls in range(len(node.names)) if self.picks[cls]),
            missing=frozenset(node.required),
            left=tuple(regexes.size(pattern) for pattern in self.patterns),
            needed=node.min_count,
            allowed=node.max_count,
        )

    def complete(self, state: ObjectState) -> bool:
        return not state.needed and not state.missing and fm.at_end(state.formula)

    def next_classes(self, state: ObjectState) -> Iterator[ir.ClassId]:
        if not self.entry_spelled:
            return
        yield from sorted(state.names, key=lambda cls: cls in state.missing)
        for index, left in enumerate(state.left):
            if left != 0:
                yield len(self.node.names) + index

    def useful_classes(self, state: ObjectState) -> Iterator[ir.ClassId]:
        """An entry that is neither required, nor counted, nor spoken of can be left out of any document."""
        all_count = state.needed > 0 or fm.wants_entries(state.formula)
        for cls in self.next_classes(state):
            if all_count or cls in state.missing or fm.speaks_of(state.formula, cls):
                yield cls

    def hopeless(self, state: ObjectState) -> bool:
        if state.formula is False or not state.missing <= state.names:
            return True
        if state.allowed is not None and max(state.needed, len(state.missing)) > state.allowed:
            return True
        available = len(state.names) + sum(left or 0 for left in state.left)
        return None not in state.left and available < state.needed

    def after(self, state: ObjectState, cls: ir.ClassId, picked: fm.ClaimSet, spelled: bool = True) -> ObjectState:
        names = self._names_after(state.names, cls)
        formula = fm.after_entry(state.formula, cls, picked)
        left = list(state.left)
        if cls >= len(self.node.names) and spelled:
            left[cls - len(self.node.names)] = _one_less(left[cls - len(self.node.names)])
        return ObjectState(
            formula=fm.without_classes(formula, state.names - names),
            names=names,
            missing=state.missing - {cls},
            left=tuple(left),
            needed=max(state.needed - 1, 0),
            allowed=_one_less(state.allowed),
        )

    def _names_after(self, names: frozenset[ir.ClassId], cls: ir.ClassId) -> frozenset[ir.ClassId]:
        """Ranked names come in increasing rank, and before everything else."""
        ranks = self.node.ranks
        rank = ranks[cls] if cls < len(ranks) else None
        unranked = frozenset(c for c in names if ranks[c] is None and c != cls)
        if rank is None:
            return unranked
        return unranked | {c for c in names if (other := ranks[c]) is not None and other > rank}


class ArrayRules(Rules[ArrayState]):
    """An ``Elements`` node."""

    brackets = b"[]"

    def __init__(
        self, node: ir.Elements, regexes: Regexes, nonempty: frozenset[ir.NodeId], spacing: ir.Spacing
    ) -> None:
        super().__init__(node, regexes, nonempty, spacing)
        self.node = node
        self.initial = ArrayState(self.first_formula, 0, node.min_count, node.max_count)

    def complete(self, state: ArrayState) -> bool:
        return not state.needed and fm.at_end(state.formula)

    def next_classes(self, state: ArrayState) -> Iterator[ir.ClassId]:
        yield state.cls

    def hopeless(self, state: ArrayState) -> bool:
        return state.formula is False or (state.allowed is not None and state.needed > state.allowed)

    def after(self, state: ArrayState, cls: ir.ClassId, picked: fm.ClaimSet, spelled: bool = True) -> ArrayState:
        assert spelled, "items have no keys"
        passed = frozenset((cls,)) if cls < self.node.prefix else frozenset()
        return ArrayState(
            formula=fm.without_classes(fm.after_entry(state.formula, cls, picked), passed),
            cls=min(cls + 1, self.node.prefix),
            needed=max(state.needed - 1, 0),
            allowed=_one_less(state.allowed),
        )


class RuleBook:
    """The rules of every container of a grammar, made when they are asked for."""

    def __init__(
        self,
        grammar: ir.Grammar,
        expressions: tuple[Expression, ...],
        regexes: Regexes,
        nonempty: frozenset[ir.NodeId],
    ) -> None:
        self.grammar = grammar
        self.expressions = expressions
        self.regexes = regexes
        self.nonempty = nonempty
        self._objects: dict[ir.NodeId, ObjectRules] = {}
        self._arrays: dict[ir.NodeId, ArrayRules] = {}

    def of_object(self, node_id: ir.NodeId) -> ObjectRules:
        """The rules of a ``Members`` node."""
        rules = self._objects.get(node_id)
        if rules is None:
            node = self.grammar.nodes[node_id]
            assert isinstance(node, ir.Members)
            rules = ObjectRules(node, self.expressions, self.regexes, self.nonempty, self.grammar.spacing)
            self._objects[node_id] = rules
        return rules

    def of_array(self, node_id: ir.NodeId) -> ArrayRules:
        """The rules of an ``Elements`` node."""
        rules = self._arrays.get(node_id)
        if rules is None:
            node = self.grammar.nodes[node_id]
            assert isinstance(node, ir.Elements)
            rules = ArrayRules(node, self.regexes, self.nonempty, self.grammar.spacing)
            self._arrays[node_id] = rules
        return rules
