"""`unevaluatedProperties` and `unevaluatedItems`: what the keywords beside them evaluate, and on which condition.

A key is evaluated by the subschemas that hold (core specification, section 11), so evaluation is claimed along each
branch: :meth:`Evaluation.evaluates` maps keys, or items, to the formulas under any of which they are evaluated, given
that the schema object holds. All of it is exact, and again and/or over claims, so it may be negated like any formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TypeAlias, TypeVar

from grammar_decode.errors import SchemaTooComplex
from grammar_decode.json_schema.claims import ALWAYS, OBJECT, Has, Keys, Literal, Matching, Order, Others
from grammar_decode.json_schema.document import Document, Json, Schema
from grammar_decode.json_schema.expressions import Apply
from grammar_decode.json_schema.formula import FALSE, TRUE, Formula, Formulas
from grammar_decode.json_schema.keywords import keywords_of
from grammar_decode.json_schema.read import Reader

#: Conditions that overlapping patterns, or `contains`, are evaluated on; each doubles the formula.
MOST_CONDITIONS = 6
#: Conditions of one key that are kept apart.
MOST_APART = 256

T = TypeVar("T")


@dataclass(frozen=True, slots=True)  # no tuple: it is no Containing of the same number
class Prefix:
    """The items before this place; None: all items."""

    end: int | None


@dataclass(frozen=True, slots=True)
class Containing:
    """The items that satisfy the literal."""

    literal: Literal


What: TypeAlias = Keys | Prefix | Containing
Found: TypeAlias = dict[What, Formula]
EVERY_KEY = Others(frozenset(), ())
EVERY_ITEM = Prefix(None)


class Evaluation:
    """Evaluation in one document.

    ``formula`` gives the formula of a literal, ``speaks_of`` says whether a key is meant, and ``overlap`` whether two
    formulas may hold for the same object.
    """

    def __init__(
        self,
        document: Document,
        reader: Reader,
        formulas: Formulas,
        formula: Callable[[int, Literal], Formula],
        speaks_of: Callable[[Keys, str], bool],
        overlap: Callable[[int, Formula, Formula], bool],
    ) -> None:
        self.document = document
        self.reader = reader
        self.formulas = formulas
        self.formula = formula
        self.speaks_of = speaks_of
        self.overlap = overlap
        self._known: dict[tuple[int, int], dict[What, tuple[Formula, ...]]] = {}

    # ---- the formulas ----

    def unevaluated(self, json_type: int, number: int, literal: Literal) -> Formula:
        """Every key, or item, that the schema object does not evaluate without this keyword satisfies the literal."""
        schema = self.document.schemas[number]
        keyword = "unevaluatedProperties" if json_type == OBJECT else "unevaluatedItems"
        apart = self._evaluated_by(json_type, schema, keyword)
        found = {what: self.formulas.disjunction(conditions) for what, conditions in apart.items()}
        if json_type != OBJECT:
            return self._items(schema, found, literal)
        conditions = dict.fromkeys(c for what in found if found[what] != TRUE for c in apart[what])
        if len(conditions) > 1 and self._exclusive(list(conditions)):
            return self._by_case(apart, list(conditions), literal)
        return self._properties(schema, found, literal)

    def _exclusive(self, conditions: list[Formula]) -> bool:
        return len(conditions) <= MOST_APART and not any(
            self.overlap(OBJECT, one, other) for one, other in combinations(conditions, 2)
        )

    def _by_case(self, apart: dict[What, tuple[Formula, ...]], conditions: list[Formula], literal: Literal) -> Formula:
        """The formula where at most one of the conditions holds, as with a discriminator: one way for each, and none.

        It says the same as :meth:`_properties`, and grows with the branches and not with branches times keys.
        """
        formulas = self.formulas
        ways = [
            formulas.conjunction([case, self._others([w for w, c in apart.items() if case in c or TRUE in c], literal)])
            for case in conditions
        ]
        return formulas.disjunction([*ways, self._others([w for w, c in apart.items() if TRUE in c], literal)])

    def _others(self, evaluated: list[What], literal: Literal) -> Formula:
        """All keys but these satisfy the literal."""
        if EVERY_KEY in evaluated:
            return TRUE
        names = frozenset(keys for keys in evaluated if isinstance(keys, str))
        patterns = sorted(keys.pattern for keys in evaluated if isinstance(keys, Matching))
        return self.formulas.member(Others(names, tuple(patterns)), literal)

    def _properties(self, schema: Schema, found: Found, literal: Literal) -> Formula:
        formulas = self.formulas
        everything = found.pop(EVERY_KEY, FALSE)
        if everything == TRUE:
            return TRUE
        names = {keys: condition for keys, condition in found.items() if isinstance(keys, str)}
        patterns = {keys: condition for keys, condition in found.items() if isinstance(keys, Matching)}
        groups: dict[Formula, list[Formula]] = {}
        for name, condition in names.items():
            conditions = [condition, *(c for keys, c in patterns.items() if self.speaks_of(keys, name))]
            evaluated = formulas.disjunction([everything, *conditions])
            groups.setdefault(evaluated, []).append(formulas.member(name, literal))
        # subtle: for a set of conditions, the keys that are evaluated on no other one. That some of these are evaluated
        # on fewer conditions does no harm: what is said of them then follows from the smaller set.
        varying = dict.fromkeys(condition for condition in patterns.values() if condition != TRUE)
        for chosen in self._subsets(schema, "unevaluatedProperties", varying):
            left = sorted(keys.pattern for keys, condition in patterns.items() if condition not in chosen)
            evaluated = formulas.disjunction([everything, *chosen])
            groups.setdefault(evaluated, []).append(formulas.member(Others(frozenset(names), tuple(left)), literal))
        return formulas.conjunction(
            formulas.disjunction([formulas.conjunction(members), evaluated]) for evaluated, members in groups.items()
        )

    def _items(self, schema: Schema, found: Found, literal: Literal) -> Formula:
        formulas = self.formulas
        everything = found.pop(EVERY_ITEM, FALSE)
        if everything == TRUE:
            return TRUE
        ends = {what.end or 0: condition for what, condition in found.items() if isinstance(what, Prefix)}
        start = max((end for end, condition in ends.items() if condition == TRUE), default=0)
        places = sorted({start, *(end for end in ends if end > start)})
        containing = {what.literal: c for what, c in found.items() if isinstance(what, Containing)}
        always = [literal, *(inner for inner, condition in containing.items() if condition == TRUE)]
        ways = []
        for chosen in self._subsets(schema, "unevaluatedItems", [i for i, c in containing.items() if c != TRUE]):
            allowed = self.reader.union(schema, [*always, *chosen], "unevaluatedItems")
            parts = [containing[inner] for inner in chosen]
            for place in places:
                conditions = [condition for end, condition in ends.items() if end > place]
                parts.append(formulas.disjunction([formulas.rest(place, allowed), everything, *conditions]))
            ways.append(formulas.conjunction(parts))
        return formulas.disjunction(ways)

    def _subsets(self, schema: Schema, keyword: str, given: Iterable[T]) -> Iterator[tuple[T, ...]]:
        elements = list(given)
        if len(elements) > MOST_CONDITIONS:
            raise SchemaTooComplex(
                f"{keyword!r} depends on more than {MOST_CONDITIONS} conditions that may overlap",
                limit="max_formula",
                location=schema.at(keyword),
            )
        return chain.from_iterable(combinations(elements, size) for size in range(len(elements) + 1))

    # ---- what is evaluated ----

    def evaluates(self, json_type: int, number: int) -> dict[What, tuple[Formula, ...]]:
        """What a schema object evaluates, each with the conditions on any of which it does, given that it holds."""
        known = self._known.get((json_type, number))
        if known is None:
            known = self._evaluated_by(json_type, self.document.schemas[number], "")
            self._known[json_type, number] = known
        return known

    def _evaluated_by(self, json_type: int, schema: Schema, but: str) -> dict[What, tuple[Formula, ...]]:
        """The same without the keyword ``but``."""
        formulas = self.formulas
        own = self._keys_of(schema, but) if json_type == OBJECT else self._items_of(schema, but)
        found: dict[What, dict[Formula, None]] = {what: {TRUE: None} for what in own}
        for literal, condition in self.applied(json_type, schema):
            if literal <= ALWAYS:
                continue
            holds = self._without_order(
                self.formula(json_type, condition.literal) if isinstance(condition, Apply) else condition
            )
            for what, inner in self.evaluates(json_type, literal >> 1).items():
                conditions = (formulas.conjunction([holds, condition]) for condition in inner)
                found.setdefault(what, {}).update(dict.fromkeys(c for c in conditions if c != FALSE))
        return {what: self._few(conditions) for what, conditions in found.items() if conditions}

    def _few(self, conditions: dict[Formula, None]) -> tuple[Formula, ...]:
        if TRUE in conditions:
            return (TRUE,)
        return tuple(conditions) if len(conditions) <= MOST_APART else (self.formulas.disjunction(conditions),)

    def _without_order(self, formula: Formula) -> Formula:
        records = self.formulas.records
        return self.formulas.rewrite(formula, lambda claim: TRUE if isinstance(records[claim], Order) else claim)

    def _keys_of(self, schema: Schema, but: str) -> Iterator[What]:
        value = self._known_keywords(schema, but)
        if "additionalProperties" in value or "unevaluatedProperties" in value:
            yield EVERY_KEY  # whatever stands beside it has evaluated the others
            return
        yield from self.reader.mapping(schema, "properties", value.get("properties", {}))
        patterns = self.reader.mapping(schema, "patternProperties", value.get("patternProperties", {}))
        for pattern in patterns:
            self.reader.pattern_origins.setdefault(pattern, (schema, "patternProperties"))
            yield Matching(pattern)

    def _items_of(self, schema: Schema, but: str) -> Iterator[What]:
        value = self._known_keywords(schema, but)
        items, dialect = value.get("items", True), schema.scope.dialect
        several = isinstance(items, list) and dialect.year != 2020
        if (
            "unevaluatedItems" in value
            or ("items" in value and not several)
            or (several and "additionalItems" in value)
        ):
            yield EVERY_ITEM
        elif several:
            yield Prefix(len(items))
        if "prefixItems" in value:
            yield Prefix(len(value["prefixItems"]))
        if "contains" in value and dialect.year >= 2020:  # in 2019-09 it says nothing about evaluation
            yield Containing(self.document.child(schema, value["contains"], "contains"))

    def _known_keywords(self, schema: Schema, but: str) -> dict[str, Json]:
        known, value = keywords_of(schema.scope.dialect), schema.value
        if schema.scope.hides_siblings and "$ref" in value:
            return {"$ref": value["$ref"]}
        return {keyword: argument for keyword, argument in value.items() if keyword in known and keyword != but}

    # ---- the subschemas that look at the same value ----

    def applied(self, json_type: int, schema: Schema) -> Iterator[tuple[Literal, Apply | Formula]]:
        """The schemas that a schema object applies to the same value, `not` aside, and when they hold if it does."""
        self.reader.read(schema.number)  # which checks the arguments
        value = self._known_keywords(schema, "")
        document = self.document
        if "$ref" in value:
            yield document.reference(schema, value["$ref"]), TRUE
        if "$dynamicRef" in value:
            yield document.dynamic_reference(schema, value["$dynamicRef"]), TRUE
        if "$recursiveRef" in value:
            yield document.recursive_reference(schema, value["$recursiveRef"]), TRUE
        for i, inner in enumerate(value.get("allOf", ())):
            yield document.child(schema, inner, "allOf", i), TRUE
        for keyword in ("anyOf", "oneOf"):
            for i, inner in enumerate(value.get(keyword, ())):
                literal = document.child(schema, inner, keyword, i)
                yield literal, Apply(literal)
        if "if" in value:
            condition = document.child(schema, value["if"], "if")
            yield condition, Apply(condition)
            if "then" in value:
                yield document.child(schema, value["then"], "then"), Apply(condition)
            if "else" in value:
                yield document.child(schema, value["else"], "else"), Apply(condition ^ 1)
        for keyword in ("dependentSchemas", "dependencies") if json_type == OBJECT else ():
            for name, inner in value.get(keyword, {}).items():
                if not isinstance(inner, list):
                    yield document.child(schema, inner, keyword, name), self.formulas.claim(Has(name))

    def needed(self, json_type: int, number: int) -> Iterator[int]:
        """The schemas whose formulas :meth:`unevaluated` asks for."""
        stack, seen = [number], set[int]()
        while stack:
            for literal, condition in self.applied(json_type, self.document.schemas[stack.pop()]):
                if isinstance(condition, Apply) and condition.literal > ALWAYS:
                    yield condition.literal >> 1
                inner = literal >> 1
                if inner and inner not in seen:
                    seen.add(inner)
                    stack.append(inner)
