"""The order in which an object's declared names are written, where alternatives declare them in different orders.

One `Members` node has one order. Where the alternatives of an or agree (some order extends all of theirs), it is the
common one; where they contradict each other, the formula is split into several, one for each group that agrees. That
keeps the language: a formula is the or of what it becomes with an or inside it cut down to part of its branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from grammar_decode.json_schema.claims import Order
from grammar_decode.json_schema.formula import And, Formula, Formulas, Or

#: Nodes that one object may be split into; beyond that one order is kept and the report says so.
MOST_VARIANTS = 64
#: Parts of a formula looked at for the orders of one object; beyond that the first order found is kept.
MOST_STEPS = 50_000

Names = tuple[str, ...]


class Orders:
    """The orders in the formulas of one compilation."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas
        self._has_order: dict[Formula, bool] = {}
        self._steps = 0

    def variants(self, formula: Formula) -> tuple[list[Formula], bool]:
        """Formulas whose or is the given one, each led by one Order of all names; and whether every order is kept."""
        if not self._splits(formula):
            return [formula], True
        done: list[Formula] = []
        waiting = [formula]
        kept = True
        self._steps = 0
        while waiting:
            current = waiting.pop()
            chains = self._chains(current)
            order = merged(chains)
            if order is None and len(done) + len(waiting) < MOST_VARIANTS and self._steps <= MOST_STEPS:
                parts = self._split(current)
                if parts is not None:
                    waiting.extend(reversed(parts))
                    continue
            if order is None or self._steps > MOST_STEPS:
                kept = False
                order = tuple(dict.fromkeys(name for chain in chains for name in chain))
            lead = self.formulas.claim(Order(order))
            done.append(self.formulas.conjunction([lead, current]))
        return done, kept

    def _splits(self, formula: Formula) -> bool:
        """Whether an or has an order inside."""
        records = self.formulas.records
        return any(isinstance(records[part], Or) and self._ordered(part) for part in self.formulas.conjuncts(formula))

    def _ordered(self, formula: Formula) -> bool:
        known = self._has_order.get(formula)
        if known is None:
            record = self.formulas.records[formula]
            if isinstance(record, (And, Or)):
                known = any(self._ordered(part) for part in record.parts)
            else:
                known = isinstance(record, Order)
            self._has_order[formula] = known
        return known

    def _chains(self, formula: Formula) -> list[Names]:
        """The orders that a formula asks for: for each way through its ors, names by first appearance."""
        found: dict[Names, None] = {}
        last = self._walk(formula, (), found)
        found.setdefault(last)
        return [chain for chain in found if len(chain) > 1] or list(found)

    def _walk(self, formula: Formula, before: Names, found: dict[Names, None]) -> Names:
        self._steps += 1
        if self._steps > MOST_STEPS:
            return before
        record = self.formulas.records[formula]
        if isinstance(record, Order):
            return tuple(dict.fromkeys(before + record.names))
        if isinstance(record, And) and self._ordered(formula):
            for part in record.parts:
                before = self._walk(part, before, found)
        elif isinstance(record, Or) and self._ordered(formula):
            ends = [self._walk(part, before, found) for part in record.parts]
            found.update(dict.fromkeys(ends))
            before = tuple(dict.fromkeys(name for end in (before, *ends) for name in end))
        return before

    def _split(self, formula: Formula) -> list[Formula] | None:
        """The formula as several, by an or whose branches contradict each other; None if there is none."""
        for choice in self._choices(formula):
            groups = self._groups(self.formulas.branches(choice))
            if len(groups) > 1:
                return [self._with(formula, choice, self.formulas.disjunction(group)) for group in groups]
        for choice in self._choices(formula):
            return [self._with(formula, choice, branch) for branch in self.formulas.branches(choice)]
        return None

    def _choices(self, formula: Formula) -> list[Formula]:
        """The ors with orders in them, outer ones first."""
        found: dict[Formula, None] = {}
        stack = [formula]
        while stack:
            current = stack.pop()
            record = self.formulas.records[current]
            if current not in found and isinstance(record, (And, Or)) and self._ordered(current):
                if isinstance(record, Or):
                    found[current] = None
                stack.extend(reversed(record.parts))
        return list(found)

    def _groups(self, branches: Sequence[Formula]) -> list[list[Formula]]:
        """Branches that agree, together."""
        groups: list[tuple[list[Formula], list[Names]]] = []
        for branch in branches:
            chains = self._chains(branch)
            for members, known in groups:
                if merged([*known, *chains]) is not None:
                    members.append(branch)
                    known += chains
                    break
            else:
                groups.append(([branch], list(chains)))
        return [members for members, _ in groups]

    def _with(self, formula: Formula, old: Formula, new: Formula) -> Formula:
        if formula == old:
            return new
        record = self.formulas.records[formula]
        if isinstance(record, And):
            return self.formulas.conjunction([self._with(part, old, new) for part in record.parts])
        if isinstance(record, Or):
            return self.formulas.disjunction([self._with(part, old, new) for part in record.parts])
        return formula


def merged(chains: Iterable[Names]) -> Names | None:
    """One order that keeps all of the chains, first come first where it is free; None if they contradict each other."""
    chains = list(chains)
    names = dict.fromkeys(name for chain in chains for name in chain)
    following: dict[str, set[str]] = {name: set() for name in names}
    before = dict.fromkeys(names, 0)
    for chain in chains:
        for one, other in pairwise(chain):
            if other not in following[one]:
                following[one].add(other)
                before[other] += 1
    done: list[str] = []
    waiting = list(names)
    while waiting:
        ready = next((name for name in waiting if not before[name]), None)
        if ready is None:
            return None
        waiting.remove(ready)
        done.append(ready)
        for name in following[ready]:
            before[name] -= 1
    return tuple(done)
