"""An array formula becomes an `Elements` node: positions, what always holds folded in, the rest as claims."""

from __future__ import annotations

from collections.abc import Callable

from grammar_decode.errors import UnsupportedSchema
from grammar_decode.ir import nodes as ir
from grammar_decode.json_schema.claims import (
    NEVER,
    Conjunction,
    CountMax,
    CountMin,
    Item,
    Literal,
    MostItem,
    Rest,
    SomeItem,
    Unevaluated,
    Unique,
)
from grammar_decode.json_schema.combine import Combiner
from grammar_decode.json_schema.containers import Conditions, IrClaim
from grammar_decode.json_schema.formula import FALSE, TRUE, Formula, Formulas, Or
from grammar_decode.limits import Limits


class _Impossible(Exception):
    """No array satisfies the formula."""


class Arrays:
    """Lowers the array formulas of one compilation. ``node`` gives the node of a value, or None for an empty one."""

    def __init__(
        self,
        formulas: Formulas,
        combiner: Combiner,
        node: Callable[[Conjunction], ir.NodeId | None],
        limits: Limits,
    ) -> None:
        self.formulas = formulas
        self.combiner = combiner
        self.node = node
        self.limits = limits

    def lower(self, formula: Formula, location: str) -> ir.Elements | None:
        """The node of the arrays that satisfy the formula; None if there are none."""
        try:
            return _ArrayLowering(self, formula, location).elements()
        except _Impossible:
            return None


