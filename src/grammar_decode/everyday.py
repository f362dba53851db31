"""Everyday schemas, straight to the byte format by the kernel: no formulas, no nodes of the IR.

In most schemas of most documents nothing is combined: each value is described by one object with a type, properties,
items, an enumeration, a reference, or by alternatives of different types. What such a schema means is said in
`json_schema`, and this is a second way to the same grammar: the nodes are the same in the same order, and of the
regular expressions only those are there that are used. For any other document the answer is None.
"""

from __future__ import annotations

import atexit
import threading
from functools import cache, lru_cache
from typing import Any

from grammar_decode import _core
from grammar_decode.errors import GrammarDecodeError
from grammar_decode.ir.encode import Beginning, spacing_words
from grammar_decode.json_schema.claims import NUMBER, STRING
from grammar_decode.json_schema.document import Document
from grammar_decode.json_schema.formats import NUMBER_FORMATS, STRING_FORMATS, is_openapi
from grammar_decode.json_schema.keywords import Dialect, dialect_of, keywords_of
from grammar_decode.json_schema.lower import Lowering
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.read import TYPE_BITS
from grammar_decode.json_schema.seed import Seed
from grammar_decode.limits import Limits, Work

_LIMITS = Limits()
_STEPS = 500  # of a scalar, about
_under_way = threading.local()  # `work`: the time of the schema that this thread compiles

# What becomes of a keyword; `Action` in cpp/bindings/bind_everyday.cpp has the same numbers.
_ACTIONS = {
    name: action
    for action, names in enumerate(
        (
            (),  # stop: the document is no everyday one
            ("type",),
            ("enum", "const"),
            ("$ref",),
            ("properties",),
            ("additionalProperties",),
            ("required",),
            ("items",),
            ("additionalItems",),
            ("minItems",),
            ("maxItems",),
            ("uniqueItems",),
            ("minLength", "maxLength"),
            ("pattern",),
            ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
            ("format",),
            ("anyOf",),
            ("oneOf",),
        )
    )
    for name in names
}


def compile_everyday(schema: Any, options: JsonOptions, limits: Limits, work: Work | None = None) -> bytes | None:
    """The grammar of an everyday schema in its byte format; None for any other schema, also for a wrong one."""
    if type(schema) is not dict or options.key_order != "any" or (limits is not _LIMITS and limits != _LIMITS):
        return None
    uri = schema.get("$schema")
    dialect = (dialect_of(uri) or Dialect.DEFAULT) if isinstance(uri, str) else Dialect.DEFAULT
    if dialect.refusal:
        return None
    keywords = _keywords(dialect, options.openapi, options.formats == "strict")
    _under_way.work = work  # all scalars share the time of the schema
    return _compiler(options).compile(schema, keywords, dialect.id_keyword, dialect.reference_hides_siblings)


@cache
def _keywords(dialect: Dialect, openapi: bool, strict: bool) -> dict[str, int]:
    """What becomes of the keywords that say something in the dialect."""
    rows = keywords_of(dialect).values()
    said = [row.name for row in rows if row.outcome not in ("annotation", "structure") and (openapi or not row.openapi)]
    return {name: 0 if strict and name == "format" else _ACTIONS.get(name, 0) for name in said}


@lru_cache(maxsize=16)
def _compiler(options: JsonOptions) -> _core.Everyday:
    seed = Seed.planted(options.escapes, options.numbers, options.spacing)
    words, blob = spacing_words(options.spacing)
    formats: dict[str, int] = {}
    if options.formats == "assert":
        formats = {name: STRING for name in STRING_FORMATS if options.openapi or not is_openapi(name)}
        formats |= dict.fromkeys(NUMBER_FORMATS, NUMBER)
    return _core.Everyday(
        beginning=seed.beginning,
        spacing=words,
        spacing_blob=blob,
        seeds=seed.named(),
        texts_are_literal=options.escapes != "any",
        types=TYPE_BITS,
        formats=formats,
        scalar=_Scalars(options),
        max_nodes=_LIMITS.max_nodes,
        max_nesting=_LIMITS.max_nesting,
        max_alternatives=_LIMITS.max_alternatives,
        max_enum=_LIMITS.max_enum,
    )


atexit.register(_compiler.cache_clear)  # before the kernel looks for objects that were forgotten


class _Scalars:
    """The languages of scalars, as regular expressions by themselves."""

    def __init__(self, options: JsonOptions) -> None:
        self.options = options

    def __call__(self, json_type: int, said: dict[str, Any]) -> Beginning | None:
        """The texts of the values of the type that the schema ``said`` admits; None where it is refused."""
        work: Work | None = getattr(_under_way, "work", None)
        try:
            if work is not None:
                work.tick(_STEPS)
            lowering = Lowering(Document(said), self.options, _LIMITS, work)
            try:
                return lowering.scalar_alone(json_type)
            finally:
                lowering.dismantle()
        except (GrammarDecodeError, RecursionError):
            return None  # the other way says what is wrong, and where
