"""Which nodes have a value at all: the least fixed point over the graph of nodes."""

from __future__ import annotations

from grammar_decode.ir import nodes as ir
from grammar_decode.reference.containers import ArrayRules, ObjectRules
from grammar_decode.reference.regex import Expression, Regexes


def nonempty_nodes(grammar: ir.Grammar, expressions: tuple[Expression, ...], regexes: Regexes) -> frozenset[ir.NodeId]:
    """The nodes with at least one value that the alphabet of ``regexes`` can spell."""
    known: frozenset[ir.NodeId] = frozenset()
    while True:
        new = {
            node_id
            for node_id, node in enumerate(grammar.nodes)
            if node_id not in known and _has_value(node, known, grammar.spacing, expressions, regexes)
        }
        if not new:
            return known
        known |= new


def _has_value(
    node: ir.Node,
    known: frozenset[ir.NodeId],
    spacing: ir.Spacing,
    expressions: tuple[Expression, ...],
    regexes: Regexes,
) -> bool:
    if isinstance(node, ir.Terminal):
        return not regexes.is_empty(expressions[node.regex])
    if isinstance(node, ir.Choice):
        return not known.isdisjoint(node.nodes)
    if isinstance(node, ir.Members):
        return ObjectRules(node, expressions, regexes, known, spacing).can_start()
    return ArrayRules(node, regexes, known, spacing).can_start()
