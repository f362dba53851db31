"""Conjunctions of schemas become nodes of the IR.

A conjunction splits by JSON type. Its scalars are one terminal; its objects and its arrays are nodes that are reserved
first and defined later, from a queue, so that recursion of schemas is a cycle of ids and never one of calls. Containers
are shared by their formula: wherever the same is said of an object, it is the same node.
"""

from __future__ import annotations

from collections.abc import Sequence

from grammar_decode.errors import SchemaTooComplex
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.encode import Beginning
from grammar_decode.json_schema.arrays import Arrays
from grammar_decode.json_schema.claims import (
    ALWAYS,
    ARRAY,
    BOOLEAN,
    NEVER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Conjunction,
    Literal,
)
from grammar_decode.json_schema.combine import Combiner
from grammar_decode.json_schema.document import Document
from grammar_decode.json_schema.equal_schemas import EqualSchemas
from grammar_decode.json_schema.expressions import Expression
from grammar_decode.json_schema.formula import FALSE, Formula, Formulas
from grammar_decode.json_schema.key_classes import KeyPredicates
from grammar_decode.json_schema.objects import Objects
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.orders import Orders
from grammar_decode.json_schema.parts import NoPart, Parts
from grammar_decode.json_schema.read import Reader
from grammar_decode.json_schema.scalars import Numbers, truths
from grammar_decode.json_schema.seed import Seed
from grammar_decode.json_schema.strings import Strings
from grammar_decode.limits import Limits, Work

SCALARS = (NULL, BOOLEAN, NUMBER, STRING)
CONTAINERS = (OBJECT, ARRAY)
_BOOLEANS = ((), (b"false",), (b"true",), (b"false", b"true"))


