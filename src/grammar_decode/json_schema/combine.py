"""Schemas that look at the same value become one formula for each JSON type; and what is plainly impossible.

Memoised on (type, schema), and free of recursion over the nesting of schemas. A schema that reaches itself without
going into a value (``{"allOf": [{"$ref": "#"}]}``) is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from grammar_decode.errors import SchemaError, SchemaTooComplex
from grammar_decode.json_schema.claims import (
    ALWAYS,
    BOOLEAN,
    EVERY_TYPE,
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
    Keys,
    Lacks,
    Literal,
    Matching,
    Member,
    Most,
    MostItem,
    Others,
    Rest,
    Some,
    SomeItem,
    Unique,
)
from grammar_decode.json_schema.document import Document, Json, Schema
from grammar_decode.json_schema.evaluated import Evaluation
from grammar_decode.json_schema.expressions import (
    AllOf,
    AnyOf,
    Apply,
    Conditional,
    Expression,
    OneOf,
    Reading,
    Unevaluated,
)
from grammar_decode.json_schema.formula import FALSE, TRUE, Formula, Formulas, Or
from grammar_decode.json_schema.keywords import Dialect, keywords_of
from grammar_decode.json_schema.read import Reader
from grammar_decode.json_schema.scalars import Numbers, truths
from grammar_decode.json_schema.strings import Strings
from grammar_decode.limits import Work

#: How deep inside a value a contradiction is looked for: discriminators are near the surface.
CONTRADICTION_DEPTH = 6
#: Alternatives tried to find a contradiction, and items of an array looked at.
CONTRADICTION_BREADTH = 64
#: Formulas looked at for one question whether something is plainly impossible, and (claims in them) for all questions
#: of one compilation; after that, alternatives are not tried any more.
CONTRADICTION_STEPS = 500
CONTRADICTION_CLAIMS = 200_000
#: A formula this many times larger than ``Limits.max_formula`` is given up at once; what can be left out of a smaller
#: one is sought, which takes its time.
MOST_TIMES_TOO_LARGE = 16
#: So many branches of a oneOf are first told apart by a property that names each.
MANY_BRANCHES = 8
#: Schemas inside each other that are looked at for the types that a value may have.
TYPES_DEPTH = 16
#: Parts of a schema object that are compared with another's by content.
CONTENT_SIZE = 400


class _Unfinished(Exception):
    """The answer needs a formula that is being made."""


class _Named(NamedTuple):
    """What an object formula says of single names, its alternatives aside."""

    has: set[str]
    lacks: set[str]
    said: dict[str, Conjunction]


class Combiner:
    """The formulas of one compilation."""

    def __init__(
        self,
        document: Document,
        reader: Reader,
        formulas: Formulas,
        strings: Strings,
        numbers: Numbers,
        work: Work,
    ) -> None:
        self.document = document
        self.reader = reader
        self.formulas = formulas
        self.strings = strings
        self.numbers = numbers
        self.limits = work.limits
        self.work = work
        self._formulas: dict[int, dict[int, Formula]] = {t: {} for t in TYPES}  # by type, by schema number
        self._admitted: dict[int, int] = {}
        self._under_way: set[tuple[int, int]] = set()
        self._nothing: dict[Conjunction, bool] = {}
        self._contradictions: dict[tuple[int, Formula], bool] = {}
        self._depth = 0
        self._asking = 0  # questions inside each other
        self._steps = 0  # taken for the outermost one
        self._claims_seen = 0
        self._contents: dict[Any, int] = {}
        self._targets: dict[Literal, Literal] = {}
        self._canonical: dict[int, Literal] = {}
        self._canonical_formulas: dict[Formula, Formula] = {}
        self._names: dict[Formula, _Named] = {}
        self._overlaps: dict[tuple[int, Formula, Formula], bool] = {}
        self._evaluation: Evaluation | None = None

    def dismantle(self) -> None:
        """No more questions: take the circles of references apart."""
        self._evaluation = None

    @property
    def evaluation(self) -> Evaluation:
        """What keywords evaluate; hardly ever needed."""
        if self._evaluation is None:
            self._evaluation = Evaluation(
                self.document, self.reader, self.formulas, self.formula, self.speaks_of, self._overlap
            )
        return self._evaluation

    # ---- formulas ----

    def formula(self, json_type: int, literal: Literal) -> Formula:
        """What the literal says of values of the type."""
        if literal <= ALWAYS:
            return TRUE if literal == ALWAYS else FALSE
        number = literal >> 1
        known = self._formulas[json_type].get(number)
        if known is None:
            known = self._of_schema(json_type, number)
        return known if literal & 1 else self.formulas.negate(known)

    def conjunction(self, json_type: int, literals: Sequence[Literal]) -> Formula:
        """What all of the literals say of values of the type."""
        if len(literals) == 1:
            return self.formula(json_type, literals[0])
        self.work.tick(1 + len(literals))
        parts = []
        for literal in literals:
            part = self.formula(json_type, literal)
            if part == FALSE:
                return FALSE
            parts.append(part)
        return parts[0] if len(parts) == 1 else self.formulas.conjunction(parts)

    def types_of(self, literals: Sequence[Literal]) -> int:
        """The types that none of the literals plainly excludes."""
        types = EVERY_TYPE
        for literal in literals:
            if literal & 1 and literal != ALWAYS:
                types &= self.admitted(literal >> 1)
        return types

    def admitted(self, number: int, depth: int = 0) -> int:
        """The types that a schema does not plainly exclude, nor those that it applies to the same value."""
        known = self._admitted.get(number)
        if known is None:
            reading = self.reader.read(number)
            known = reading.types
            if reading.applies and depth < TYPES_DEPTH:
                self._admitted[number] = known  # where the question comes back to itself
                for types, part in reading.parts:
                    if known & types and not isinstance(part, int):
                        known &= ~types | self._admitted_by(part, depth + 1)
            self._admitted[number] = known
        return known

    def _admitted_by(self, expression: Expression, depth: int) -> int:
        if isinstance(expression, Apply):
            literal = expression.literal
            if literal <= ALWAYS:
                return EVERY_TYPE if literal else 0
            return self.admitted(literal >> 1, depth) if literal & 1 else EVERY_TYPE
        if isinstance(expression, AnyOf):
            some = 0
            for part in expression.parts:
                some |= self._admitted_by(part, depth)
            return some
        if isinstance(expression, AllOf):
            every = EVERY_TYPE
            for part in expression.parts:
                every &= self._admitted_by(part, depth)
            return every
        if isinstance(expression, OneOf):
            return self._admitted_by(AnyOf(tuple(map(Apply, expression.literals))), depth)
        if isinstance(expression, Conditional):
            return self._admitted_by(AnyOf((Apply(expression.then), Apply(expression.otherwise))), depth)
        return EVERY_TYPE if expression != FALSE else 0

    def _of_schema(self, json_type: int, number: int) -> Formula:
        reading = self.reader.read(number)
        if not self.admitted(number) & json_type:
            result = FALSE
        elif reading.applies:
            return self._of_applied(json_type, number)
        else:  # no larger than what the schema object says
            said = [
                part if isinstance(part, int) else self._value(part, json_type)
                for types, part in reading.parts
                if types & json_type
            ]
            result = said[0] if len(said) == 1 else self.formulas.conjunction(said)
        self._formulas[json_type][number] = result
        return result

    def _of_applied(self, json_type: int, number: int) -> Formula:
        """Depth first over the schemas that look at the same value, with a stack of its own."""
        done = self._formulas[json_type]
        stack = [number]
        path: set[int] = set()
        try:
            while stack:
                top = stack[-1]
                if top in done:
                    stack.pop()
                    continue
                if not self.admitted(top) & json_type:
                    done[top] = FALSE
                    stack.pop()
                    continue
                reading = self.reader.read(top)
                waiting: list[int] = []
                if reading.applies and top not in path:
                    waiting = [n for n in self._needed(reading, json_type) if n not in done]
                key = (json_type, top)
                if not waiting:
                    done[top] = self._evaluated(json_type, top, reading)
                    path.discard(top)
                    self._under_way.discard(key)
                    stack.pop()
                    continue
                if key in self._under_way:
                    raise _Unfinished
                path.add(top)
                self._under_way.add(key)
                self._check_path(path, waiting, top)
                stack.extend(waiting)
        finally:
            self._under_way.difference_update((json_type, n) for n in path)
        return done[number]

    def _needed(self, reading: Reading, json_type: int) -> Iterator[int]:
        """The schemas whose formulas the reading is made of."""
        stack = [part for types, part in reading.parts if types & json_type]
        while stack:
            part = stack.pop()
            if isinstance(part, Apply):
                literals: tuple[Literal, ...] = (part.literal,)
            elif isinstance(part, OneOf):
                literals = part.literals
            elif isinstance(part, Conditional):
                literals = tuple(part)
            elif isinstance(part, Unevaluated):
                yield from self.evaluation.needed(json_type, part.number)
                continue
            else:
                if isinstance(part, (AnyOf, AllOf)):
                    stack.extend(part.parts)
                continue
            yield from (literal >> 1 for literal in literals if literal > ALWAYS)

    def _check_path(self, path: set[int], waiting: list[int], top: int) -> None:
        if not path.isdisjoint(waiting):
            schema = self.document.schemas[next(n for n in waiting if n in path)]
            raise SchemaError(
                "the schema refers to itself without going into a property or an item, so it never says anything",
                location=schema.location,
                hint=f"The loop is closed at {self.document.schemas[top].location}.",
            )
        if len(path) > self.limits.max_depth:
            raise SchemaTooComplex(
                f"more than {self.limits.max_depth} schemas inside each other look at the same value",
                limit="max_depth",
                location=self.document.schemas[top].location,
            )

    def _evaluated(self, json_type: int, number: int, reading: Reading) -> Formula:
        self.work.tick(10)
        result = self.formulas.conjunction([self._value(part, json_type) for part in reading.of_type(json_type)])
        if self.formulas.size(result) > MOST_TIMES_TOO_LARGE * self.limits.max_formula:
            raise SchemaTooComplex(
                f"alternatives inside each other come to more than {MOST_TIMES_TOO_LARGE} times"
                f" {self.limits.max_formula} claims and connectives",
                limit="max_formula",
                location=self.document.schemas[number].location,
            )
        return result

    def _value(self, expression: Expression, json_type: int) -> Formula:
        formulas = self.formulas
        if isinstance(expression, int):
            return expression
        if isinstance(expression, Apply):
            return self.formula(json_type, expression.literal)
        if isinstance(expression, AnyOf):
            return formulas.disjunction([self._value(part, json_type) for part in expression.parts])
        if isinstance(expression, AllOf):
            return formulas.conjunction([self._value(part, json_type) for part in expression.parts])
        if isinstance(expression, OneOf):
            ties = expression.ties if json_type == OBJECT else ()
            return self._exactly_one(json_type, [self.formula(json_type, lit) for lit in expression.literals], ties)
        if isinstance(expression, Unevaluated):
            return self.evaluation.unevaluated(json_type, expression.number, expression.literal)
        condition = self.formula(json_type, expression.condition)
        then = self.formula(json_type, expression.then)
        otherwise = self.formula(json_type, expression.otherwise)
        # subtle: the condition stays beside `then`, although `then or not condition` is equivalent: forty conditions
        # on one discriminator exclude each other only where both sides of each are told apart.
        return formulas.disjunction(
            [formulas.conjunction([condition, then]), formulas.conjunction([formulas.negate(condition), otherwise])]
        )

    def _exactly_one(self, json_type: int, branches: list[Formula], ties: tuple[Formula, ...]) -> Formula:
        formulas = self.formulas
        tied = [formulas.conjunction(pair) for pair in zip(ties, branches, strict=True)] if ties else branches
        kept = [i for i, branch in enumerate(branches) if branch != FALSE]
        live = [branches[i] for i in kept]
        tags = [self._tags(branch) for branch in live] if json_type == OBJECT and len(live) >= MANY_BRANCHES else None
        ways = []
        for i, branch in enumerate([tied[i] for i in kept]):
            others = []
            self.work.tick(8 * len(live))
            for j, other in enumerate(live):
                exclude = j == i or (tags is not None and _tell_apart(tags[i], tags[j]))
                if not exclude and self._overlap(json_type, branch, other):
                    others.append(formulas.negate(other))
            ways.append(formulas.conjunction([branch, *others]))
        return formulas.disjunction(ways)

    def _tags(self, formula: Formula) -> dict[str, frozenset[str]]:
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
                if name in has and all(t == STRING or self.formula(t, literal) == FALSE for t in TYPES):
                    values = self.strings.finite(self.formula(STRING, literal))
                    if values is not None:
                        found[name] = frozenset(values)
        except _Unfinished:
            pass  # the schema of a value that is this object's own: no tag
        return found

    def _overlap(self, json_type: int, one: Formula, other: Formula) -> bool:
        pair = (json_type, one, other) if one < other else (json_type, other, one)
        known = self._overlaps.get(pair)
        if known is not None:
            return known
        # A question of its own, even where this formula is made for another one.
        asking, steps, self._asking = self._asking, self._steps, 0
        try:
            apart = json_type == OBJECT and self._names_apart(one, other)
            known = not (apart or self.contradicts(json_type, self.formulas.conjunction(pair[1:])))
        except _Unfinished:
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

    # ---- what is plainly impossible ----

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
            types = self.types_of(ordered)
            result = all(self.contradicts(t, self.conjunction(t, ordered)) for t in TYPES if t & types)
        except _Unfinished:
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
            except _Unfinished:
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
                said = said + [member.literal for member in of_many if self.speaks_of(member.keys, name)]
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

    # ---- keys ----

    def speaks_of(self, keys: Keys, name: str) -> bool:
        """Whether a name is one of the keys."""
        if isinstance(keys, str):
            return keys == name
        if isinstance(keys, Matching):
            return self.strings.pattern_matches(keys.pattern, name)
        if isinstance(keys, Others):
            return name not in keys.names and not any(self.strings.pattern_matches(p, name) for p in keys.patterns)
        return self.strings.accepts(self.formula(STRING, keys.literal), name)

    # ---- equal schemas ----

    def target(self, literal: Literal) -> Literal:
        """The literal without detours through schemas that are nothing but a reference."""
        known = self._targets.get(literal)
        if known is not None:
            return known
        current = literal
        seen: set[Literal] = set()
        while current > ALWAYS and current not in seen:  # a loop is an error that is found when its formula is made
            seen.add(current)
            alias = self.reader.alias(current >> 1)
            if alias is None:
                break
            current = alias if current & 1 else alias ^ 1
            current = self._targets.get(current, current)
        self.work.tick(len(seen))
        self._targets.update(dict.fromkeys(seen, current))
        return current

    def looked_at(self) -> Iterator[int]:
        """The schemas that :meth:`target` was asked of; not all of them were read."""
        return (literal >> 1 for literal in self._targets)

    def canonical(self, literal: Literal) -> Literal:
        """The literal of the first schema with the same content, so that equal claims are one claim."""
        literal = self.target(literal)
        if literal <= ALWAYS:
            return literal
        number = literal >> 1
        known = self._canonical.get(number)
        if known is None:
            budget = [CONTENT_SIZE]
            content = self._content(self.document.schemas[number], budget)
            if budget[0] < 0:
                known = 2 * number + 1  # too large to compare
            elif not content[1]:
                known = ALWAYS
            else:
                known = 2 * self._contents.setdefault(content, number) + 1
            self._canonical[number] = known
        return known if literal & 1 else known ^ 1

    def _content(self, schema: Schema, budget: list[int]) -> tuple[int, Any]:
        return id(schema.scope), _schema_content(schema.value, schema.scope.dialect, budget)

    def canonical_formula(self, formula: Formula) -> Formula:
        """The formula with equal schemas in its claims made one."""
        return self.formulas.rewrite(formula, self._canonical_claim, self._canonical_formulas)

    def _canonical_claim(self, claim: Formula) -> Formula:
        formulas = self.formulas
        record = formulas.records[claim]
        if not isinstance(record, (Member, Some, Most, Item, Rest, SomeItem, MostItem)):
            return claim
        literal = self.canonical(record.literal)
        if literal == record.literal:
            return claim
        if isinstance(record, Member):
            return formulas.member(record.keys, literal)
        if isinstance(record, Some):
            return formulas.some(record.keys, literal, record.times)
        if isinstance(record, Most):
            return formulas.most(record.keys, literal, record.times)
        if isinstance(record, Item):
            return formulas.item(record.place, literal)
        if isinstance(record, Rest):
            return formulas.rest(record.start, literal)
        if isinstance(record, SomeItem):
            return formulas.some_item(record.start, literal, record.times)
        return formulas.most_item(record.start, literal, record.times)


def _tell_apart(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """Whether some name must have one of these strings here, and other ones there."""
    return any(values.isdisjoint(other[name]) for name, values in one.items() if name in other)


def _schema_content(value: Json, dialect: Dialect, budget: list[int]) -> Any:
    """A hashable that is equal for schemas that say the same in the same words, annotations aside."""
    if not isinstance(value, dict):
        return _content(value, budget)
    holds_of = _compared(dialect)
    parts: list[tuple[str, Any]] = []
    for keyword in sorted(holds_of.keys() & value):
        budget[0] -= 1
        if budget[0] < 0:
            return ()
        inner = value[keyword]
        holds = holds_of[keyword]
        if not holds:
            said: Any = _content(inner, budget)
        elif isinstance(inner, dict) and holds.startswith("map"):
            said = tuple([(name, _schema_content(item, dialect, budget)) for name, item in inner.items()])
        elif isinstance(inner, list) and holds.startswith("list"):
            said = tuple([_schema_content(item, dialect, budget) for item in inner])
        else:
            said = _schema_content(inner, dialect, budget)
        parts.append((keyword, said))
    return tuple(parts)


@cache
def _compared(dialect: Dialect) -> dict[str, str]:
    """The keywords that tell schemas apart, with what they hold."""
    return {
        keyword: row.holds
        for keyword, row in keywords_of(dialect).items()
        if row.outcome not in ("annotation", "structure") or keyword in ("$id", "id", "$schema")
    }


def _content(value: Json, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        return ()
    if isinstance(value, dict):
        return (dict, tuple([(key, _content(item, budget)) for key, item in value.items()]))
    if isinstance(value, list):
        return (list, tuple([_content(item, budget) for item in value]))
    return (type(value), value)
