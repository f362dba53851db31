"""A compiled grammar, and the way from a JSON Schema to it."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar

from grammar_decode import _core
from grammar_decode.cache import Cache, content_of, value_of
from grammar_decode.errors import (
    GrammarDecodeError,
    SchemaError,
    SchemaTooComplex,
    SerializationError,
    UnsatisfiableSchema,
)
from grammar_decode.everyday import EverydayDocument
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.encode import decode, encode
from grammar_decode.json_schema.compile import compile_encoded, compile_schema, location_of_node
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.report import NOTHING_FITS, Report
from grammar_decode.limits import Limits, Work
from grammar_decode.typed import is_type, schema_of

T = TypeVar("T")

_OPTIONS = JsonOptions()
_LIMITS = Limits()
_MAGIC = b"GDGR"
_VERSION = 3
#: A larger schema is not stored with its grammar: messages then tell less.
_MOST_STORED = 1 << 20
_HEADER = struct.Struct("<4s3I16s")  # magic, version, bytes of the IR, bytes of the JSON part, checksum of both


class Grammar:
    """A schema compiled for every vocabulary. Immutable; share it between threads, requests and processes (it pickles).

    Made by :func:`compile_json_schema` or :meth:`from_bytes`. ``report`` says what became of each keyword.
    """

    __slots__ = ("_core_grammar", "_encoded", "_ir", "_origins", "_plain", "_report", "_schema", "limits", "options")

    def __init__(
        self,
        encoded: bytes,
        report: Report,
        origins: tuple[str, ...] | Callable[[], tuple[str, ...]],
        limits: Limits,
        options: JsonOptions | None = None,
    ) -> None:
        self._encoded = encoded
        self._report = report
        self._ir: ir.Grammar | None = None
        self.limits = limits
        #: How the texts are spelled; None for a grammar that is of no schema.
        self.options = options
        self._origins = origins
        self._schema: bytes | tuple[Any, Any] | None = None  # what it was compiled from, for messages
        self._plain: _core.Grammar | None = None
        self._core_grammar = _core.Grammar(
            encoded,
            max_states=limits.max_states,
            max_picks=limits.max_picks,
            max_search=limits.max_search,
            max_threads=limits.max_threads,
            max_document_depth=limits.max_document_depth,
            max_memory_bytes=limits.max_memory_bytes,
            max_compile_seconds=limits.max_compile_seconds,
            max_mask_seconds=limits.max_mask_seconds,
        )

    @property
    def report(self) -> Report:
        """What became of each keyword of the schema: enforced, enforced with a stated restriction, annotation."""
        return self._report

    @property
    def origins(self) -> tuple[str, ...]:
        """For each node of the IR, the schema location that it came from; "" where there is no single one."""
        if not isinstance(self._origins, tuple):
            self._origins = self._origins()
        return self._origins

    @property
    def ir(self) -> ir.Grammar:
        """The grammar as plain data, for the reference matcher and for reading."""
        if self._ir is None:
            self._ir = decode(self._encoded)
        return self._ir

    def _source(self) -> tuple[Any, dict[str, Any]] | None:
        """The schema and the resources; None where there is no one schema, and where it was too large to be stored."""
        return value_of(self._schema) if isinstance(self._schema, bytes) else self._schema

    def _without_distinctness(self) -> _core.Grammar | None:
        """The same with arrays whose items need not be distinct, for messages; None if all are so."""
        if self._plain is None:
            nodes = [replace(n, unique=False) if isinstance(n, ir.Elements) else n for n in self.ir.nodes]
            if tuple(nodes) != self.ir.nodes:
                self._plain = _core.Grammar(encode(replace(self.ir, nodes=tuple(nodes))))
        return self._plain

    def memory_bytes(self) -> int:
        """The memory that the grammar holds, in bytes, with what it remembers of masks for the vocabularies it met."""
        return len(self._encoded) + self._core_grammar.memory_bytes()

    def to_bytes(self) -> bytes:
        """The grammar, its report, options, limits and schema, with the version of the format and a checksum.

        The schema is for messages only, and left out where its text has more than a megabyte.

        The checksum finds damage, not forgery: whoever can write the bytes can write any grammar. It is safe to load
        them, but its texts are then what the writer chose.
        """
        rest = json.dumps(
            {
                "options": None if self.options is None else asdict(self.options),
                "report": self._report.to_json(),
                "origins": self.origins,
                "limits": asdict(self.limits),
                "schema": _stored(self._source()),
            },
            separators=(",", ":"),
        ).encode("utf-8", "surrogatepass")
        checksum = _checksum(self._encoded, rest)
        return _HEADER.pack(_MAGIC, _VERSION, len(self._encoded), len(rest), checksum) + self._encoded + rest

    @classmethod
    def from_bytes(cls, data: bytes) -> Grammar:
        """The inverse of :meth:`to_bytes`. Raises :class:`SerializationError` on damaged data or another version."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"a grammar is read from bytes, not {type(data).__name__}")
        data = bytes(data)
        if len(data) < _HEADER.size or data[:4] != _MAGIC:
            raise SerializationError(
                "This is not a grammar: it does not begin with GDGR. Pass what Grammar.to_bytes gave."
            )
        _, version, ir_size, rest_size, checksum = _HEADER.unpack_from(data)
        if version != _VERSION:
            raise SerializationError(
                f"The grammar was written in format {version}; this release reads {_VERSION}. Compile the schema again."
            )
        if len(data) != _HEADER.size + ir_size + rest_size:
            raise SerializationError("The grammar is truncated, or bytes were appended to it.")
        encoded = data[_HEADER.size : _HEADER.size + ir_size]
        rest = data[_HEADER.size + ir_size :]
        if _checksum(encoded, rest) != checksum:
            raise SerializationError("The grammar is damaged: its checksum does not fit. Compile the schema again.")
        try:
            parts = json.loads(rest.decode("utf-8", "surrogatepass"))
            report = Report.from_json(parts["report"])
            limits = Limits(**parts["limits"])
            origins = tuple(parts["origins"])
            options = None if parts["options"] is None else JsonOptions(**parts["options"])
            if not all(isinstance(origin, str) for origin in origins):
                raise TypeError("an origin is not a string")
            schema = None if parts["schema"] is None else _restored(*parts["schema"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SerializationError(f"What the grammar says of itself can't be read: {error!r}") from error
        grammar = cls(encoded, report, origins, limits, options)
        grammar._schema = schema
        return grammar

    def __reduce__(self) -> tuple[Any, ...]:
        return (Grammar.from_bytes, (self.to_bytes(),))

    def __eq__(self, other: object) -> bool:
        return self.to_bytes() == other.to_bytes() if isinstance(other, Grammar) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._encoded)

    def __repr__(self) -> str:
        return f"<Grammar of {len(self.origins)} nodes, {len(self._encoded)} bytes>"


class GrammarCache(Cache[Grammar]):
    """Grammars by the content of their schema, options, resources and limits.

    Holds at most ``max_grammars`` of them, with at most ``max_bytes`` in all; what was not used for longest goes first.
    A grammar that is kept also keeps the masks it has computed, and the vocabularies of these.
    """

    def __init__(self, max_grammars: int = 1024, max_bytes: int = 256 << 20) -> None:
        super().__init__(max_grammars, max_bytes)


#: Where :func:`compile_json_schema` looks first. ``grammar_cache.clear()`` forgets all grammars.
grammar_cache = GrammarCache()
atexit.register(grammar_cache.clear)  # before the kernel looks for objects that were forgotten


def _stored(source: tuple[Any, dict[str, Any]] | None) -> tuple[Any, dict[str, Any]] | None:
    """What can be written of a schema; its text may be far longer than it is in memory, where parts are shared."""
    size = 0
    try:
        for piece in json.JSONEncoder().iterencode(source):
            size += len(piece)
            if size > _MOST_STORED:
                return None
    except (RecursionError, ValueError, TypeError):  # nested too deeply, or within itself
        return None
    return source


def _restored(schema: Any, resources: Any) -> tuple[Any, dict[str, Any]]:
    if not isinstance(schema, (dict, bool)) or not isinstance(resources, dict):
        raise TypeError("the schema is none")
    return schema, resources


def _checksum(encoded: bytes, rest: bytes) -> bytes:
    return hashlib.blake2b(encoded + rest, digest_size=16).digest()


def compile_json_schema(
    schema: Any,
    options: JsonOptions | None = None,
    *,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    cache: GrammarCache | None = grammar_cache,
) -> Grammar:
    """Compile a JSON Schema to a grammar of the JSON texts that it validates, spelled as ``options`` allow.

    ``schema`` is a dict, a bool, or the text of one (str or bytes). ``resources`` maps URIs to schemas that ``$ref``
    may name; nothing is ever fetched. It may also be a type: a pydantic model, a dataclass, a TypedDict, a type hint
    (``list[Point]``), or a ``pydantic.TypeAdapter``; these need pydantic. Drafts 4, 6, 7, 2019-09 and 2020-12 are read
    by their own rules.

    A schema that was compiled before is looked up in ``cache`` by its content, in microseconds, and the answer is the
    same :class:`Grammar`, which remembers its masks. ``cache=None`` compiles anew.

    Raises :class:`SchemaError` (not a schema, or an unresolvable reference), :class:`UnsupportedSchema`,
    :class:`UnsatisfiableSchema`, :class:`SchemaTooComplex`; each names the place in the schema and what to change.

    >>> grammar = compile_json_schema({"type": "object", "properties": {"age": {"type": "integer"}}})
    """
    options = _checked("options", options, JsonOptions) or _OPTIONS
    limits = _checked("limits", limits, Limits) or _LIMITS
    if isinstance(schema, (str, bytes, bytearray)):
        _check_size(len(schema), limits)
        schema = _parse(schema)
    elif not isinstance(schema, (dict, bool)) and is_type(schema):
        schema = schema_of(schema)
    resources = dict(resources or {})
    content = content_of((schema, resources))
    if content is not None:
        _check_size(len(content), limits)
    if cache is None or content is None:
        grammar = _compiled(schema, options, resources, limits)
        grammar._schema = content or grammar._schema  # which may be changed later
        return grammar
    key = (content, options, limits)
    known = cache.get(key)
    if known is None:
        known = _compiled(schema, options, resources, limits, content)
        cache.add(key, known)
    return known


def _compiled(
    schema: Any, options: JsonOptions, resources: dict[str, Any], limits: Limits, content: bytes | None = None
) -> Grammar:
    """The grammar. ``content`` is what the cache knows the schema and the resources by."""
    work = Work(limits)
    # The schema may be changed before somebody else asks for the report.
    told = partial(_told, (schema, resources) if content is None else content, options, limits)
    document = None if resources else EverydayDocument.of(schema, options, limits, work)
    encoded = None if document is None else document.compile()
    num_parts = 0
    if encoded is not None:
        grammar = Grammar(encoded, Report(lambda: told()[1]), lambda: told()[0].origins, limits, options)
    else:
        try:
            compiled = compile_encoded(schema, options, resources, limits, work, document)
        except (AttributeError, TypeError):
            _find_foreign(schema)  # what json.loads never makes; not looked for in every schema
            raise
        num_parts = compiled.num_parts
        is_whole = content is None and not num_parts
        report = compiled.report if is_whole else Report(lambda: told()[1])
        origins: tuple[str, ...] | Callable[[], tuple[str, ...]] = compiled.origins
        if num_parts:
            origins = partial(_origins, schema if content is None else content, options, limits)
        grammar = Grammar(compiled.encoded, report, origins, limits, options)
    grammar._schema = (schema, resources) if content is None else content
    try:
        is_empty = grammar._core_grammar.is_empty(work.seconds_left())
    except SchemaTooComplex as error:
        if error.limit == "max_compile_seconds":
            raise work.too_long().at("#") from None
        location = "#"
        if error.node is not None:
            parts = EverydayDocument.of(schema, options, limits) if num_parts else None
            location = location_of_node(error.node, schema, options, resources, limits, parts)
        raise error.at(location) from None
    if is_empty:
        raise UnsatisfiableSchema(
            "the schema is unsatisfiable: no JSON document matches it",
            location="#",
            hint=_where_nothing_fits((schema, resources), options, limits, work),
        )
    return grammar


def _where_nothing_fits(content: tuple[Any, Any], options: JsonOptions, limits: Limits, work: Work) -> str:
    """What to do about a schema that nothing satisfies. The places are those that the report knows."""
    places: list[str] = []
    if (seconds := work.seconds_left()) > 0:
        # The report compiles again, in what is left of the time.
        with contextlib.suppress(GrammarDecodeError):
            _, report = _told(content, options, replace(limits, max_compile_seconds=seconds))
            places = [entry.detail for entry in report if entry.detail.startswith(NOTHING_FITS)]
    if places:
        return f"Look here first: {'; '.join(places[:3])}."
    return "Look for keywords that contradict each other, or a required property whose schema nothing satisfies."


def _told(content: bytes | tuple[Any, Any], options: JsonOptions, limits: Limits) -> tuple[ir.Grammar, Report]:
    """What was said of the schema, where somebody asks after all: it compiles again."""
    schema, resources = value_of(content) if isinstance(content, bytes) else content
    return compile_schema(schema, options, resources, limits)


def _origins(content: Any, options: JsonOptions, limits: Limits) -> tuple[str, ...]:
    """The location of each node, where parts of the schema were compiled apart. It compiles again."""
    schema = value_of(content)[0] if isinstance(content, bytes) else content
    document = EverydayDocument.of(schema, options, limits)
    compiled = compile_encoded(schema, options, None, limits, parts=document)
    if document is None or not compiled.num_parts:
        return compiled.origins
    return compiled.origins[: -compiled.num_parts] + document.locations(schema)


def _checked(name: str, value: T | None, expected: type[T]) -> T | None:
    if value is not None and not isinstance(value, expected):
        raise TypeError(f"{name} must be a {expected.__name__} or None, not {type(value).__name__}")
    return value


def _find_foreign(schema: Any) -> None:
    """Raise SchemaError if a key of an object somewhere in `schema` is not a string."""
    stack = [("#", schema)]
    while stack:
        location, value = stack.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise SchemaError(f"the key {key!r} is not a string, so this is not JSON", location=location)
                stack.append((f"{location}/{key.replace('~', '~0').replace('/', '~1')}", inner))
        elif isinstance(value, list):
            stack.extend((f"{location}/{index}", inner) for index, inner in enumerate(value))


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.max_schema_bytes:
        raise SchemaTooComplex(
            f"the schema has {size} bytes; at most {limits.max_schema_bytes} are read",
            limit="max_schema_bytes",
            needed=size,
            location="#",
        )


def _parse(text: str | bytes | bytearray) -> Any:
    try:
        schema = json.loads(text)
    except RecursionError:
        raise SchemaTooComplex(
            "the text of the schema is nested too deeply to be read as JSON", limit="max_nesting", location="#"
        ) from None
    except ValueError as error:
        raise SchemaError(
            f"the schema is not JSON: {error}.", hint="Pass a dict, or the text of a JSON document."
        ) from None
    if isinstance(schema, str):  # which would be taken for the text of a schema once more
        raise SchemaError(f"a schema must be an object or a boolean, not the string {schema!r:.40}", location="#")
    return schema