class Lowering:
    """One compilation: document in, nodes of the builder out."""

    def __init__(
        self,
        document: Document,
        options: JsonOptions,
        limits: Limits,
        work: Work | None = None,
        parts: Parts | None = None,
    ) -> None:
        self.seed = seed = Seed.planted(options.escapes, options.numbers, options.spacing)
        self.document = document
        self.builder = seed.builder
        self.work = work or Work(limits)
        self.builder.watch = self.work
        self.limits = limits
        self.parts = parts
        self.formulas = Formulas(self.work)
        self.reader = Reader(document, self.formulas, options, limits)
        self.strings = Strings(seed, self.formulas, self.reader)
        self.numbers = Numbers(seed, self.formulas, self.reader)
        self.combiner = Combiner(document, self.reader, self.formulas, self.strings, self.numbers, self.work)
        self.equal = EqualSchemas(document, self.reader, self.formulas, self.work)
        self.orders = Orders(self.formulas)
        self.ordered = options.key_order == "schema"
        predicates = KeyPredicates(self.builder, self.formulas, self.combiner, self.strings)
        self.objects = Objects(
            self.builder, self.formulas, self.combiner, self.equal, predicates, limits, ordered=self.ordered
        )
        self.arrays = Arrays(self.formulas, self.combiner, self.equal, limits)
        #: What the options narrow beyond their documented meaning: location, keyword, detail.
        self.restrictions: list[tuple[str, str, str]] = []
        #: The schemas, by number, that plainly nothing satisfies and that are not the schema `false`.
        self.impossible: set[int] = set()
        self._nodes: dict[Conjunction, ir.NodeId | None] = {}
        self._containers: dict[tuple[int, Formula], ir.NodeId] = {}
        self._scalars: dict[tuple[int, Formula], ir.RegexId] = {}
        self._plain: dict[tuple[int, tuple[tuple[int, Expression], ...]], ir.NodeId | None] = {}
        self._queue: list[tuple[ir.NodeId, int, Formula, str]] = []

    def root(self) -> ir.NodeId | None:
        """The node of the whole document, with everything that it refers to defined; None if plainly empty."""
        root = self.node(frozenset((self.document.root,)))
        while self._queue:
            node, json_type, formula, location = self._queue.pop()
            self.work.tick()
            try:
                self._define(node, json_type, formula, location)
            except SchemaTooComplex as error:
                raise error.at(location) from None
        return root

    def location_of(self, node: ir.NodeId | None) -> str:
        """Where the first of the schemas stands whose values a node reads; the root where none is known."""
        for literals, made in self._nodes.items():
            is_own = made is not None and made < len(self.builder.nodes)
            choice = self.builder.nodes[made] if made is not None and is_own else None
            if made == node or (isinstance(choice, ir.Choice) and node in choice.nodes):
                return self.document.schemas[min(literals - {ALWAYS}, default=ALWAYS) >> 1].location
        return "#"

    def dismantle(self) -> None:
        """Take apart what refers to itself, so that it is freed at once and does not wait for the garbage collector.

        A report may still name the schemas.
        """
        self.document.dismantle()
        self.combiner.dismantle()
        self.builder.watch = None

    def node(self, literals: Conjunction) -> ir.NodeId | None:
        """The node of the values that satisfy all of the literals; None if there are plainly none."""
        nodes = self._nodes
        if literals in nodes:
            return nodes[literals]
        if self.parts is not None and len(literals) == 1:
            (literal,) = literals
            schema = self.document.schemas[literal >> 1]
            if literal & 1 and schema.scope is self.document.scope:
                part = self.parts.node(schema.value, schema.depth)
                if not isinstance(part, NoPart):
                    nodes[literals] = part
                    return part
        met = frozenset(map(self.equal.target, literals))
        if met == literals:
            node = None if NEVER in met else self._node(met)
        else:
            node = None if NEVER in met else nodes[met] if met in nodes else self._node(met)
            nodes[met] = node
        nodes[literals] = node
        if node is None and len(literals) == 1:
            self.impossible.update(literal >> 1 for literal in literals if literal & 1)
        return node

    def _node(self, literals: Conjunction) -> ir.NodeId | None:
        ordered = sorted(literals - {ALWAYS})
        if len(ordered) == 1 and ordered[0] & 1:
            reading = self.reader.read(ordered[0] >> 1)
            types = reading.types
            if not reading.applies:
                # Most schemas of scalars are like many others of the same document.
                key = (types, tuple(reading.parts))
                if key in self._plain:
                    return self._plain[key]
                node = self._plain[key] = self._of_types(types, ordered)
                return node
        else:
            types = self.combiner.types_of(ordered)
        return self._of_types(types, ordered)

    def _of_types(self, types: int, literals: list[Literal]) -> ir.NodeId | None:
        """The node of the values of the types that satisfy the literals; no value of another type does."""
        combine = self.combiner.conjunction
        nodes: list[ir.NodeId] = []
        texts: list[ir.RegexId] = []
        for json_type in SCALARS:
            if types & json_type:
                formula = combine(json_type, literals)
                if formula != FALSE:
                    texts.append(self._scalar(json_type, formula))
        if texts:
            scalar = self.builder.alternate(*texts) if len(texts) > 1 else texts[0]
            if scalar != self.builder.empty:
                nodes.append(self.builder.add(ir.Terminal(scalar)))
        for json_type in CONTAINERS:
            if types & json_type:
                formula = combine(json_type, literals)
                if formula != FALSE:
                    nodes.append(self._container(json_type, formula, literals))
        if len(nodes) <= 1:
            return nodes[0] if nodes else None
        return self.builder.add(ir.Choice(tuple(nodes)))

    def _scalar(self, json_type: int, formula: Formula) -> ir.RegexId:
        key = (json_type, formula)
        known = self._scalars.get(key)
        if known is None:
            if json_type == STRING:
                known = self.strings.quoted(self.strings.body(formula))
            elif json_type == NUMBER:
                known = self.numbers.language(formula)
            elif json_type == BOOLEAN:
                known = self.builder.literals(_BOOLEANS[truths(self.formulas, formula)])
            else:
                known = self.builder.literal(b"null")
            self._scalars[key] = known
        return known

    def scalar_alone(self, json_type: int) -> Beginning | None:
        """The texts of the values of a scalar type that the document admits, by themselves; None if there are none."""
        formula = self.combiner.formula(json_type, self.document.root)
        return None if formula == FALSE else Beginning.of(self.builder.take(self._scalar(json_type, formula)))

    # ---- objects and arrays ----

    def _container(self, json_type: int, formula: Formula, literals: list[Literal]) -> ir.NodeId:
        key = (json_type, formula)
        known = self._containers.get(key)
        if known is None:
            location = self.document.schemas[literals[0] >> 1].location if literals else ""
            known = self._containers[key] = self.builder.reserve(location)
            if known >= self.limits.max_nodes:
                raise SchemaTooComplex(
                    f"the schema needs more than {self.limits.max_nodes} nodes",
                    limit="max_nodes",
                    needed=known + 1,
                    location=location,
                )
            self._queue.append((known, json_type, formula, location))
        return known

    def _define(self, node: ir.NodeId, json_type: int, formula: Formula, location: str) -> None:
        if json_type == ARRAY:
            self._define_union(node, self.arrays.lower(formula, location, self.node), location)
            return
        formulas, kept = self.orders.variants(formula) if self.ordered else ([formula], True)
        if not kept:
            self.restrictions.append(
                (location, "properties", "alternatives declare properties in contradictory orders; one order is kept")
            )
        objects = [v for v in (self.objects.lower(f, location, self.node) for f in formulas) if v is not None]
        self._define_union(node, objects, location)

    def _define_union(self, node: ir.NodeId, variants: Sequence[ir.Node], location: str) -> None:
        if len(variants) == 1:
            self.builder.define(node, variants[0])
        else:
            self.builder.define(node, ir.Choice(tuple(self.builder.add(v, location) for v in variants)))
