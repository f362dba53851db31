"""Formulas over booleans and numbers: the language of their texts, and whether there plainly is none."""

from __future__ import annotations

from decimal import Decimal

from grammar_decode.errors import SchemaTooComplex
from grammar_decode.ir.nodes import RegexId
from grammar_decode.json_schema.claims import Bound, Integral, Multiple, OneNumber, Truth
from grammar_decode.json_schema.decimals import floor_grid, is_multiple
from grammar_decode.json_schema.formula import FALSE, TRUE, And, Formula, Formulas, Or
from grammar_decode.json_schema.numbers import NumberConstraint, NumberTooComplex, exact
from grammar_decode.json_schema.read import Reader
from grammar_decode.json_schema.seed import Seed

#: An and over ors is spread out up to this many ranges, in so many steps: `number, below 1 or above 5` is two ranges,
#: no intersection. What is excluded in one part is met with the multiples of another.
MOST_RANGES = 64
MOST_STEPS = 200
#: ... for all formulas of one compilation together; after that they are intersections.
MOST_STEPS_IN_ALL = 4_000


def truths(formulas: Formulas, formula: Formula) -> int:
    """Which booleans satisfy a formula: bit 0 for false, bit 1 for true."""

    def holds(value: bool) -> bool:
        def claim_holds(claim: Formula) -> bool:
            record = formulas.records[claim]
            assert isinstance(record, Truth)
            return record.value == value

        return formulas.holds(formula, claim_holds)

    return holds(False) | holds(True) << 1


