"""THE table: every keyword of JSON Schema, in which dialects it means something, and what becomes of it.

The reader dispatches on it, the report and the support table in the documentation are made from it. Source: the
core and validation specifications of draft-04, draft-06, draft-07, 2019-09 and 2020-12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect by its year; ``DEFAULT`` is for schemas that name none.

    DEFAULT reads a schema as 2020-12 does, and understands what older drafts wrote differently where that is
    unambiguous: array-form ``items`` with ``additionalItems``, ``dependencies``, boolean ``exclusiveMinimum``.

    ``vocabularies``: the names of those that a metaschema lists, None for all that the draft has. ``refusal``: why
    schemas of the dialect can't be read, "" where they can.
    """

    year: int
    vocabularies: frozenset[str] | None = None
    refusal: str = ""

    DRAFT4: ClassVar[Dialect]
    DRAFT6: ClassVar[Dialect]
    DRAFT7: ClassVar[Dialect]
    DRAFT2019: ClassVar[Dialect]
    DRAFT2020: ClassVar[Dialect]
    DEFAULT: ClassVar[Dialect]

    @property
    def reference_hides_siblings(self) -> bool:
        """Up to draft 7, whatever stands beside a ``$ref`` means nothing."""
        return self.year <= 7

    @property
    def id_keyword(self) -> str:
        """``id`` in draft 4, ``$id`` since."""
        return "id" if self.year <= 4 else "$id"

    def with_vocabularies(self, listed: Mapping[str, Any]) -> Dialect:
        """The dialect of a metaschema with that ``$vocabulary``.

        A vocabulary that is known is used whether it is required or not (core specification, 8.1.2), the core always.
        """
        names = {"core"}
        for uri, required in listed.items():
            name = uri.removeprefix(_VOCABULARY_OF_YEAR.get(self.year, "?"))
            if name in VOCABULARIES[self.year]:
                names.add(name)
            elif required is not False and uri not in _SAYS_NOTHING:
                return Dialect(self.year, refusal=f"its metaschema requires the vocabulary {uri!r}, which is not known")
        return Dialect(self.year, frozenset(names))


Dialect.DRAFT4 = Dialect(4)
Dialect.DRAFT6 = Dialect(6)
Dialect.DRAFT7 = Dialect(7)
Dialect.DRAFT2019 = Dialect(2019)
Dialect.DRAFT2020 = Dialect(2020)
Dialect.DEFAULT = Dialect(9999)

DIALECTS = (
    Dialect.DRAFT4,
    Dialect.DRAFT6,
    Dialect.DRAFT7,
    Dialect.DRAFT2019,
    Dialect.DRAFT2020,
    Dialect.DEFAULT,
)
_DIALECTS = {
    "json-schema.org/draft-03/schema": Dialect(3, refusal="draft 3 is not supported"),
    "json-schema.org/draft-04/schema": Dialect.DRAFT4,
    "json-schema.org/draft-06/schema": Dialect.DRAFT6,
    "json-schema.org/draft-07/schema": Dialect.DRAFT7,
    "json-schema.org/draft/2019-09/schema": Dialect.DRAFT2019,
    "json-schema.org/draft/2020-12/schema": Dialect.DRAFT2020,
    "json-schema.org/schema": Dialect.DEFAULT,
}


def dialect_of(uri: str) -> Dialect | None:
    """The dialect that a ``$schema`` value names, or None for one that is not known."""
    return _DIALECTS.get(uri.partition("://")[2].rstrip("#"))


#: What the value of a keyword holds: a schema, an array of schemas, an object of schemas, an array or a schema
#: (`items`), schemas or arrays of names (`dependencies`); "" for none.
Holds = Literal["", "schema", "list", "map", "list or schema", "map or names"]


@dataclass(frozen=True, slots=True)
class Keyword:
    """One row.

    ``since`` and ``until`` bound the dialects (by year) that know the keyword. ``outcome`` is "enforced", "annotation"
    (says nothing about validity), "structure" (where things are, what they are called), or "unsupported". ``openapi``:
    the keyword is OpenAPI's, and an annotation unless ``JsonOptions(openapi=True)``.
    """

    name: str
    outcome: Literal["enforced", "annotation", "structure", "unsupported"]
    since: int = 4
    until: int = 9999
    holds: Holds = ""
    note: str = ""
    openapi: bool = False

    def known_in(self, dialect: Dialect) -> bool:
        """Whether the dialect knows the keyword. DEFAULT knows all."""
        if dialect.vocabularies is not None and not self.openapi:
            listed = (VOCABULARIES[dialect.year][name] for name in dialect.vocabularies)
            return any(self.name in names for names in listed)
        return dialect == Dialect.DEFAULT or self.since <= dialect.year <= self.until


def _rows(outcome: Literal["enforced", "annotation", "structure", "unsupported"], *names: str) -> list[Keyword]:
    return [Keyword(name, outcome) for name in names]


