"""The report: what became of each keyword of a schema.

Made on demand: compiling only keeps the list of schema objects that it reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from grammar_decode.json_schema.claims import Literal
from grammar_decode.json_schema.document import Schema
from grammar_decode.json_schema.keywords import KNOWN_FORMATS, Keyword, keywords_of
from grammar_decode.json_schema.options import JsonOptions


class Outcome(str, Enum):
    """What became of a keyword."""

    ENFORCED = "enforced"
    RESTRICTED = "restricted"
    ANNOTATION = "annotation"


@dataclass(frozen=True, slots=True)
class Entry:
    """One occurrence of a keyword. ``location`` is where its schema object is, ``detail`` what is to be said about it."""

    location: str
    keyword: str
    outcome: Outcome
    detail: str = ""


class Report:
    """The entries in document order of discovery; and what the text options narrow (``restrictions``).

    The schema must not be changed before ``entries`` is read for the first time.
    """

    def __init__(
        self, schemas: Sequence[Schema], options: JsonOptions, restrictions: Sequence[tuple[str, str, str]]
    ) -> None:
        self._schemas = schemas
        self._options = options
        self._restrictions = {(location, keyword): detail for location, keyword, detail in restrictions}

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """One entry for each keyword of each schema object that was reached."""
        return tuple(entry for schema in self._schemas for entry in self._entries_of(schema))

    @property
    def annotations(self) -> tuple[Entry, ...]:
        """The keywords that constrain nothing."""
        return tuple(entry for entry in self.entries if entry.outcome is Outcome.ANNOTATION)

    @property
    def restrictions(self) -> tuple[Entry, ...]:
        """The keywords that are enforced, and beyond that restricted in how a value may be written."""
        return tuple(entry for entry in self.entries if entry.outcome is Outcome.RESTRICTED)

    def to_json(self) -> list[list[str]]:
        """The entries as plain data: location, keyword, outcome, detail."""
        return [[entry.location, entry.keyword, entry.outcome.value, entry.detail] for entry in self.entries]

    @classmethod
    def from_json(cls, rows: Sequence[Sequence[str]]) -> Report:
        """The inverse of :meth:`to_json`. Raises ValueError on anything else."""
        report = cls((), JsonOptions(), ())
        report.__dict__["entries"] = tuple(
            Entry(location, keyword, Outcome(outcome), detail) for location, keyword, outcome, detail in rows
        )
        return report

    def _entries_of(self, schema: Schema) -> Iterator[Entry]:
        dialect = schema.scope.dialect
        known = keywords_of(dialect)
        location = schema.location
        hidden = dialect.reference_hides_siblings and "$ref" in schema.value
        for keyword in schema.value:
            row = known.get(keyword)
            if row is None:
                yield Entry(location, keyword, Outcome.ANNOTATION, "not a keyword of this dialect")
            elif hidden and keyword != "$ref" and row.outcome not in ("structure", "annotation"):
                yield Entry(location, keyword, Outcome.ANNOTATION, "ignored beside $ref in this dialect")
            elif row.outcome == "annotation":
                yield Entry(location, keyword, Outcome.ANNOTATION)
            elif row.outcome != "structure":
                yield self._entry(location, keyword, row, schema)

    def _entry(self, location: str, keyword: str, row: Keyword, schema: Schema) -> Entry:
        if keyword == "format":
            name = schema.value[keyword]
            if self._options.formats == "ignore":
                return Entry(location, keyword, Outcome.ANNOTATION, 'formats="ignore"')
            if name not in KNOWN_FORMATS:
                return Entry(location, keyword, Outcome.ANNOTATION, f"{name!r} is not a format of the specification")
        detail = self._restrictions.get((location, keyword))
        if detail is None and keyword in ("properties", "required") and self._options.escapes == "any":
            detail = "keys are written with escapes only where JSON needs them"
        if detail is not None:
            return Entry(location, keyword, Outcome.RESTRICTED, detail)
        return Entry(location, keyword, Outcome.ENFORCED)


def reached(schemas: Sequence[Schema], readings: dict[int, object]) -> list[Schema]:
    """The schema objects that were read, without the constants that stand for parts of an enum or const."""
    return [schemas[number] for number in sorted(readings) if schemas[number].scope.root is not None]


__all__ = ["Entry", "Literal", "Outcome", "Report", "reached"]
