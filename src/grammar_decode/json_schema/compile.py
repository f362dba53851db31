"""JSON Schema to IR: the one entry point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from grammar_decode.errors import SchemaTooComplex, UnsatisfiableSchema
from grammar_decode.ir.encode import encode
from grammar_decode.ir.nodes import Grammar, NodeId
from grammar_decode.json_schema.document import Document, NeedsDynamicScope, parse_json
from grammar_decode.json_schema.lower import Lowering
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.report import Report, Reporter
from grammar_decode.limits import Limits, Work

_OPTIONS = JsonOptions()
_LIMITS = Limits()


class Compiled(NamedTuple):
    """A grammar in its byte format, the schema location of each node, and what became of each keyword."""

    encoded: bytes
    origins: tuple[str, ...]
    report: Report


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
) -> Compiled:
    """The same in the byte format of the IR, which is made faster where the grammar itself is not needed."""
    lowering, grammar, report = _compiled(schema, options, resources, limits, work)
    encoded = encode(grammar, lowering.seed.beginning)
    lowering.dismantle()
    return Compiled(encoded, grammar.origins, report)


def location_of_node(
    node: NodeId | None,
    schema: Any,
    options: JsonOptions | None = None,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> str:
    """Where the schema of a node of the grammar stands. It compiles again: for messages only."""
    lowering, _, _ = _compiled(schema, options, resources, limits)
    location = lowering.location_of(node)
    lowering.dismantle()
    return location


def _compiled(
    schema: Any,
    options: JsonOptions | None,
    resources: Mapping[str, Any] | None,
    limits: Limits | None,
    work: Work | None = None,
) -> tuple[Lowering, Grammar, Report]:
    options = options or _OPTIONS
    limits = limits or _LIMITS
    if isinstance(schema, (str, bytes)):
        schema = parse_json(schema)
    try:
        lowering, root = _lowered(schema, options, resources, limits, work or Work(limits))
    except RecursionError:
        raise SchemaTooComplex("the schema is nested too deeply", limit="max_depth", location="#") from None
    except SchemaTooComplex as error:
        raise error.at("#") from None
    if root is None:
        raise UnsatisfiableSchema("the schema is unsatisfiable: its keywords exclude every value", location="#")
    schemas, constants = lowering.document.schemas, lowering.document.constant_scope
    reached = [schemas[number] for number in lowering.reader.readings if schemas[number].scope is not constants]
    reporter = Reporter(reached, options, lowering.restrictions, [schemas[number] for number in lowering.impossible])
    return lowering, lowering.builder.grammar(root), Report(reporter)


def _lowered(
    schema: Any, options: JsonOptions, resources: Mapping[str, Any] | None, limits: Limits, work: Work
) -> tuple[Lowering, NodeId | None]:
    for dynamic in (False, True):
        document = Document(schema, resources, dynamic=dynamic, max_nesting=limits.max_nesting)
        lowering = Lowering(document, options, limits, work)
        try:
            return lowering, lowering.root()
        except NeedsDynamicScope:
            continue
    raise AssertionError("a document with dynamic scopes asked for them")
