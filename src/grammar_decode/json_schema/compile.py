"""JSON Schema to IR: the one entry point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from grammar_decode.errors import SchemaTooComplex, UnsatisfiableSchema
from grammar_decode.ir.encode import NOTHING_APPENDED, encode
from grammar_decode.ir.nodes import Grammar, NodeId
from grammar_decode.json_schema.collector import collector_at_rest
from grammar_decode.json_schema.document import Document, NeedsDynamicScope, parse_json
from grammar_decode.json_schema.lower import Lowering
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.parts import Parts, UselessParts
from grammar_decode.json_schema.report import Report, Reporter
from grammar_decode.limits import Limits, Work

_OPTIONS = JsonOptions()
_LIMITS = Limits()


class Compiled(NamedTuple):
    """A grammar in its byte format, the schema location of each node, and what became of each keyword.

    Of ``num_parts`` nodes at the end the location is not looked up, and then the report is not complete.
    """

    encoded: bytes
    origins: tuple[str, ...]
    report: Report
    num_parts: int = 0


def compile_schema(
    schema: Any,
    options: JsonOptions | None = None,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> tuple[Grammar, Report]:
    """The grammar of the JSON texts that satisfy the schema, and what became of each keyword.

    ``schema`` is a dict, a bool, or a JSON text. ``resources`` maps URIs to the schemas that references may name.
    Raises SchemaError and its kinds, each with the location. Whether a grammar that is not plainly empty has a document
    at all is left to the engine.
    """
    lowering, grammar, report = _compiled(schema, options, resources, limits)
    lowering.dismantle()
    return grammar, report


def compile_encoded(
    schema: Any,
    options: JsonOptions | None = None,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    work: Work | None = None,
    parts: Parts | None = None,
) -> Compiled:
    """The same in the byte format of the IR, which is made faster where the grammar itself is not needed.

    ``parts``: who compiles some of the schemas.
    """
    with collector_at_rest():
        return _compile_encoded(schema, options, resources, limits, work, parts)


def _compile_encoded(
    schema: Any,
    options: JsonOptions | None,
    resources: Mapping[str, Any] | None,
    limits: Limits | None,
    work: Work | None,
    parts: Parts | None = None,
) -> Compiled:
    try:
        lowering, grammar, report = _compiled(schema, options, resources, limits, work, parts)
    except UselessParts:
        return _compile_encoded(schema, options, resources, limits, work)
    appended = NOTHING_APPENDED
    if lowering.parts is not None:
        appended = lowering.parts.appended(len(grammar.regexes), len(grammar.nodes))
    if len(grammar.nodes) + appended.num_nodes > lowering.limits.max_nodes:
        lowering.dismantle()
        return _compile_encoded(schema, options, resources, limits, work)  # refuses, and says where
    encoded = encode(grammar, lowering.seed.beginning, appended)
    lowering.dismantle()
    origins = grammar.origins + ("",) * appended.num_nodes
    return Compiled(encoded, origins, report, appended.num_nodes)


def location_of_node(
    node: NodeId | None,
    schema: Any,
    options: JsonOptions | None = None,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    parts: Parts | None = None,
) -> str:
    """Where the schema of a node of the grammar stands. It compiles again: for messages only."""
    lowering, grammar, _ = _compiled(schema, options, resources, limits, parts=parts)
    if lowering.parts is not None and node is not None and node >= len(grammar.nodes):
        location = lowering.parts.locations(schema, first=True)[node - len(grammar.nodes)] or "#"
    else:
        location = lowering.location_of(node)
    lowering.dismantle()
    return location


def _compiled(
    schema: Any,
    options: JsonOptions | None,
    resources: Mapping[str, Any] | None,
    limits: Limits | None,
    work: Work | None = None,
    parts: Parts | None = None,
) -> tuple[Lowering, Grammar, Report]:
    options = options or _OPTIONS
    limits = limits or _LIMITS
    if isinstance(schema, (str, bytes)):
        schema = parse_json(schema)
    try:
        lowering, root = _lowered(schema, options, resources, limits, work or Work(limits), parts)
    except RecursionError:
        raise SchemaTooComplex("the schema is nested too deeply", limit="max_depth", location="#") from None
    except SchemaTooComplex as error:
        raise error.at("#") from None
    if root is None:
        raise UnsatisfiableSchema("the schema is unsatisfiable: its keywords exclude every value", location="#")
    schemas, constants = lowering.document.schemas, lowering.document.constant_scope
    numbers = dict.fromkeys((*lowering.reader.readings, *lowering.equal.looked_at()))
    reached = [schemas[number] for number in numbers if schemas[number].scope is not constants]
    impossible = [schemas[number] for number in lowering.impossible]
    reporter = Reporter(reached, options, lowering.restrictions, impossible, lowering.document.unknown_dialects())
    return lowering, lowering.builder.grammar(root), Report(reporter)


def _lowered(
    schema: Any,
    options: JsonOptions,
    resources: Mapping[str, Any] | None,
    limits: Limits,
    work: Work,
    parts: Parts | None,
) -> tuple[Lowering, NodeId | None]:
    for dynamic in (False, True):
        document = Document(schema, resources, dynamic=dynamic, max_nesting=limits.max_nesting)
        lowering = Lowering(document, options, limits, work, None if dynamic else parts)
        try:
            return lowering, lowering.root()
        except NeedsDynamicScope:
            continue
    raise AssertionError("a document with dynamic scopes asked for them")