TABLE: tuple[Keyword, ...] = (
    # structure
    *_rows("structure", "$schema"),
    Keyword("id", "structure", until=4),
    Keyword("$id", "structure", since=6),
    Keyword("$anchor", "structure", since=2019),
    Keyword("$dynamicAnchor", "structure", since=2020),
    Keyword("$recursiveAnchor", "structure", since=2019, until=2019),
    Keyword("$vocabulary", "structure", since=2019),
    Keyword("definitions", "structure", holds="map"),
    Keyword("$defs", "structure", since=2019, holds="map"),
    # references and applicators that look at the same value
    Keyword("$ref", "enforced"),
    Keyword("$dynamicRef", "enforced", since=2020),
    Keyword("$recursiveRef", "enforced", since=2019, until=2019),
    Keyword("allOf", "enforced", holds="list"),
    Keyword("anyOf", "enforced", holds="list"),
    Keyword("oneOf", "enforced", holds="list"),
    Keyword("not", "enforced", holds="schema"),
    Keyword("if", "enforced", since=7, holds="schema"),
    Keyword("then", "enforced", since=7, holds="schema"),
    Keyword("else", "enforced", since=7, holds="schema"),
    Keyword("dependentSchemas", "enforced", since=2019, holds="map"),
    # any type
    *_rows("enforced", "type", "enum"),
    Keyword("const", "enforced", since=6),
    # objects
    Keyword("properties", "enforced", holds="map"),
    Keyword("patternProperties", "enforced", holds="map"),
    Keyword("additionalProperties", "enforced", holds="schema"),
    Keyword("propertyNames", "enforced", since=6, holds="schema"),
    Keyword("required", "enforced"),
    Keyword("minProperties", "enforced"),
    Keyword("maxProperties", "enforced"),
    Keyword("dependentRequired", "enforced", since=2019),
    Keyword("dependencies", "enforced", until=7, holds="map or names"),
    Keyword("unevaluatedProperties", "enforced", since=2019, holds="schema"),
    # arrays
    Keyword("items", "enforced", holds="list or schema"),
    Keyword("prefixItems", "enforced", since=2020, holds="list"),
    Keyword("additionalItems", "enforced", until=2019, holds="schema"),
    Keyword("minItems", "enforced"),
    Keyword("maxItems", "enforced"),
    Keyword("contains", "enforced", since=6, holds="schema"),
    Keyword("minContains", "enforced", since=2019),
    Keyword("maxContains", "enforced", since=2019),
    Keyword("uniqueItems", "enforced", note="by value: 1 and 1.0 are equal; refused under `not`"),
    Keyword("unevaluatedItems", "enforced", since=2019, holds="schema"),
    # numbers
    *_rows("enforced", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    # strings
    *_rows("enforced", "minLength", "maxLength", "pattern"),
    Keyword("format", "enforced", note="the formats of the specification and of OpenAPI; any other is an annotation"),
    # OpenAPI
    Keyword("nullable", "enforced", note="beside `type` it admits null", openapi=True),
    Keyword(
        "discriminator", "enforced", note="beside `oneOf` or `anyOf` the property decides between them", openapi=True
    ),
    # annotations
    *_rows("annotation", "title", "description", "default"),
    Keyword("examples", "annotation", since=6),
    Keyword("$comment", "annotation", since=7),
    Keyword("readOnly", "annotation", since=7),
    Keyword("writeOnly", "annotation", since=7),
    Keyword("contentEncoding", "annotation", since=7),
    Keyword("contentMediaType", "annotation", since=7),
    Keyword("contentSchema", "annotation", since=2019, holds="schema"),
    Keyword("deprecated", "annotation", since=2019),
)


_VOCABULARY_OF_YEAR = {
    2019: "https://json-schema.org/draft/2019-09/vocab/",
    2020: "https://json-schema.org/draft/2020-12/vocab/",
}
#: Vocabularies of which no keyword says anything about validity (OpenAPI 3.1, "Base Vocabulary").
_SAYS_NOTHING = frozenset({"https://spec.openapis.org/oas/3.1/vocab/base"})
_CORE = frozenset({"$schema", "$id", "$anchor", "$vocabulary", "$ref", "$defs", "definitions", "$comment"})
_APPLICATOR = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "properties", "patternProperties"}
) | {"additionalProperties", "propertyNames", "items", "contains"}
_UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_VALIDATION = (
    frozenset({"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
    | {"minLength", "maxLength", "pattern", "required", "minProperties", "maxProperties", "dependentRequired"}
    | {"minItems", "maxItems", "uniqueItems", "minContains", "maxContains"}
)
_METADATA = frozenset({"title", "description", "default", "examples", "readOnly", "writeOnly", "deprecated"})
_CONTENT = frozenset({"contentEncoding", "contentMediaType", "contentSchema"})
_FORMAT = frozenset({"format"})

#: Year → name of a vocabulary → its keywords. Source: the metaschemas of 2019-09 and 2020-12.
VOCABULARIES: dict[int, dict[str, frozenset[str]]] = {
    2019: {
        "core": _CORE | {"$recursiveRef", "$recursiveAnchor"},
        "applicator": _APPLICATOR | _UNEVALUATED | {"additionalItems"},
        "validation": _VALIDATION,
        "format": _FORMAT,
        "meta-data": _METADATA,
        "content": _CONTENT,
    },
    2020: {
        "core": _CORE | {"$dynamicRef", "$dynamicAnchor"},
        "applicator": _APPLICATOR | {"prefixItems"},
        "unevaluated": _UNEVALUATED,
        "validation": _VALIDATION,
        "format-annotation": _FORMAT,
        "format-assertion": _FORMAT,
        "meta-data": _METADATA,
        "content": _CONTENT,
    },
}

#: The keywords that a keyword of OpenAPI says something about.
NEEDED_BESIDE = {"nullable": ("type",), "discriminator": ("oneOf", "anyOf")}


@cache
def keywords_of(dialect: Dialect) -> dict[str, Keyword]:
    """The rows that a dialect knows, by name; any other word is an annotation there. Not to be changed."""
    return {row.name: row for row in TABLE if row.known_in(dialect)}
