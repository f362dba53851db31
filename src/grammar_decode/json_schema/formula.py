"""Formulas: and/or over claims in negation normal form, hash-consed.

A formula is an index into the table of one :class:`Formulas`; equal formulas have equal indices, so that they can be
compared, memoised and shared at no cost. 0 is false and 1 is true. The constructors keep a normal form: no nesting of
like connectives, no repeated part, no constant inside, what all branches of an or share stands outside of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from grammar_decode.json_schema.claims import (
    ALWAYS,
    NEVER,
    Bound,
    Claim,
    CountMax,
    CountMin,
    Format,
    Has,
    Integral,
    Item,
    Keys,
    Lacks,
    Length,
    Literal,
    Member,
    Most,
    MostItem,
    Multiple,
    OneNumber,
    Order,
    Pattern,
    Rest,
    Some,
    SomeItem,
    Text,
    Truth,
    Unique,
)
from grammar_decode.limits import Work

Formula: TypeAlias = int
FALSE: Formula = 0
TRUE: Formula = 1
_EVERY = 0xFF  # for each 256th formula, the work is told


class And(NamedTuple):
    """All of at least two parts."""

    parts: tuple[Formula, ...]


class Or(NamedTuple):
    """One of at least two parts."""

    parts: tuple[Formula, ...]


Record: TypeAlias = And | Or | Claim | bool


class Formulas:
    """The table of one compilation. ``records[f]`` is what formula ``f`` is."""

    def __init__(self, work: Work | None = None) -> None:
        self.work = work
        self.records: list[Record] = [False, True]
        # By their contents: a record is made only where it is new.
        self._ands: dict[tuple[Formula, ...], Formula] = {}
        self._ors: dict[tuple[Formula, ...], Formula] = {}
        self._claims: defaultdict[type, dict[Claim, Formula]] = defaultdict(dict)
        self._sizes: list[int] = [1, 1]
        self._negations: dict[Formula, Formula] = {FALSE: TRUE, TRUE: FALSE}

    def _new(self, record: Record, size: int = 1) -> Formula:
        number = len(self.records)
        self.records.append(record)
        self._sizes.append(size)
        if not number & _EVERY and self.work is not None:
            self.work.tick(_EVERY)
        return number

    def _intern(self, claim: Claim) -> Formula:
        alike = self._claims[type(claim)]
        known = alike.get(claim)
        if known is None:
            known = alike[claim] = self._new(claim)
        return known

    def _and(self, parts: tuple[Formula, ...]) -> Formula:
        known = self._ands.get(parts)
        if known is None:
            known = self._ands[parts] = self._new(And(parts), 1 + sum([self._sizes[part] for part in parts]))
        return known

    def _or(self, parts: tuple[Formula, ...]) -> Formula:
        known = self._ors.get(parts)
        if known is None:
            known = self._ors[parts] = self._new(Or(parts), 1 + sum([self._sizes[part] for part in parts]))
        return known

    # ---- connectives ----

    def conjunction(self, parts: Iterable[Formula]) -> Formula:
        """All of the parts, in their order."""
        flat: dict[Formula, None] = {}
        records = self.records
        for part in parts:
            if part == FALSE:
                return FALSE
            if part == TRUE:
                continue
            record = records[part]
            if type(record) is And:
                flat.update(dict.fromkeys(record.parts))
            else:
                flat[part] = None
        if len(flat) <= 1:
            return next(iter(flat), TRUE)
        return self._and(tuple(flat))

    def disjunction(self, parts: Iterable[Formula]) -> Formula:
        """One of the parts, in their order; what all of them share is moved outside."""
        flat: dict[Formula, None] = {}
        records = self.records
        for part in parts:
            if part == TRUE:
                return TRUE
            if part == FALSE:
                continue
            record = records[part]
            if type(record) is Or:
                flat.update(dict.fromkeys(record.parts))
            else:
                flat[part] = None
        if len(flat) <= 1:
            return next(iter(flat), FALSE)
        shared = self._shared(flat)
        if not shared:
            return self._or(tuple(flat))
        rests = [self.conjunction([p for p in self.conjuncts(branch) if p not in shared]) for branch in flat]
        return self.conjunction([*shared, self.disjunction(rests)])

    def _shared(self, branches: dict[Formula, None]) -> dict[Formula, None]:
        """The conjuncts that every branch has."""
        first, *rest = branches
        shared = dict.fromkeys(self.conjuncts(first))
        for branch in rest:
            theirs = set(self.conjuncts(branch))
            shared = {part: None for part in shared if part in theirs}
            if not shared:
                break
        return shared

    def conjuncts(self, formula: Formula) -> tuple[Formula, ...]:
        """The parts of an and; anything else is its only part; true has none."""
        if formula == TRUE:
            return ()
        record = self.records[formula]
        return record.parts if type(record) is And else (formula,)

    def branches(self, formula: Formula) -> tuple[Formula, ...]:
        """The parts of an or; anything else is its only branch; false has none."""
        if formula == FALSE:
            return ()
        record = self.records[formula]
        return record.parts if type(record) is Or else (formula,)

    # ---- claims ----

    def claim(self, claim: Claim) -> Formula:
        """The formula that is this one claim, as it stands; see the methods below for those with trivial cases."""
        return self._intern(claim)

    def member(self, keys: Keys, literal: Literal) -> Formula:
        """Every member with such a key satisfies the literal."""
        return TRUE if literal == ALWAYS else self._intern(Member(keys, literal))

    def some(self, keys: Keys, literal: Literal, count: int = 1) -> Formula:
        """At least ``count`` such members. A name occurs at most once, so there it is has-and-member."""
        if count <= 0:
            return TRUE
        if literal == NEVER:
            return FALSE
        if isinstance(keys, str):
            if count > 1:
                return FALSE
            return self.conjunction([self._intern(Has(keys)), self.member(keys, literal)])
        return self._intern(Some(keys, literal, count))

    def most(self, keys: Keys, literal: Literal, count: int) -> Formula:
        """At most ``count`` members with such keys fail the literal."""
        if count < 0:
            return FALSE
        if count == 0:
            return self.member(keys, literal)
        return TRUE if literal == ALWAYS or isinstance(keys, str) else self._intern(Most(keys, literal, count))

    def item(self, index: int, literal: Literal) -> Formula:
        """The item at the index, if there, satisfies the literal."""
        if literal == NEVER:
            return self.count_max(index)
        return TRUE if literal == ALWAYS else self._intern(Item(index, literal))

    def rest(self, start: int, literal: Literal) -> Formula:
        """Every item from the index on satisfies the literal."""
        if literal == NEVER:
            return self.count_max(start)
        return TRUE if literal == ALWAYS else self._intern(Rest(start, literal))

    def some_item(self, start: int, literal: Literal, count: int) -> Formula:
        """At least ``count`` items from the index on satisfy the literal."""
        if count <= 0:
            return TRUE
        if literal == ALWAYS:
            return self.count_min(start + count)
        return FALSE if literal == NEVER else self._intern(SomeItem(start, literal, count))

    def most_item(self, start: int, literal: Literal, count: int) -> Formula:
        """At most ``count`` items from the index on fail the literal."""
        if count < 0:
            return FALSE
        if count == 0:
            return self.rest(start, literal)
        if literal == NEVER:
            return self.count_max(start + count)
        return TRUE if literal == ALWAYS else self._intern(MostItem(start, literal, count))

    def count_min(self, count: int) -> Formula:
        """At least ``count`` entries."""
        return TRUE if count <= 0 else self._intern(CountMin(count))

    def count_max(self, count: int) -> Formula:
        """At most ``count`` entries."""
        return FALSE if count < 0 else self._intern(CountMax(count))

    def length(self, minimum: int, maximum: int | None) -> Formula:
        """A string of so many code points."""
        if maximum is not None and maximum < minimum:
            return FALSE
        return TRUE if minimum <= 0 and maximum is None else self._intern(Length(max(minimum, 0), maximum))

    # ---- negation ----

    def negate(self, formula: Formula) -> Formula:
        """The negation, again in negation normal form. An order, which says nothing of the value, vanishes."""
        known = self._negations.get(formula)
        if known is not None:
            return known
        record = self.records[formula]
        if isinstance(record, And):
            result = self.disjunction([self.negate(part) for part in record.parts])
        elif isinstance(record, Or):
            result = self.conjunction([self.negate(part) for part in record.parts])
        else:
            assert not isinstance(record, bool)
            result = _NEGATE[type(record)](self, record)
        self._negations[formula] = result
        return result

    # ---- walks ----

    def claims_of(self, formula: Formula) -> Iterator[Formula]:
        """The claims in a formula, each once, in order of appearance."""
        stack = [formula]
        seen: set[Formula] = set()
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            record = self.records[current]
            if isinstance(record, (And, Or)):
                stack.extend(reversed(record.parts))
            elif current > TRUE:
                yield current

    def holds(
        self, formula: Formula, claim_holds: Callable[[Formula], bool], memo: dict[Formula, bool] | None = None
    ) -> bool:
        """Whether the formula is true where its claims are as said. A part that stands in many places is asked once."""
        if formula <= TRUE:
            return formula == TRUE
        if memo is None:
            memo = {}
        known = memo.get(formula)
        if known is None:
            record = self.records[formula]
            if isinstance(record, And):
                known = all(self.holds(part, claim_holds, memo) for part in record.parts)
            elif isinstance(record, Or):
                known = any(self.holds(part, claim_holds, memo) for part in record.parts)
            else:
                known = claim_holds(formula)
            memo[formula] = known
        return known

    def size(self, formula: Formula) -> int:
        """Claims and connectives of the formula as a tree: one that stands twice counts twice."""
        return self._sizes[formula]

    def rewrite(
        self, formula: Formula, replace: Callable[[Formula], Formula], memo: dict[Formula, Formula] | None = None
    ) -> Formula:
        """The formula with every claim replaced. ``memo``: what it is for parts, where many are asked of."""
        if formula <= TRUE:
            return formula
        if memo is None:
            memo = {}
        known = memo.get(formula)
        if known is not None:
            return known
        record = self.records[formula]
        if isinstance(record, (And, Or)):
            parts = tuple([self.rewrite(part, replace, memo) for part in record.parts])
            if parts == record.parts:
                result = formula
            else:
                result = self.conjunction(parts) if isinstance(record, And) else self.disjunction(parts)
        else:
            result = replace(formula)
        memo[formula] = result
        return result


def _not_item(formulas: Formulas, claim: Item) -> Formula:
    return formulas.conjunction([formulas.count_min(claim.place + 1), formulas.item(claim.place, claim.literal ^ 1)])


def _not_length(formulas: Formulas, claim: Length) -> Formula:
    above = FALSE if claim.maximum is None else formulas.length(claim.maximum + 1, None)
    return formulas.disjunction([formulas.length(0, claim.minimum - 1), above])


#: How each kind of claim is negated. The rows are typed by hand: a dict can't say that key and argument agree.
_NEGATE: dict[type, Callable[[Formulas, Any], Formula]] = {
    Member: lambda t, c: t.some(c.keys, c.literal ^ 1),
    Some: lambda t, c: t.most(c.keys, c.literal ^ 1, c.times - 1),
    Most: lambda t, c: t.some(c.keys, c.literal ^ 1, c.times + 1),
    Has: lambda t, c: t.claim(Lacks(c.name)),
    Lacks: lambda t, c: t.claim(Has(c.name)),
    Order: lambda _t, _c: FALSE,
    Item: _not_item,
    Rest: lambda t, c: t.some_item(c.start, c.literal ^ 1, 1),
    SomeItem: lambda t, c: t.most_item(c.start, c.literal ^ 1, c.times - 1),
    MostItem: lambda t, c: t.some_item(c.start, c.literal ^ 1, c.times + 1),
    CountMin: lambda t, c: t.count_max(c.times - 1),
    CountMax: lambda t, c: t.count_min(c.times + 1),
    Unique: lambda t, c: t.claim(Unique(not c.positive)),
    Truth: lambda t, c: t.claim(Truth(not c.value)),
    Bound: lambda t, c: t.claim(Bound(c.value, not c.upper, not c.inclusive)),
    Integral: lambda t, c: t.claim(Integral(not c.positive)),
    Multiple: lambda t, c: t.claim(Multiple(c.divisor, not c.positive)),
    OneNumber: lambda t, c: t.claim(OneNumber(c.values, not c.positive)),
    Length: _not_length,
    Pattern: lambda t, c: t.claim(Pattern(c.pattern, not c.positive)),
    Text: lambda t, c: t.claim(Text(c.values, not c.positive)),
    Format: lambda t, c: t.claim(Format(c.name, not c.positive)),
}
