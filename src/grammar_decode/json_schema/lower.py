"""Conjunctions of schemas become nodes of the IR.

A conjunction splits by JSON type. Its scalars are one terminal; its objects and its arrays are nodes that are reserved
first and defined later, from a queue, so that recursion of schemas is a cycle of ids and never one of calls. Containers
are shared by their formula: wherever the same is said of an object, it is the same node.
"""

from __future__ import annotations

from grammar_decode.errors import SchemaTooComplex
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.json_schema.arrays import Arrays
from grammar_decode.json_schema.claims import (
    ARRAY,
    BOOLEAN,
    NEVER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Conjunction,
)
from grammar_decode.json_schema.combine import Combiner
from grammar_decode.json_schema.document import Document
from grammar_decode.json_schema.formula import FALSE, Formula, Formulas
from grammar_decode.json_schema.numbers import Numerals
from grammar_decode.json_schema.objects import Objects
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.orders import Orders
from grammar_decode.json_schema.read import Reader
from grammar_decode.json_schema.scalars import Numbers, truths
from grammar_decode.json_schema.strings import Strings
from grammar_decode.limits import Limits

_BOOLEANS = ((), (b"false",), (b"true",), (b"false", b"true"))


class Lowering:
    """One compilation: document in, nodes of the builder out."""

    def __init__(self, document: Document, builder: Builder, options: JsonOptions, limits: Limits) -> None:
        self.document = document
        self.builder = builder
        self.limits = limits
        self.formulas = Formulas()
        self.reader = Reader(document, self.formulas, options)
        self.strings = Strings(builder, self.formulas, self.reader, options.escapes)
        self.numbers = Numbers(builder, self.formulas, self.reader, Numerals(builder, options.numbers))
        self.combiner = Combiner(document, self.reader, self.formulas, self.strings, self.numbers, limits)
        self.orders = Orders(self.formulas)
        self.ordered = options.key_order == "schema"
        self.objects = Objects(
            builder, self.formulas, self.combiner, self.strings, self.node, limits, ordered=self.ordered
        )
        self.arrays = Arrays(self.formulas, self.combiner, self.node, limits)
        #: What the options narrow beyond their documented meaning: location, keyword, detail.
        self.restrictions: list[tuple[str, str, str]] = []
        self._nodes: dict[Conjunction, ir.NodeId | None] = {}
        self._containers: dict[tuple[int, Formula], ir.NodeId] = {}
        self._scalars: dict[tuple[int, Formula], ir.RegexId] = {}
        self._queue: list[tuple[ir.NodeId, int, Formula, str]] = []

    def root(self) -> ir.NodeId | None:
        """The node of the whole document, with everything that it refers to defined; None if plainly empty."""
        root = self.node(frozenset((self.document.root,)))
        while self._queue:
            self._define(*self._queue.pop())
        return root

    def node(self, literals: Conjunction) -> ir.NodeId | None:
        """The node of the values that satisfy all of the literals; None if there are plainly none."""
        if literals in self._nodes:
            return self._nodes[literals]
        node = None if NEVER in literals else self._node(literals)
        self._nodes[literals] = node
        return node

    def _node(self, literals: Conjunction) -> ir.NodeId | None:
        ordered = sorted(literals)
        combine = self.combiner.conjunction
        texts: list[ir.RegexId] = []
        for json_type in (NULL, BOOLEAN, NUMBER, STRING):
            formula = combine(json_type, ordered)
            if formula != FALSE:
                texts.append(self._scalar(json_type, formula))
        nodes: list[ir.NodeId] = []
        scalar = self.builder.alternate(*texts)
        if scalar != self.builder.empty:
            nodes.append(self.builder.add(ir.Terminal(scalar)))
        for json_type in (OBJECT, ARRAY):
            formula = combine(json_type, ordered)
            if formula != FALSE:
                nodes.append(self._container(json_type, formula, ordered))
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

    # ---- objects and arrays ----

    def _container(self, json_type: int, formula: Formula, literals: list[int]) -> ir.NodeId:
        key = (json_type, formula)
        known = self._containers.get(key)
        if known is None:
            location = self.document.schemas[literals[0] >> 1].location if literals else ""
            known = self._containers[key] = self.builder.reserve(location)
            if known >= self.limits.max_nodes:
                raise SchemaTooComplex(
                    f"the schema needs more than {self.limits.max_nodes} nodes", limit="max_nodes", location=location
                )
            self._queue.append((known, json_type, formula, location))
        return known

    def _define(self, node: ir.NodeId, json_type: int, formula: Formula, location: str) -> None:
        nothing = ir.Choice(())
        if json_type == ARRAY:
            self.builder.define(node, self.arrays.lower(formula, location) or nothing)
            return
        formulas, kept = self.orders.variants(formula) if self.ordered else ([formula], True)
        if not kept:
            self.restrictions.append(
                (location, "properties", "alternatives declare properties in contradictory orders; one order is kept")
            )
        variants = [v for v in (self.objects.lower(f, location) for f in formulas) if v is not None]
        if len(variants) == 1:
            self.builder.define(node, variants[0])
        else:
            self.builder.define(node, ir.Choice(tuple(self.builder.add(v, location) for v in variants)))
