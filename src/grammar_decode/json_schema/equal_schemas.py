"""Equal schemas are one: a reference is its target, and of the schemas with the same content the first stands for all.

Only the words of a schema are looked at, not what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from grammar_decode.json_schema.claims import (
    ALWAYS,
    Item,
    Literal,
    Member,
    Most,
    MostItem,
    Rest,
    Some,
    SomeItem,
)
from grammar_decode.json_schema.document import Document, Json, Schema
from grammar_decode.json_schema.formula import Formula, Formulas
from grammar_decode.json_schema.keywords import Dialect, keywords_of
from grammar_decode.json_schema.read import Reader
from grammar_decode.limits import Work

#: Parts of a schema object that are compared with another's by content.
CONTENT_SIZE = 400


class EqualSchemas:
    """The equal schemas of one document."""

    def __init__(self, document: Document, reader: Reader, formulas: Formulas, work: Work) -> None:
        self.document = document
        self.reader = reader
        self.formulas = formulas
        self.work = work
        self._contents: dict[Any, int] = {}
        self._targets: dict[Literal, Literal] = {}
        self._canonical: dict[int, Literal] = {}
        self._canonical_formulas: dict[Formula, Formula] = {}

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
