"""What is plainly impossible: schemas that no value satisfies together, and alternatives that exclude each other.

A search with bounds: it may miss some, and what it finds is certain. Liveness does not rest on it, which is the
kernel's matter. It keeps alternatives apart that would multiply, and empty ones out of the grammar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grammar_decode.json_schema.claims import (
    BOOLEAN,
    NEVER,
    NO_LITERALS,
    NUMBER,
    OBJECT,
    STRING,
    TYPES,
    Conjunction,
    CountMax,
    CountMin,
    Has,
    Item,
    Lacks,
    Literal,
    Member,
    Rest,
    SomeItem,
    Unique,
)
from grammar_decode.json_schema.formula import FALSE, TRUE, Formula, Formulas, Or
from grammar_decode.json_schema.scalars import Numbers, truths
from grammar_decode.json_schema.strings import Strings

if TYPE_CHECKING:
    from grammar_decode.json_schema.combine import Combiner

#: How deep inside a value a contradiction is looked for: discriminators are near the surface.
CONTRADICTION_DEPTH = 6
#: Alternatives tried to find a contradiction, and items of an array looked at.
CONTRADICTION_BREADTH = 64
#: Formulas looked at for one question whether something is plainly impossible, and (claims in them) for all questions
#: of one compilation; after that, alternatives are not tried any more.
CONTRADICTION_STEPS = 500
CONTRADICTION_CLAIMS = 200_000


class Unfinished(Exception):
    """The answer needs a formula that is being made."""


class _Named(NamedTuple):
    """What an object formula says of single names, its alternatives aside."""

    has: set[str]
    lacks: set[str]
    said: dict[str, Conjunction]


class Contradictions:
    """The contradictions of one compilation; ``combiner`` says what schemas come to."""

    def __init__(self, combiner: Combiner, formulas: Formulas, strings: Strings, numbers: Numbers) -> None:
        self.combiner = combiner
        self.formulas = formulas
        self.strings = strings
        self.numbers = numbers
        self._nothing: dict[Conjunction, bool] = {}
        self._contradictions: dict[tuple[int, Formula], bool] = {}
        self._depth = 0
        self._asking = 0  # questions inside each other
        self._steps = 0  # taken for the outermost one
        self._claims_seen = 0
        self._names: dict[Formula, _Named] = {}
        self._overlaps: dict[tuple[int, Formula, Formula], bool] = {}

    def nothing(self, literals: Conjunction) -> bool:
        """Whether it is plain to see that no value satisfies all of the literals. May miss some."""
        if NEVER in literals:
            return True
        known = self._nothing.get(literals)
        if known is not None:
            return known
        if len(literals) == 0 or self._depth >= CONTRADICTION_DEPTH:
            return False
        self._nothing[literals] = False  # where the question comes back to itself
        self._depth += 1
        try:
            ordered = sorted(literals)
            types = self.combiner.types_of(ordered)
            result = all(self.contradicts(t, self.combiner.conjunction(t, ordered)) for t in TYPES if t & types)
        except Unfinished:
            del self._nothing[literals]
            return False
        finally:
            self._depth -= 1
        self._nothing[literals] = result
        return result

    def contradicts(self, json_type: int, formula: Formula) -> bool:
        """Whether it is plain to see that no value of the type satisfies the formula. May miss some."""
        if formula <= TRUE:
            return formula == FALSE
        key = (json_type, formula)
        known = self._contradictions.get(key)
        if known is None:
            if not self._asking:
                self._steps = 0
            self._steps += 1
            if self._steps > CONTRADICTION_STEPS:
                return False
            self._contradictions[key] = False  # where the question comes back to itself
            self._asking += 1
            try:
                known = self._contradicts(json_type, formula)
            except Unfinished:
                del self._contradictions[key]
                raise
            finally:
                self._asking -= 1
            self._contradictions[key] = known
        return known

    def _contradicts(self, json_type: int, formula: Formula) -> bool:
        if json_type == STRING:
            return self.strings.is_empty(formula)
        if json_type == NUMBER:
            return self.numbers.is_empty(formula)
        if json_type == BOOLEAN:
            return not truths(self.formulas, formula)
        claims: list[Formula] = []
        choices: list[Formula] = []
        for part in self.formulas.conjuncts(formula):
            (choices if isinstance(self.formulas.records[part], Or) else claims).append(part)
        refuted = self._object_refuted if json_type == OBJECT else self._array_refuted
        if claims and refuted(claims):
            return True
        budget = CONTRADICTION_BREADTH
        self._claims_seen += len(claims)
        if self._claims_seen > CONTRADICTION_CLAIMS:
            return False
        for choice in choices:
            branches = self.formulas.branches(choice)
            budget -= len(branches)
            if budget < 0:
                break
            if all(self.contradicts(json_type, self.formulas.conjunction([*claims, branch])) for branch in branches):
                return True
        return False

    def _object_refuted(self, claims: list[Formula]) -> bool:
        records = self.formulas.records
        has: dict[str, None] = {}
        lacks: set[str] = set()
        named: dict[str, list[Literal]] = {}  # what is said of the values, by name
        of_many: list[Member] = []
        least, most = 0, None
        for claim in claims:
            record = records[claim]
            if isinstance(record, Member):
                if isinstance(record.keys, str):
                    named.setdefault(record.keys, []).append(record.literal)
                else:
                    of_many.append(record)
            elif isinstance(record, Has):
                has[record.name] = None
            elif isinstance(record, Lacks):
                lacks.add(record.name)
            elif isinstance(record, CountMin):
                least = max(least, record.times)
            elif isinstance(record, CountMax):
                most = record.times if most is None else min(most, record.times)
        if most is not None and max(least, len(has)) > most:
            return True
        if not lacks.isdisjoint(has):
            return True
        for name in has:
            said = named.get(name, [])
            if of_many:
                said = said + [member.literal for member in of_many if self.combiner.speaks_of(member.keys, name)]
            if NEVER in said:
                return True
            if len(said) > 1:
                met = frozenset(said)
                if len(met) > 1 and self.nothing(met):
                    return True
        return False

    def _array_refuted(self, claims: list[Formula]) -> bool:
        records = self.formulas.records
        items: list[Item | Rest] = []
        distinct: set[bool] = set()
        least, most = 0, None
        for claim in claims:
            record = records[claim]
            if isinstance(record, (Item, Rest)):
                items.append(record)
            elif isinstance(record, CountMin):
                least = max(least, record.times)
            elif isinstance(record, CountMax):
                most = record.times if most is None else min(most, record.times)
            elif isinstance(record, SomeItem):
                least = max(least, record.start + record.times)
            elif isinstance(record, Unique):
                distinct.add(record.positive)
        if most is not None and least > most:
            return True
        if False in distinct and (True in distinct or (most is not None and most <= 1)):
            return True
        for index in range(min(least, CONTRADICTION_BREADTH)):
            met = frozenset(c.literal for c in items if (c.place == index if isinstance(c, Item) else c.start <= index))
            if len(met) > 1 and self.nothing(met):
                return True
        return False

    # ---- alternatives that exclude each other ----

    def tags(self, formula: Formula) -> dict[str, frozenset[str]]:
        """The names that an object of the formula must have and whose values are a few strings: those strings."""
        records = self.formulas.records
        has: set[str] = set()
        literals: dict[str, Literal] = {}
        for part in self.formulas.conjuncts(formula):
            record = records[part]
            if isinstance(record, Has):
                has.add(record.name)
            elif isinstance(record, Member) and isinstance(record.keys, str):
                literals.setdefault(record.keys, record.literal)
        found: dict[str, frozenset[str]] = {}
        try:
            for name, literal in literals.items():
                if name in has and all(t == STRING or self.combiner.formula(t, literal) == FALSE for t in TYPES):
                    values = self.strings.finite(self.combiner.formula(STRING, literal))
                    if values is not None:
                        found[name] = frozenset(values)
        except Unfinished:
            pass  # the schema of a value that is this object's own: no tag
        return found

    def overlap(self, json_type: int, one: Formula, other: Formula) -> bool:
        pair = (json_type, one, other) if one < other else (json_type, other, one)
        known = self._overlaps.get(pair)
        if known is not None:
            return known
        # A question of its own, even where this formula is made for another one.
        asking, steps, self._asking = self._asking, self._steps, 0
        try:
            apart = json_type == OBJECT and self._names_apart(one, other)
            known = not (apart or self.contradicts(json_type, self.formulas.conjunction(pair[1:])))
        except Unfinished:
            return True
        finally:
            self._asking, self._steps = asking, steps
        self._overlaps[pair] = known
        return known

    def _names_apart(self, one: Formula, other: Formula) -> bool:
        """Whether a name that one of two object formulas requires tells them apart, as most alternatives are."""
        here, there = self._named(one), self._named(other)
        if not (here.has.isdisjoint(there.lacks) and there.has.isdisjoint(here.lacks)):
            return True
        for name, literals in here.said.items():
            if name in there.said and (name in here.has or name in there.has):
                met = literals | there.said[name]
                if len(met) > 1 and self.nothing(met):
                    return True
        return False

    def _named(self, formula: Formula) -> _Named:
        known = self._names.get(formula)
        if known is None:
            has: set[str] = set()
            lacks: set[str] = set()
            said: dict[str, Conjunction] = {}
            for part in self.formulas.conjuncts(formula):
                record = self.formulas.records[part]
                if isinstance(record, Member):
                    if isinstance(record.keys, str):
                        said[record.keys] = said.get(record.keys, NO_LITERALS) | {record.literal}
                elif isinstance(record, Has):
                    has.add(record.name)
                elif isinstance(record, Lacks):
                    lacks.add(record.name)
            known = self._names[formula] = _Named(has, lacks, said)
        return known


def told_apart(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """Whether some name must have one of these strings here, and other ones there."""
    return any(values.isdisjoint(other[name]) for name, values in one.items() if name in other)
