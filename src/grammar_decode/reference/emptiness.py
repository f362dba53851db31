"""Which nodes have a value at all: the least fixed point over the graph of nodes."""

from __future__ import annotations

from grammar_decode.ir import nodes as ir
from grammar_decode.reference.containers import RuleBook
from grammar_decode.reference.regex import Expression, Regexes
from grammar_decode.reference.scalars import Scalars
from grammar_decode.reference.values import ValueSets


def nonempty_nodes(
    grammar: ir.Grammar, expressions: tuple[Expression, ...], regexes: Regexes, scalars: Scalars
) -> frozenset[ir.NodeId]:
    """The nodes with at least one value that the alphabet of ``regexes`` can spell."""
    known: frozenset[ir.NodeId] = frozenset()
    while True:
        rules = RuleBook(grammar, expressions, regexes, known)
        values = ValueSets(rules, scalars)
        unknown = set(range(len(grammar.nodes))) - known
        new = {node_id for node_id in unknown if _has_value(node_id, rules, values)}
        if not new:
            return known
        known |= new


def nullable_nodes(grammar: ir.Grammar, expressions: tuple[Expression, ...], regexes: Regexes) -> frozenset[ir.NodeId]:
    """The nodes that match the empty text, which only parts of chains do."""
    known: frozenset[ir.NodeId] = frozenset()
    while True:
        new = set(known)
        for node_id, node in enumerate(grammar.nodes):
            if isinstance(node, ir.Terminal):
                is_nullable = regexes.nullable(expressions[node.regex])
            elif isinstance(node, ir.Choice):
                is_nullable = not known.isdisjoint(node.nodes)
            else:
                is_nullable = isinstance(node, ir.Chain) and known.issuperset(node.nodes)
            if is_nullable:
                new.add(node_id)
        if new == known:
            return known
        known = frozenset(new)


def _has_value(node_id: ir.NodeId, rules: RuleBook, values: ValueSets) -> bool:
    """Whether there is a value, made of values of the nodes that are known to have one."""
    node = rules.grammar.nodes[node_id]
    if isinstance(node, ir.Terminal):
        return not rules.regexes.is_empty(rules.expressions[node.regex])
    if isinstance(node, ir.Choice):
        return not rules.nonempty.isdisjoint(node.nodes)
    if isinstance(node, ir.Chain):
        return rules.nonempty.issuperset(node.nodes)
    if isinstance(node, ir.Members):
        return rules.of_object(node_id).can_start()
    return rules.of_array(node_id).can_start() and (not node.unique or values.can_start(node_id))
