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
from grammar_decode.ir.encode import ELSEWHERE, Appended, Beginning, spacing_words
from grammar_decode.ir.nodes import NodeId
from grammar_decode.json_schema.claims import NUMBER, STRING
from grammar_decode.json_schema.document import Document, pointer, steps
from grammar_decode.json_schema.formats import NUMBER_FORMATS, STRING_FORMATS, is_openapi
from grammar_decode.json_schema.keywords import Dialect, dialect_of, keywords_of
from grammar_decode.json_schema.lower import Lowering
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.parts import NO_PART, NoPart, UselessParts
from grammar_decode.json_schema.read_value import TYPE_BITS
from grammar_decode.json_schema.seed import Seed
from grammar_decode.limits import Limits, Work

_LIMITS = Limits()
_STEPS = 500  # of a scalar, about
_under_way = threading.local()  # `work`: the time of the schema that this thread compiles

# What becomes of a keyword; `Action` in cpp/bindings/everyday_reader.cpp has the same numbers.
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


class EverydayDocument:
    """One document, of which all or some schemas are everyday ones. See `json_schema.parts.Parts`."""

    def __init__(self, core: _core.EverydayDocument) -> None:
        self._core = core

    @classmethod
    def of(cls, schema: Any, options: JsonOptions, limits: Limits, work: Work | None = None) -> EverydayDocument | None:
        """None where no part of a document may be compiled this way."""
        if type(schema) is not dict or options.key_order != "any" or (limits is not _LIMITS and limits != _LIMITS):
            return None
        uri = schema.get("$schema")
        dialect = (dialect_of(uri) or Dialect.DEFAULT) if isinstance(uri, str) else Dialect.DEFAULT
        if dialect.refusal:
            return None
        keywords = _keywords(dialect, options.openapi, options.formats == "strict")
        _under_way.work = work  # all scalars share the time of the schema
        hides_siblings = dialect.reference_hides_siblings
        return cls(_core.EverydayDocument(_compiler(options), schema, keywords, dialect.id_keyword, hides_siblings))

    def compile(self) -> bytes | None:
        """The whole document in the byte format; None if it is no everyday one, also if it is wrong."""
        return self._core.compile()

    def node(self, schema: Any, depth: int) -> NodeId | NoPart | None:
        """The node of a schema of the document, with an id that is ELSEWHERE."""
        found = self._core.part(schema, depth)
        if found >= 0:
            return ELSEWHERE + found
        if found == _NO_VALUES:
            return None
        if found == _USELESS:
            raise UselessParts
        return NO_PART

    def appended(self, first_regex: int, first_node: NodeId) -> Appended:
        """All parts so far."""
        return Appended(*self._core.appended(first_regex, first_node))

    def locations(self, document: Any, *, first: bool = False) -> tuple[str, ...]:
        """By node of the parts, the location of its schema in the document that this was made of."""
        known: dict[int, str] = {}
        stack: list[tuple[str, Any]] = [(pointer(()), document)]
        while stack:
            location, value = stack.pop()
            if not isinstance(value, (dict, list)) or id(value) in known:
                continue  # in memory, a value may stand in many places, and in itself
            known[id(value)] = location
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            stack.extend((location + steps((key,)), part) for key, part in inner)
        return tuple(known.get(id(schema), "") for schema in self._core.schemas_of_nodes(first))


_NO_VALUES, _USELESS = -2, -3


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
