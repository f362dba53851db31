"""What objects and arrays have in common: the conditional part of a formula becomes claims and picks of the IR.

The unconditional part (the conjuncts that are single claims) is folded away before: into the value of each class, the
required names and the counts. What is left here is a formula that still has an or in it, or counts values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from grammar_decode.errors import SchemaTooComplex
from grammar_decode.ir import nodes as ir
from grammar_decode.json_schema.claims import Conjunction, Literal
from grammar_decode.json_schema.formula import FALSE, TRUE, And, Formula, Formulas, Or
from grammar_decode.limits import Limits

#: Gives the node of a value, or None for an empty one.
NodeOf: TypeAlias = Callable[[Conjunction], "ir.NodeId | None"]
ClaimSet = frozenset[ir.ClaimId]
_Ways: TypeAlias = dict[Formula, list[tuple[int, Formula]]]
_NOTHING_PICKED: ClaimSet = frozenset()
_ANY_WAY = (_NOTHING_PICKED,)


class OnlyPicks:
    """For each node the picks of a class whose values are read in one way, made once."""

    def __init__(self) -> None:
        self._made: dict[ir.NodeId | None, tuple[ir.Pick, ...]] = {None: ()}

    def __call__(self, node: ir.NodeId | None) -> tuple[ir.Pick, ...]:
        known = self._made.get(node)
        if known is None:
            assert node is not None
            known = self._made[node] = (ir.Pick((), node),)
        return known


@dataclass(slots=True)
class IrClaim:
    """A claim in the words of the IR, and the literal of the values that it speaks of (None: it counts entries)."""

    claim: ir.Claim
    literal: Literal | None


class Conditions:
    """A formula over claims that are translated already; makes the picks of one class after another.

    ``translate`` is asked once for each claim of the formula. ``nothing`` says that no value satisfies a conjunction.
    """

    def __init__(
        self,
        formulas: Formulas,
        formula: Formula,
        translate: Callable[[Formula], IrClaim],
        nothing: Callable[[Conjunction], bool],
        limits: Limits,
        location: str,
    ) -> None:
        self.formulas = formulas
        self.nothing = nothing
        self.limits = limits
        self.location = location
        self.claims: list[IrClaim] = []
        self._ids: dict[Formula, ir.ClaimId] = {}
        self._around: dict[Formula, list[tuple[Formula, int]]] = {}  # by part: the connectives, and its place there
        if formulas.size(formula) > limits.max_formula:
            raise SchemaTooComplex(
                f"the alternatives of one value need more than {limits.max_formula} claims and connectives",
                limit="max_formula",
                location=location,
            )
        self.formula = self._converted(formula, translate, {})
        self._root = formula
        self._of_class: dict[ir.ClassId, list[Formula]] = {}
        for claim, known in zip(self._ids, self.claims, strict=True):
            if isinstance(known.claim, (ir.Member, ir.Some, ir.Most)):
                for cls in known.claim.classes:
                    self._of_class.setdefault(cls, []).append(claim)

    def _converted(
        self, formula: Formula, translate: Callable[[Formula], IrClaim], memo: dict[Formula, ir.Formula]
    ) -> ir.Formula:
        if formula <= TRUE:
            return formula == TRUE
        known = memo.get(formula)
        if known is not None:
            return known
        record = self.formulas.records[formula]
        result: ir.Formula
        if isinstance(record, (And, Or)):
            for place, part in enumerate(record.parts):
                self._around.setdefault(part, []).append((formula, place))
            parts = tuple([self._converted(part, translate, memo) for part in record.parts])
            result = ir.And(parts) if isinstance(record, And) else ir.Or(parts)
        else:
            result = self._ids[formula] = len(self.claims)
            self.claims.append(translate(formula))
        memo[formula] = result
        return result

    # ---- picks ----

    def picks(self, cls: ir.ClassId, base: Conjunction, node: NodeOf) -> tuple[ir.Pick, ...]:
        """The ways to read a value of the class; none where no value satisfies what always holds."""
        speaking = self._of_class.get(cls)
        if speaking is None:
            always = node(base)
            return () if always is None else (ir.Pick((), always),)
        picks = []
        for claim_set in self._project(self._root, self._ways_to(speaking), base, {}):
            value = node(self._values(base, claim_set))
            if value is not None:
                picks.append(ir.Pick(tuple(sorted(claim_set)), value))
        return tuple(picks)

    def _ways_to(self, claims: Iterable[Formula]) -> _Ways:
        """The connectives with one of the claims inside: of each, the parts that have or are one, by their place."""
        ways: _Ways = {}
        waiting = list(claims)
        while waiting:
            part = waiting.pop()
            for connective, place in self._around.get(part, ()):
                parts = ways.get(connective)
                if parts is None:
                    parts = ways[connective] = []
                    waiting.append(connective)
                parts.append((place, part))
        for parts in ways.values():
            parts.sort()
        return ways

    def _values(self, base: Conjunction, claim_set: Iterable[ir.ClaimId]) -> Conjunction:
        literals = set(base)
        for i in claim_set:
            literal = self.claims[i].literal
            assert literal is not None
            literals.add(literal)
        return frozenset(literals)

    def _project(
        self, formula: Formula, ways: _Ways, base: Conjunction, memo: dict[Formula, tuple[ClaimSet, ...]]
    ) -> tuple[ClaimSet, ...]:
        """The claim sets that a formula leaves for one entry; sets that no value satisfies are not made."""
        known = memo.get(formula)
        if known is not None:
            return known
        record = self.formulas.records[formula]
        if isinstance(record, Or):
            found: dict[ClaimSet, None] = {}
            next_place = 0
            for place, part in ways[formula]:
                if place != next_place:
                    found[_NOTHING_PICKED] = None  # by a part in between
                found.update(dict.fromkeys(self._project(part, ways, base, memo)))
                next_place = place + 1
            if next_place != len(record.parts):
                found[_NOTHING_PICKED] = None
            result = tuple(found)
        elif isinstance(record, And):
            result = _ANY_WAY
            for _, part in ways[formula]:
                more = self._project(part, ways, base, memo)
                if more != _ANY_WAY:
                    result = self._both(result, more, base)
        else:
            index = self._ids[formula]
            alone: ClaimSet = frozenset((index,))
            result = () if self.nothing(self._values(base, alone)) else (alone,)
            if not isinstance(self.claims[index].claim, ir.Member):
                result = (_NOTHING_PICKED, *result)
        self._check(len(result))
        memo[formula] = result
        return result

    def _both(self, left: tuple[ClaimSet, ...], right: tuple[ClaimSet, ...], base: Conjunction) -> tuple[ClaimSet, ...]:
        if left == _ANY_WAY:
            return right
        found: dict[ClaimSet, None] = {}
        for one in left:
            for other in right:
                union = one | other
                if union in found:
                    continue
                if len(union) > len(one) and len(union) > len(other) and self.nothing(self._values(base, union)):
                    continue
                found[union] = None
            self._check(len(found))
        return tuple(found)

    def _check(self, count: int) -> None:
        if count > self.limits.max_picks:
            raise SchemaTooComplex(
                f"the alternatives meet on one value in more than {self.limits.max_picks} ways",
                limit="max_picks",
                location=self.location,
            )


# ---- what alternatives come to under what always holds --------------------------------------------------------------

F = TypeVar("F")

#: Claims looked at while simplifying one container; beyond that it is taken as it stands.
MOST_STEPS = 60_000
#: Alternatives that are compared with each other, to drop those that another one includes.
MOST_COMPARED = 64


class Impossible(Exception):
    """Nothing satisfies the formula of a container."""


class Simplifier(ABC, Generic[F]):
    """Simplifies a formula by what holds around each part of it.

    *Facts* are what the claims beside a part say: that a name is there, what the values of a class satisfy, counts. A
    branch of an or is looked at with the facts outside of it and its own. So `not {"const": "b"}` on a name vanishes
    in the branch that says `{"const": "a"}`, and a branch that contradicts the rest is dropped.
    """

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas
        self._steps = 0
        #: What a formula comes to, by what is said around it: a discriminator changes little of that for most parts.
        self._known: dict[tuple[Formula, Hashable], Formula] = {}

    @abstractmethod
    def said_around(self, formula: Formula, facts: F) -> Hashable:
        """All that the facts say of what the formula speaks of; None where that is not easily told."""

    @abstractmethod
    def is_fact(self, claim: Formula) -> bool:
        """Whether :meth:`add` understands the claim."""

    @abstractmethod
    def copied(self, facts: F) -> F:
        """Facts to add to."""

    @abstractmethod
    def add(self, claim: Formula, facts: F) -> bool:
        """Add a claim to the facts; False if they can't all hold."""

    @abstractmethod
    def settled(self, claim: Formula, facts: F) -> Formula:
        """The claim, or what it comes to under the facts."""

    def fold(self, parts: Iterable[Formula], facts: F) -> tuple[list[Formula], Formula]:
        """Add what the parts say to the facts: the claims that were added, and the formula that is left.

        Raises Impossible if they can't all hold.
        """
        is_fact, settled, conjuncts = self.is_fact, self.settled, self.formulas.conjuncts
        taken: list[Formula] = []
        waiting = list(parts)
        while True:
            left: list[Formula] = []
            for part in waiting:
                if not is_fact(part):
                    left.append(part)
                    continue
                said = settled(part, facts)
                for claim in (said,) if said == part else conjuncts(said):
                    if claim != part and not is_fact(claim):
                        left.append(claim)
                    elif self.add(claim, facts):
                        taken.append(claim)
                    else:
                        raise Impossible
            if FALSE in left:
                raise Impossible
            waiting = [claim for part in left for claim in conjuncts(self._under(part, facts))]
            if FALSE in waiting:
                raise Impossible
            if not any(map(is_fact, waiting)):
                if len(waiting) <= 1:
                    return taken, waiting[0] if waiting else TRUE
                return taken, self.formulas.conjunction(self._joined(self._without_weaker(waiting)))

    def _under(self, formula: Formula, facts: F) -> Formula:
        self._steps += 1
        record = self.formulas.records[formula]
        if not isinstance(record, (And, Or)):
            return formula if formula <= TRUE else self.settled(formula, facts)
        if self._steps > MOST_STEPS:
            return formula
        said = self.said_around(formula, facts)
        known = None if said is None else self._known.get((formula, said))
        if known is None:
            known = self._connective_under(record, facts)
            if said is not None and self._steps <= MOST_STEPS:
                self._known[formula, said] = known
        return known

    def _connective_under(self, record: And | Or, facts: F) -> Formula:
        if isinstance(record, Or):
            return self._without_included([self._under(branch, facts) for branch in record.parts])
        try:
            taken, rest = self.fold(record.parts, self.copied(facts))
        except Impossible:
            return FALSE
        if rest != TRUE:
            taken.append(rest)
        return self.formulas.conjunction(taken)

    def _without_weaker(self, parts: list[Formula]) -> list[Formula]:
        """The parts of an and, less the ors that have all the branches of another part, and more."""
        if len(parts) < 2 or len(parts) > MOST_COMPARED:
            return parts
        parts = list(dict.fromkeys(parts))
        offered = [frozenset(self.formulas.branches(part)) for part in parts]
        return [part for part, mine in zip(parts, offered, strict=True) if not any(other < mine for other in offered)]

    def _joined(self, parts: list[Formula]) -> list[Formula]:
        """The parts of an and; ors that share branches are one: `(a or b) and (a or c)` is `a or (b and c)`."""
        formulas = self.formulas
        clauses = [part for part in parts if isinstance(formulas.records[part], Or)]
        if len(clauses) < 2:
            return parts
        shared = dict.fromkeys(formulas.branches(clauses[0]))
        for clause in clauses[1:]:
            offered = set(formulas.branches(clause))
            shared = {branch: None for branch in shared if branch in offered}
            if not shared:
                return parts
        rests = [formulas.disjunction(b for b in formulas.branches(clause) if b not in shared) for clause in clauses]
        joined = formulas.disjunction([*shared, formulas.conjunction(rests)])
        return [*(part for part in parts if part not in clauses), joined]

    def cleaned(self, formula: Formula, facts: F) -> Formula:
        """The formula without claims that the facts decide, also where simplifying was given up."""
        if self._steps <= MOST_STEPS:
            return formula
        return self.formulas.rewrite(formula, lambda claim: self.settled(claim, facts))

    def _without_included(self, branches: list[Formula]) -> Formula:
        """The or of the branches, less those that say all that another one says, and more."""
        formulas = self.formulas
        flat = list(dict.fromkeys([b for branch in branches for b in formulas.branches(branch)]))
        if TRUE in flat or len(flat) > MOST_COMPARED or len(flat) < 2:
            return formulas.disjunction(flat)
        said = [frozenset(formulas.conjuncts(branch)) for branch in flat]
        return formulas.disjunction(
            branch for branch, mine in zip(flat, said, strict=True) if not any(other < mine for other in said)
        )
