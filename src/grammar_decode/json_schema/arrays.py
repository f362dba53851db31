"""An array formula becomes an `Elements` node: positions, what always holds folded in, the rest as claims.

That all items are distinct is a property of the node, not a claim. Where only some alternatives ask for it, the formula
becomes two nodes: formulas have no negation, so whatever satisfies one where nothing is asked satisfies it anyway.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from grammar_decode.errors import UnsupportedSchema
from grammar_decode.ir import nodes as ir
from grammar_decode.json_schema.claims import (
    NEVER,
    NO_LITERALS,
    Conjunction,
    CountMax,
    CountMin,
    Item,
    Literal,
    MostItem,
    Rest,
    SomeItem,
    Unique,
)
from grammar_decode.json_schema.combine import Combiner
from grammar_decode.json_schema.containers import Conditions, Impossible, IrClaim, NodeOf, OnlyPicks, Simplifier
from grammar_decode.json_schema.equal_schemas import EqualSchemas
from grammar_decode.json_schema.formula import FALSE, TRUE, Formula, Formulas, Or
from grammar_decode.limits import Limits


@dataclass(slots=True)
class _Facts:
    """What holds around a part of a formula: what the items of each class satisfy, counts, and distinctness.

    ``base`` has an entry for each class: the positions that a claim tells from later ones, and the rest.
    """

    base: list[Conjunction]
    low: int = 0
    high: int | None = None
    unique: bool = False


class Arrays:
    """Lowers the array formulas of one compilation."""

    def __init__(
        self,
        formulas: Formulas,
        combiner: Combiner,
        equal: EqualSchemas,
        limits: Limits,
    ) -> None:
        self.formulas = formulas
        self.combiner = combiner
        self.equal = equal
        self.limits = limits
        self.only_pick = OnlyPicks()

    def lower(self, formula: Formula, location: str, node: NodeOf) -> list[ir.Elements]:
        """The arrays that satisfy the formula, as a union of at most two nodes."""
        plain = self._plain(formula, node)
        if plain is not None:
            return [plain]
        try:
            lowering = _ArrayLowering(self, formula, location)
            if not lowering.distinct_in_places():
                return [lowering.elements(node)]
        except Impossible:
            return []
        distinct = self.formulas.claim(Unique(True))

        def told(holds: Formula) -> Formula:
            return self.formulas.rewrite(formula, lambda claim: holds if claim == distinct else claim)

        return [
            *self.lower(self.formulas.conjunction([told(TRUE), distinct]), location, node),
            *self.lower(told(FALSE), location, node),
        ]

    def _plain(self, formula: Formula, node: NodeOf) -> ir.Elements | None:
        """The same for the everyday array, in a fraction of the time; None for any other.

        It says at most one thing, the same of all items, and how many there are.
        """
        items = NO_LITERALS
        low, high = 0, None
        unique = False
        for part in self.formulas.conjuncts(formula):
            record = self.formulas.records[part]
            if isinstance(record, Rest) and record.start == 0 and record.literal != NEVER and not items:
                items = frozenset((record.literal,))
            elif isinstance(record, CountMin):
                low = max(low, record.times)
            elif isinstance(record, CountMax):
                high = record.times if high is None else min(high, record.times)
            elif isinstance(record, Unique) and record.positive:
                unique = True
            else:
                return None
        if high is not None and (high < low or high == 0):
            return None
        picks = self.only_pick(node(items))
        if low and not picks:
            return None
        high = high if picks else None
        return ir.Elements(0, (picks,), low, high, unique=unique and bool(picks) and (high is None or high > 1))


class _ArrayLowering(Simplifier[_Facts]):
    """One array formula on its way to a node. ``prefix`` is the number of positions; they are classes of their own."""

    def __init__(self, owner: Arrays, formula: Formula, location: str) -> None:
        super().__init__(owner.formulas)
        self.owner = owner
        self.combiner = owner.combiner
        self.nothing = owner.combiner.contradictions.nothing
        self.location = location
        records = self.formulas.records
        self.plain = not any(isinstance(records[part], Or) for part in self.formulas.conjuncts(formula))
        if not self.plain:
            formula = owner.equal.canonical_formula(formula)
        self.parts = self.formulas.conjuncts(formula)
        self.prefix = self._told_apart(claim for part in self.parts for claim in self.formulas.claims_of(part))
        self.facts = _Facts([NO_LITERALS] * (self.prefix + 1))
        _, rest = self.fold(self.parts, self.facts)
        self.rest = self.cleaned(rest, self.facts)

    def _told_apart(self, claims: Iterable[Formula]) -> int:
        """How many positions the claims tell from all later ones."""
        prefix = 0
        for claim in claims:
            record = self.formulas.records[claim]
            if isinstance(record, Item):
                prefix = max(prefix, record.place + 1)
            elif isinstance(record, (Rest, SomeItem, MostItem)):
                prefix = max(prefix, record.start)
        return prefix

    def _ids(self, claim: Item | Rest | SomeItem | MostItem, facts: _Facts) -> range:
        """The classes that a claim speaks of, as far as items of them may be there."""
        end = self.prefix + 1 if facts.high is None else min(self.prefix + 1, facts.high)
        if isinstance(claim, Item):
            return range(claim.place, min(claim.place + 1, end))
        return range(claim.start, end)

    # ---- facts ----

    def is_fact(self, claim: Formula) -> bool:
        record = self.formulas.records[claim]
        return isinstance(record, (Item, Rest, CountMin, CountMax)) or record == Unique(True)

    def copied(self, facts: _Facts) -> _Facts:
        return _Facts(list(facts.base), facts.low, facts.high, facts.unique)

    def said_around(self, formula: Formula, facts: _Facts) -> Hashable:  # noqa: ARG002
        return None  # arrays have few alternatives

    def add(self, claim: Formula, facts: _Facts) -> bool:
        record = self.formulas.records[claim]
        if isinstance(record, (Item, Rest)):
            for cls in self._ids(record, facts):
                facts.base[cls] = base = facts.base[cls] | {record.literal}
                if record.literal == NEVER or (len(base) > 1 and self.nothing(base)):
                    facts.high = cls  # nothing can stand here, nor after it
                    break
        elif isinstance(record, CountMin):
            facts.low = max(facts.low, record.times)
        elif isinstance(record, Unique):
            facts.unique = True
        else:
            assert isinstance(record, CountMax), record
            facts.high = record.times if facts.high is None else min(facts.high, record.times)
        return facts.high is None or facts.low <= facts.high

    def settled(self, claim: Formula, facts: _Facts) -> Formula:
        record = self.formulas.records[claim]
        if isinstance(record, (Item, Rest, MostItem)):
            return self._settled_items(claim, record, facts)
        if isinstance(record, SomeItem):
            classes = self._ids(record, facts)
            if not any(self._possible(record.literal, facts.base[cls]) for cls in classes):
                return FALSE
            if facts.high is not None and facts.high - record.start < record.times:
                return FALSE
            if all(self._implied(record.literal, facts.base[cls]) for cls in classes):
                return self.formulas.count_min(record.start + record.times)
            return claim
        if isinstance(record, CountMin):
            if record.times <= facts.low:
                return TRUE
            return FALSE if facts.high is not None and record.times > facts.high else claim
        if isinstance(record, CountMax):
            if record.times < facts.low:
                return FALSE
            return TRUE if facts.high is not None and record.times >= facts.high else claim
        assert isinstance(record, Unique), record
        if facts.unique or (facts.high is not None and facts.high <= 1):
            return TRUE if record.positive else FALSE
        return claim

    def _settled_items(self, claim: Formula, record: Item | Rest | MostItem, facts: _Facts) -> Formula:
        open_classes = [c for c in self._ids(record, facts) if not self._implied(record.literal, facts.base[c])]
        if not open_classes:
            return TRUE
        if not isinstance(record, MostItem):
            barred = next((c for c in open_classes if not self._possible(record.literal, facts.base[c])), None)
            if barred is not None and (barred == open_classes[0] or isinstance(record, Item)):
                return self.formulas.count_max(max(barred, record.start) if isinstance(record, Rest) else barred)
        return claim

    def _possible(self, literal: Literal, base: Conjunction) -> bool:
        return not self.nothing(base | {literal})

    def _implied(self, literal: Literal, base: Conjunction) -> bool:
        if literal in base:
            return True
        return bool(base) and not self.plain and self.nothing(base | {literal ^ 1})

    # ---- the node ----

    def distinct_in_places(self) -> bool:
        """Whether some alternatives ask for distinct items and others do not. Refuses those that ask for equal ones."""
        asked = [c for c in self.formulas.claims_of(self.rest) if isinstance(self.formulas.records[c], Unique)]
        for claim in asked:
            if self.formulas.records[claim] == Unique(False):
                schema, keyword = self.combiner.reader.origins[claim]
                raise UnsupportedSchema(
                    f"the negation of {keyword!r}, that two items are equal, can't be enforced",
                    location=schema.at(keyword),
                    hint="Remove it and check the result afterwards.",
                )
        return bool(asked)

    def elements(self, node: NodeOf) -> ir.Elements:
        """The finished node. Raises Impossible."""
        facts, rest = self.facts, self.rest
        prefix = self._compressed(facts, rest)
        high = facts.high
        claims: tuple[ir.Claim, ...] = ()
        formula: ir.Formula = True
        conditions = None
        if rest != TRUE:
            conditions = self._conditions(rest, facts, prefix)
            claims = tuple(known.claim for known in conditions.claims)
            formula = conditions.formula
        values: list[tuple[ir.Pick, ...]] = []
        for cls in range(prefix + 1):
            if high is not None and cls >= high:
                values.append(())
            elif conditions is not None:
                values.append(conditions.picks(cls, facts.base[cls], node))
            else:
                values.append(self.owner.only_pick(node(facts.base[cls])))
        if high is not None and not values[-1] and high >= prefix:
            high = None  # the last class says so
        unique = facts.unique and (high is None or high > 1) and all((values[0], values[min(1, prefix)]))
        return ir.Elements(prefix, tuple(values), facts.low, high, claims, formula, unique)

    def _compressed(self, facts: _Facts, rest: Formula) -> int:
        """The positions that are left: those that can't be, or are treated like the rest, need no class."""
        prefix = self.prefix
        if facts.high is not None and facts.high <= prefix:
            return facts.high
        told_apart = self._told_apart(self.formulas.claims_of(rest))
        while prefix > told_apart and facts.base[prefix - 1] == facts.base[self.prefix]:
            prefix -= 1
        facts.base[prefix] = facts.base[self.prefix]
        return prefix

    def _conditions(self, rest: Formula, facts: _Facts, prefix: int) -> Conditions:
        def translated(claim: Formula) -> IrClaim:
            return self._translated(claim, facts, prefix)

        nothing, limits = self.nothing, self.owner.limits
        return Conditions(self.formulas, rest, translated, nothing, limits, self.location)

    def _translated(self, claim: Formula, facts: _Facts, prefix: int) -> IrClaim:
        record = self.formulas.records[claim]
        if isinstance(record, CountMin):
            return IrClaim(ir.CountMin(record.times), None)
        if isinstance(record, CountMax):
            return IrClaim(ir.CountMax(record.times), None)
        assert isinstance(record, (Item, Rest, SomeItem, MostItem)), record
        ids = tuple(cls for cls in self._ids(record, facts) if cls <= prefix)
        if isinstance(record, SomeItem):
            return IrClaim(ir.Some(ids, record.times), record.literal)
        ids = tuple(cls for cls in ids if record.literal not in facts.base[cls])
        if isinstance(record, MostItem):
            return IrClaim(ir.Most(ids, record.times), record.literal)
        return IrClaim(ir.Member(ids), record.literal)
