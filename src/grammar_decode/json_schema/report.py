"""The report: what became of each keyword of a schema.

Made on demand: compiling only keeps the list of schema objects that it reached, which must not be changed before.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from urllib.parse import urldefrag

from grammar_decode.json_schema.document import Json, Schema, pointer, steps, subschemas
from grammar_decode.json_schema.formats import KNOWN_FORMATS, is_openapi, note_of
from grammar_decode.json_schema.keywords import NEEDED_BESIDE, Dialect, Keyword, keywords_of
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.regex.dialects import other_dialects


class Outcome(str, Enum):
    """What became of a keyword."""

    ENFORCED = "enforced"
    RESTRICTED = "restricted"
    ANNOTATION = "annotation"


@dataclass(frozen=True, slots=True)
class Entry:
    """One occurrence of a keyword: where its schema object is, what became of it, and what is to be said about that."""

    location: str
    keyword: str
    outcome: Outcome
    detail: str = ""

    def __str__(self) -> str:
        note = f" ({self.detail})" if self.detail else ""
        return f"{self.location}{steps([self.keyword])}: {self.outcome.value}{note}"


#: How the detail of an entry begins that tells of schemas without values.
NOTHING_FITS = "no value satisfies "


class Report:
    """What became of each keyword: a sequence of entries, in the order in which schema objects were reached.

    It is made at the first look: compiling is faster without it.

    >>> from grammar_decode import compile_json_schema
    >>> for entry in compile_json_schema({"type": "integer", "title": "Age"}).report:
    ...     print(entry.location, entry.keyword, entry.outcome.value)
    # type enforced
    # title annotation
    """

    def __init__(self, entries: Iterable[Entry] | Callable[[], Iterable[Entry]]) -> None:
        self._source = entries

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """One entry for each keyword of each schema object that was reached."""
        return tuple(self._source() if callable(self._source) else self._source)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __getitem__(self, index: int) -> Entry:
        return self.entries[index]

    def __repr__(self) -> str:
        return f"<Report of {len(self)} keywords, {len(self.annotations)} of them annotations>"

    def __str__(self) -> str:
        """One line for each keyword: its JSON pointer, what became of it, and what is to be said about that."""
        return "\n".join(map(str, self)) or "no keywords"

    def to_json(self) -> list[list[str]]:
        """The entries as JSON: location, keyword, outcome, detail."""
        return [[entry.location, entry.keyword, entry.outcome.value, entry.detail] for entry in self.entries]

    @classmethod
    def from_json(cls, data: Iterable[Sequence[str]]) -> Report:
        """The inverse of :meth:`to_json`. Raises ValueError or TypeError for anything else."""
        return cls([Entry(loc, keyword, Outcome(outcome), detail) for loc, keyword, outcome, detail in data])

    def __eq__(self, other: object) -> bool:
        return self.entries == other.entries if isinstance(other, Report) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @property
    def annotations(self) -> tuple[Entry, ...]:
        """The keywords that constrain nothing."""
        return tuple(entry for entry in self.entries if entry.outcome is Outcome.ANNOTATION)

    @property
    def restrictions(self) -> tuple[Entry, ...]:
        """The keywords that are enforced, and beyond that restricted in how a value may be written."""
        return tuple(entry for entry in self.entries if entry.outcome is Outcome.RESTRICTED)


class Reporter:
    """Makes the entries of a compilation. ``restrictions`` are (location, keyword, detail).

    Nothing satisfies the schemas that are ``impossible``: what the keyword around such a one speaks of can't be there.
    ``unknown_dialects``: the values of ``$schema`` that say nothing, without their fragments.
    """

    def __init__(
        self,
        schemas: Sequence[Schema],
        options: JsonOptions,
        restrictions: Sequence[tuple[str, str, str]],
        impossible: Sequence[Schema] = (),
        unknown_dialects: Container[str] = (),
    ) -> None:
        self._schemas = schemas
        self._options = options
        self._restrictions = {(location, keyword): detail for location, keyword, detail in restrictions}
        self._impossible = impossible
        self._unknown_dialects = unknown_dialects

    def __call__(self) -> Iterator[Entry]:
        self._empty: dict[tuple[str, str], list[str]] = {}
        for schema in self._impossible:
            if schema.parent is not None:
                around = (schema.parent.location, str(schema.path[0]))
                self._empty.setdefault(around, []).append(schema.location)
        seen = {id(schema.value) for schema in self._schemas}
        for schema in self._schemas:
            dialect = schema.scope.dialect
            location = schema.location
            yield from self._entries_of(schema.value, dialect, location)
            # What was not reached because another schema says the same, or because it can make no difference.
            stack = list(_inside(schema.value, dialect, location))
            while stack:
                at, value = stack.pop()
                if id(value) not in seen:
                    seen.add(id(value))
                    yield from self._entries_of(value, dialect, at)
                    stack += _inside(value, dialect, at)

    def _entries_of(self, value: Mapping[str, Json], dialect: Dialect, location: str) -> Iterator[Entry]:
        known = keywords_of(dialect)
        hidden = dialect.reference_hides_siblings and "$ref" in value
        for keyword in value:
            row = known.get(keyword)
            if row is None:
                words = "this dialect" if dialect.vocabularies is None else "the vocabularies of its metaschema"
                yield Entry(location, keyword, Outcome.ANNOTATION, f"not a keyword of {words}")
            elif hidden and keyword != "$ref" and row.outcome not in ("structure", "annotation"):
                yield Entry(location, keyword, Outcome.ANNOTATION, "ignored beside $ref in this dialect")
            elif row.outcome == "annotation":
                yield Entry(location, keyword, Outcome.ANNOTATION)
            elif keyword == "$schema" and urldefrag(str(value[keyword]))[0] in self._unknown_dialects:
                detail = f"{value[keyword]!r} is not a known dialect: the schema is read as if it named none"
                yield Entry(location, keyword, Outcome.ANNOTATION, detail)
            elif row.outcome != "structure":
                yield self._entry(location, row, value)

    def _entry(self, location: str, row: Keyword, schema: Mapping[str, Json]) -> Entry:
        keyword = row.name
        if row.openapi and not self._options.openapi:
            return Entry(location, keyword, Outcome.ANNOTATION, "read with openapi=True")
        if row.openapi and not any(beside in schema for beside in NEEDED_BESIDE[keyword]):
            needed = " or ".join(map(repr, NEEDED_BESIDE[keyword]))
            return Entry(location, keyword, Outcome.ANNOTATION, f"says something only beside {needed}")
        if keyword == "format":
            name = schema[keyword]
            if self._options.formats == "ignore":
                return Entry(location, keyword, Outcome.ANNOTATION, 'formats="ignore"')
            if not isinstance(name, str) or name not in KNOWN_FORMATS:
                return Entry(location, keyword, Outcome.ANNOTATION, f"{name!r} is not a known format")
            if is_openapi(name) and not self._options.openapi:
                return Entry(location, keyword, Outcome.ANNOTATION, f"{name!r} is a format of OpenAPI: openapi=True")
            if note_of(name):
                return Entry(location, keyword, Outcome.RESTRICTED, note_of(name))
        empty = sorted(self._empty.get((location, keyword), ()))
        if empty:
            return Entry(location, keyword, Outcome.ENFORCED, f"{NOTHING_FITS}{', '.join(empty)}")
        if keyword in ("pattern", "patternProperties") and (notes := _pattern_notes(schema[keyword])):
            return Entry(location, keyword, Outcome.ENFORCED, notes)
        detail = self._restrictions.get((location, keyword))
        if detail is None and keyword in ("properties", "required") and self._options.escapes == "any":
            detail = "keys are written with escapes only where JSON needs them"
        if detail is not None:
            return Entry(location, keyword, Outcome.RESTRICTED, detail)
        return Entry(location, keyword, Outcome.ENFORCED)


def _pattern_notes(argument: Json) -> str:
    """What is to be said of a pattern, or of those of an object's names."""
    notes = (
        note for pattern in ([argument] if isinstance(argument, str) else argument) for note in other_dialects(pattern)
    )
    return "; ".join(dict.fromkeys(notes))


def _inside(value: Mapping[str, Json], dialect: Dialect, location: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The schema objects directly inside one, with their locations; not those that only a reference uses."""
    if dialect.reference_hides_siblings and "$ref" in value:
        return
    for keyword, path, inner in subschemas(value, dialect):
        if isinstance(inner, dict) and keywords_of(dialect)[keyword].outcome not in ("structure", "annotation"):
            yield location + pointer((keyword, *path))[1:], inner