class _ArrayLowering:
    """One array formula on its way to a node. ``bases[c]`` is what the items of class c always satisfy."""

    def __init__(self, owner: Arrays, formula: Formula, location: str) -> None:
        self.owner = owner
        self.formulas = owner.formulas
        self.combiner = owner.combiner
        self.location = location
        self.low = 0
        self.high: int | None = None
        self.facts: list[Item | Rest] = []
        self.rest: list[Formula] = []
        self.unique: Formula | None = None
        records = self.formulas.records
        if any(isinstance(records[part], Or) for part in self.formulas.conjuncts(formula)):
            formula = self.combiner.canonical_formula(formula)
        if formula == FALSE:
            raise _Impossible
        for part in self.formulas.conjuncts(formula):
            self._fold(part)
        self._check_counts()
        self.bases: list[dict[Literal, None]] = []

    def _fold(self, part: Formula) -> None:
        record = self.formulas.records[part]
        if isinstance(record, (Item, Rest)):
            self.facts.append(record)
        elif isinstance(record, CountMin):
            self.low = max(self.low, record.times)
        elif isinstance(record, CountMax):
            self.high = record.times if self.high is None else min(self.high, record.times)
        else:
            self.rest.append(part)

    def _check_counts(self) -> None:
        if self.high is not None and self.low > self.high:
            raise _Impossible

    # ---- classes ----

    def _classes(self) -> None:
        """One class for each position that a claim tells from the later ones, and one for the rest."""
        prefix = 0
        for fact in self.facts:
            prefix = max(prefix, fact.place + 1 if isinstance(fact, Item) else fact.start)
        for part in self.rest:
            for claim in self.formulas.claims_of(part):
                record = self.formulas.records[claim]
                if isinstance(record, Item):
                    prefix = max(prefix, record.place + 1)
                elif isinstance(record, (Rest, SomeItem, MostItem)):
                    prefix = max(prefix, record.start)
        if self.high is not None:
            prefix = min(prefix, self.high)
        self.bases = [{} for _ in range(prefix + 1)]
        for fact in self.facts:
            self._add(fact)

    @property
    def prefix(self) -> int:
        return len(self.bases) - 1

    def _ids(self, claim: Item | Rest | SomeItem | MostItem) -> range:
        """The classes that a claim speaks of, as far as items of them may be there."""
        end = self.prefix + (self.high is None or self.high > self.prefix)
        if isinstance(claim, Item):
            return range(claim.place, min(claim.place + 1, end))
        return range(claim.start, end)

    def _add(self, record: Item | Rest) -> None:
        for cls in range(record.start, self.prefix + 1) if isinstance(record, Rest) else self._ids(record):
            self.bases[cls][record.literal] = None

    def _cut(self) -> None:
        """No item can be where its class is empty, nor after that."""
        for cls, base in enumerate(self.bases):
            if self.high is not None and cls >= self.high:
                break
            if NEVER in base or (len(base) > 1 and self.combiner.nothing(frozenset(base))):
                self.high = cls
                break
        if self.high is not None and self.high < self.prefix:
            del self.bases[self.high + 1 :]
        self._check_counts()

    # ---- settling ----

    def _settle(self) -> Formula:
        """Simplify the rest by what always holds, which may grow by it; until nothing changes."""
        formulas = self.formulas
        rest = formulas.conjunction(self.rest)
        while True:
            self._cut()
            settled = formulas.rewrite(rest, self._settled)
            facts = [
                part
                for part in formulas.conjuncts(settled)
                if isinstance(formulas.records[part], (Item, Rest, CountMin, CountMax))
            ]
            if settled == FALSE:
                raise _Impossible
            if not facts and settled == rest:
                return rest
            for part in facts:
                record = formulas.records[part]
                if isinstance(record, (Item, Rest)):
                    self._add(record)
                else:
                    self._fold(part)
            self._check_counts()
            rest = formulas.conjunction(part for part in formulas.conjuncts(settled) if part not in facts)

    def _settled(self, claim: Formula) -> Formula:
        """The claim, or what it comes to under what always holds."""
        record = self.formulas.records[claim]
        if isinstance(record, (Item, Rest, MostItem)):
            open_ids = [cls for cls in self._ids(record) if record.literal not in self.bases[cls]]
            if not open_ids:
                return TRUE
            if not isinstance(record, MostItem) and self._none(open_ids[0], record.literal):
                if open_ids[0] < self.prefix:
                    return self.formulas.count_max(open_ids[0])
                if isinstance(record, Rest):
                    return self.formulas.count_max(max(record.start, self.prefix))
            return claim
        if isinstance(record, SomeItem):
            able = [cls for cls in self._ids(record) if not self._none(cls, record.literal)]
            if not able or (self.high is not None and self.high - record.start < record.times):
                return FALSE
            return claim
        if isinstance(record, CountMin):
            if record.times <= self.low:
                return TRUE
            return FALSE if self.high is not None and record.times > self.high else claim
        if isinstance(record, CountMax):
            if record.times < self.low:
                return FALSE
            return TRUE if self.high is not None and record.times >= self.high else claim
        if isinstance(record, Unique):
            if self.high is not None and self.high <= 1:
                return TRUE if record.positive else FALSE
            self._refuse(claim)
        assert isinstance(record, Unevaluated), record
        self._refuse(claim)
        return claim

    def _none(self, cls: int, literal: Literal) -> bool:
        return self.combiner.nothing(frozenset((*self.bases[cls], literal)))

    def _refuse(self, claim: Formula) -> None:
        schema, keyword = self.combiner.reader.origins[claim]
        raise UnsupportedSchema(
            f"{keyword!r} is not enforced yet",
            location=schema.at(keyword),
            hint="Remove it and check the result afterwards." if keyword == "uniqueItems" else None,
        )

    # ---- the node ----

    def elements(self) -> ir.Elements:
        """The finished node. Raises _Impossible."""
        self._classes()
        self._cut()
        rest = self._settle() if self.rest else TRUE
        self._compress(rest)
        prefix, high = self.prefix, self.high
        node = self.owner.node
        values: list[tuple[ir.Pick, ...]] = []
        claims: tuple[ir.Claim, ...] = ()
        formula: ir.Formula = True
        conditions = None
        if rest != TRUE:
            conditions = Conditions(
                self.formulas, rest, self._translated, self.combiner.nothing, self.owner.limits, self.location
            )
            claims = tuple(known.claim for known in conditions.claims)
            formula = conditions.formula
        for cls, base in enumerate(self.bases):
            if high is not None and cls >= high:
                values.append(())
            elif conditions is not None:
                values.append(conditions.picks(cls, frozenset(base), node))
            else:
                value = node(frozenset(base))
                values.append(() if value is None else (ir.Pick((), value),))
        if high is not None and not values[-1] and high >= prefix:
            high = None  # the last class says so
        return ir.Elements(prefix, tuple(values), self.low, high, claims, formula)

    def _compress(self, rest: Formula) -> None:
        """Last positions that are treated like the rest are no classes of their own."""
        told_apart = 0
        for claim in self.formulas.claims_of(rest):
            record = self.formulas.records[claim]
            if isinstance(record, Item):
                told_apart = max(told_apart, record.place + 1)
            elif isinstance(record, (Rest, SomeItem, MostItem)):
                told_apart = max(told_apart, record.start)
        if self.high is not None and self.high <= self.prefix:
            return
        while self.prefix > told_apart and self.bases[-2].keys() == self.bases[-1].keys():
            self.bases.pop()

    def _translated(self, claim: Formula) -> IrClaim:
        record = self.formulas.records[claim]
        if isinstance(record, CountMin):
            return IrClaim(ir.CountMin(record.times), None)
        if isinstance(record, CountMax):
            return IrClaim(ir.CountMax(record.times), None)
        assert isinstance(record, (Item, Rest, SomeItem, MostItem)), record
        if isinstance(record, SomeItem):
            return IrClaim(ir.Some(tuple(self._ids(record)), record.times), record.literal)
        ids = tuple(cls for cls in self._ids(record) if record.literal not in self.bases[cls])
        if isinstance(record, MostItem):
            return IrClaim(ir.Most(ids, record.times), record.literal)
        return IrClaim(ir.Member(ids), record.literal)
