"""Schemas that look at the same value become one formula for each JSON type.

Memoised on (type, schema), and free of recursion over the nesting of schemas. A schema that reaches itself without
going into a value (``{"allOf": [{"$ref": "#"}]}``) is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grammar_decode.errors import SchemaError, SchemaTooComplex
from grammar_decode.json_schema.claims import (
    ALWAYS,
    EVERY_TYPE,
    OBJECT,
    STRING,
    TYPES,
    Keys,
    Literal,
    Matching,
    Others,
)
from grammar_decode.json_schema.contradictions import Contradictions, Unfinished, told_apart
from grammar_decode.json_schema.document import Document
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
from grammar_decode.json_schema.formula import FALSE, TRUE, Formula, Formulas
from grammar_decode.json_schema.read import Reader
from grammar_decode.json_schema.scalars import Numbers
from grammar_decode.json_schema.strings import Strings
from grammar_decode.limits import Work

#: A formula this many times larger than ``Limits.max_formula`` is given up at once; what can be left out of a smaller
#: one is sought, which takes its time.
MOST_TIMES_TOO_LARGE = 16
#: So many branches of a oneOf are first told apart by a property that names each.
MANY_BRANCHES = 8
#: Schemas inside each other that are looked at for the types that a value may have.
TYPES_DEPTH = 16


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
        self._contradictions: Contradictions | None = None
        self._evaluation: Evaluation | None = None

    def dismantle(self) -> None:
        """No more questions: take the circles of references apart."""
        self._contradictions = self._evaluation = None

    @property
    def contradictions(self) -> Contradictions:
        """What is plainly impossible."""
        if self._contradictions is None:
            self._contradictions = Contradictions(self, self.formulas, self.strings, self.numbers)
        return self._contradictions

    @property
    def evaluation(self) -> Evaluation:
        """What keywords evaluate; hardly ever needed."""
        if self._evaluation is None:
            self._evaluation = Evaluation(
                self.document, self.reader, self.formulas, self.formula, self.speaks_of, self.contradictions.overlap
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
                    raise Unfinished
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
        apart = self.contradictions
        tags = [apart.tags(branch) for branch in live] if json_type == OBJECT and len(live) >= MANY_BRANCHES else None
        ways = []
        for i, branch in enumerate([tied[i] for i in kept]):
            others = []
            self.work.tick(8 * len(live))
            for j, other in enumerate(live):
                exclude = j == i or (tags is not None and told_apart(tags[i], tags[j]))
                if not exclude and apart.overlap(json_type, branch, other):
                    others.append(formulas.negate(other))
            ways.append(formulas.conjunction([branch, *others]))
        return formulas.disjunction(ways)

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
