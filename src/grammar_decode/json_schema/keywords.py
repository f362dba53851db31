"""THE table: every keyword of JSON Schema, in which dialects it means something, and what becomes of it.

The reader dispatches on it, the report and the support table in the documentation are made from it. Source: the
core and validation specifications of draft-04, draft-06, draft-07, 2019-09 and 2020-12.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Literal


class Dialect(Enum):
    """A dialect by its year; ``DEFAULT`` is for schemas that name none.

    DEFAULT reads a schema as 2020-12 does, and understands what older drafts wrote differently where that is
    unambiguous: array-form ``items`` with ``additionalItems``, ``dependencies``, boolean ``exclusiveMinimum``.
    """

    DRAFT4 = 4
    DRAFT6 = 6
    DRAFT7 = 7
    DRAFT2019 = 2019
    DRAFT2020 = 2020
    DEFAULT = 9999

    @property
    def reference_hides_siblings(self) -> bool:
        """Up to draft 7, whatever stands beside a ``$ref`` means nothing."""
        return self.value <= 7

    @property
    def id_keyword(self) -> str:
        """``id`` in draft 4, ``$id`` since."""
        return "id" if self is Dialect.DRAFT4 else "$id"


_DIALECTS = {
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
        return dialect is Dialect.DEFAULT or self.since <= dialect.value <= self.until


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


#: The keywords that a keyword of OpenAPI says something about.
NEEDED_BESIDE = {"nullable": ("type",), "discriminator": ("oneOf", "anyOf")}


@cache
def keywords_of(dialect: Dialect) -> dict[str, Keyword]:
    """The rows that a dialect knows, by name; any other word is an annotation there. Not to be changed."""
    return {row.name: row for row in TABLE if row.known_in(dialect)}