class Numbers:
    """The number formulas of one compilation."""

    def __init__(self, seed: Seed, formulas: Formulas, reader: Reader) -> None:
        self.builder = seed.builder
        self.formulas = formulas
        self.reader = reader
        self.numerals = seed.numerals
        self._languages: dict[Formula, RegexId] = {}
        self._finite: dict[Formula, tuple[int | float | Decimal, ...] | None] = {}
        self._empty: dict[Formula, bool] = {}
        self._steps = 0

    # ---- numbers one by one ----

    def accepts(self, formula: Formula, value: Decimal) -> bool:
        """Whether a number satisfies the formula."""
        return self.formulas.holds(formula, lambda claim: self._claim_accepts(claim, value))

    def _claim_accepts(self, claim: Formula, value: Decimal) -> bool:
        record = self.formulas.records[claim]
        if isinstance(record, OneNumber):
            return any(exact(v) == value for v in record.values) == record.positive
        if isinstance(record, Bound):
            if value == record.value:
                return record.inclusive
            return (value < record.value) == record.upper
        if isinstance(record, Integral):
            return (value == floor_grid(value, 0)) == record.positive
        assert isinstance(record, Multiple)
        return is_multiple(value, record.divisor) == record.positive

    def finite(self, formula: Formula) -> tuple[int | float | Decimal, ...] | None:
        """The numbers of a formula that is known to have few of them; None for any other."""
        if formula in self._finite:
            return self._finite[formula]
        self._finite[formula] = result = self._few(formula)
        return result

    def _few(self, formula: Formula) -> tuple[int | float | Decimal, ...] | None:
        record = self.formulas.records[formula]
        if formula == FALSE:
            return ()
        if isinstance(record, OneNumber):
            return record.values if record.positive else None
        if isinstance(record, Or):
            found: dict[Decimal, int | float | Decimal] = {}
            for branch in record.parts:
                values = self.finite(branch)
                if values is None:
                    return None
                found.update({exact(v): v for v in values})
            return tuple(found.values())
        if isinstance(record, And):
            known = [values for values in map(self.finite, record.parts) if values is not None]
            if known:
                return tuple(v for v in min(known, key=len) if self.accepts(formula, exact(v)))
        return None

    def is_empty(self, formula: Formula) -> bool:
        """Whether it is plain to see that no number satisfies the formula."""
        if formula <= TRUE:
            return formula == FALSE
        values = self.finite(formula)
        if values is not None:
            return not values
        known = self._empty.get(formula)
        if known is None:
            if isinstance(self.formulas.records[formula], Or):
                known = all(self.is_empty(branch) for branch in self.formulas.branches(formula))
            else:
                known = self._constraint(self.formulas.conjuncts(formula))[0].is_empty()
            self._empty[formula] = known
        return known

    # ---- the language ----

    def language(self, formula: Formula) -> RegexId:
        """The texts of the numbers."""
        known = self._languages.get(formula)
        if known is None:
            known = self._languages[formula] = self._language(formula)
        return known

    def _language(self, formula: Formula) -> RegexId:
        builder = self.builder
        if formula == FALSE:
            return builder.empty
        values = self.finite(formula)
        if values is not None:
            return builder.alternate(*[self.numerals.value(v) for v in values])
        try:
            if isinstance(self.formulas.records[formula], Or):
                ways = list(self.formulas.branches(formula))
            else:
                ways = self._ways(formula)
            if ways == [formula]:
                return self._conjunction(self.formulas.conjuncts(formula))
            together = self._together(ways)
            return builder.alternate(*[self.language(way) for way in ways]) if together is None else together
        except NumberTooComplex as error:
            raise self._too_complex(formula, error) from error

    def _ways(self, formula: Formula) -> list[Formula]:
        """Conjunctions without an or, whose union is the formula; the formula itself where they are too many."""
        formulas = self.formulas
        found: dict[Formula, None] = {}
        stack = [formula]
        for _ in range(min(MOST_STEPS, MOST_STEPS_IN_ALL - self._steps)):
            self._steps += 1
            if not stack or len(found) > MOST_RANGES:
                break
            way = stack.pop()
            parts = formulas.conjuncts(way)
            choice = next((part for part in parts if isinstance(formulas.records[part], Or)), None)
            if choice is None:
                found[way] = None
                continue
            others = [part for part in parts if part != choice]
            met = [formulas.conjunction([*others, branch]) for branch in reversed(formulas.branches(choice))]
            stack.extend(narrower for narrower in met if not self.is_empty(narrower))
        return [formula] if stack or len(found) > MOST_RANGES else list(found)

    def _together(self, ways: list[Formula]) -> RegexId | None:
        """The language of several ranges with divisors, if it is one automaton."""
        found = [self._constraint(self.formulas.conjuncts(way)) for way in ways]
        if len(found) < 2 or any(rest for _, rest in found):
            return None
        return self.numerals.union([met.finite() for met, _ in found])

    def _constraint(self, parts: tuple[Formula, ...]) -> tuple[NumberConstraint, list[Formula]]:
        """What of a conjunction is a range with divisors, and the rest."""
        met = NumberConstraint()
        rest = []
        for part in parts:
            record = self.formulas.records[part]
            if isinstance(record, Bound):
                if record.upper:
                    more = NumberConstraint(high=record.value, high_inclusive=record.inclusive)
                else:
                    more = NumberConstraint(low=record.value, low_inclusive=record.inclusive)
            elif isinstance(record, Integral) and record.positive:
                more = NumberConstraint(integer=True)
            elif isinstance(record, Multiple):
                more = (
                    NumberConstraint(multiples=(record.divisor,))
                    if record.positive
                    else NumberConstraint(excluded=(record.divisor,))
                )
            else:
                rest.append(part)
                continue
            met = met.meet(more)
        return met, rest

    def _conjunction(self, parts: tuple[Formula, ...]) -> RegexId:
        builder, numerals = self.builder, self.numerals
        met, rest = self._constraint(parts)
        languages = [numerals.language(met)]
        for part in rest:
            record = self.formulas.records[part]
            if isinstance(record, Integral):
                languages.append(numerals.non_integers)
            elif isinstance(record, OneNumber):
                assert not record.positive, "a conjunction with a constant is finite"
                excluded = [numerals.interval(exact(v), True, exact(v), True) for v in record.values]
                excluded += [numerals.value(v) for v in record.values]
                languages.append(builder.complement(builder.alternate(*excluded)))
            else:
                languages.append(self.language(part))
        return builder.intersect(*languages)

    def _too_complex(self, formula: Formula, error: NumberTooComplex) -> SchemaTooComplex:
        origins = [self.reader.origins.get(claim) for claim in self.formulas.claims_of(formula)]
        found = next((origin for origin in origins if origin is not None), None)
        location = found[0].at(found[1]) if found else None
        return SchemaTooComplex(str(error), limit=error.limit, location=location)
