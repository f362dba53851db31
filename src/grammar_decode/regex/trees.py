"""The syntax tree of a pattern: what is plain to see of its nodes, and the tree of the reversed strings.

Without recursion, but for what single lookbehinds are made of: trees may be deep.
"""

from __future__ import annotations

from grammar_decode.regex.charset import ALL, NONE, WORD, Charset
from grammar_decode.regex.parse import Alternation, Ast, Begin, Boundary, Chars, End, Look, Repeat, Sequence


def children(node: Ast) -> tuple[Ast, ...]:
    if isinstance(node, (Sequence, Alternation)):
        return node.parts
    if isinstance(node, (Repeat, Look)):
        return (node.part,)
    return ()


def post_order(tree: Ast) -> list[Ast]:
    """Every node after its children; without recursion."""
    order: list[Ast] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(children(node))
    order.reverse()
    return order


def assertions_in(tree: Ast) -> tuple[Ast, ...]:
    return tuple(node for node in post_order(tree) if isinstance(node, (Begin, Boundary, Look)))


class Facts:
    """By node identity: ``pure`` (no assertion inside) and ``nullable`` (matches the empty string; pure nodes only)."""

    def __init__(self, tree: Ast) -> None:
        self.order = post_order(tree)
        self.pure: dict[int, bool] = {}
        self.nullable: dict[int, bool] = {}
        for node in self.order:
            self.add(node)
        self.assertion_depth, self.height = (0, 0) if self.pure[id(tree)] else self.depths()

    def depths(self) -> tuple[int, int]:
        """Height of the nodes that hold assertions, and of all nodes."""
        impure: dict[int, int] = {}
        every: dict[int, int] = {}
        for node in self.order:
            key, inside = id(node), children(node)
            every[key] = 1 + max((every[id(child)] for child in inside), default=0)
            if not self.pure[key]:
                impure[key] = 1 + max((impure.get(id(child), 0) for child in inside), default=0)
        return max(impure.values()), max(every.values())

    def add(self, node: Ast) -> None:
        """Record a node whose children are recorded. The caller keeps it alive."""
        key = id(node)
        if isinstance(node, Chars):
            self.pure[key], self.nullable[key] = True, False
        elif isinstance(node, Sequence):
            self.pure[key] = all(self.pure[id(p)] for p in node.parts)
            self.nullable[key] = all(self.nullable[id(p)] for p in node.parts)
        elif isinstance(node, Alternation):
            self.pure[key] = all(self.pure[id(p)] for p in node.parts)
            self.nullable[key] = any(self.nullable[id(p)] for p in node.parts)
        elif isinstance(node, Repeat):
            self.pure[key] = self.pure[id(node.part)]
            self.nullable[key] = node.minimum == 0 or self.nullable[id(node.part)]
        else:
            self.pure[key], self.nullable[key] = False, True

    def starts(self, node: Ast) -> Charset:
        """A set that holds the first character of every match; the node is pure."""
        found: list[Charset] = []
        stack = [node]
        while stack:
            top = stack.pop()
            if isinstance(top, Chars):
                found.append(top.charset)
            elif isinstance(top, Sequence):
                for part in top.parts:
                    stack.append(part)
                    if not self.nullable[id(part)]:
                        break
            else:
                stack.extend(children(top))
        return NONE.union(*found)

    def ends(self, node: Ast) -> Charset:
        """A set that holds the last character of every match (exact unless a part matches nothing at all)."""
        found = NONE
        stack = [node]
        while stack:
            top = stack.pop()
            if isinstance(top, Chars):
                found = found.union(top.charset)
            elif isinstance(top, Sequence):
                for part in reversed(top.parts):
                    stack.append(part)
                    if not self.nullable[id(part)]:
                        break
            else:
                stack.extend(children(top))
        return found


def mirror(tree: Ast) -> Ast:
    """The tree that matches the reversed strings."""
    done: dict[int, Ast] = {}
    for node in post_order(tree):
        key = id(node)
        if isinstance(node, Sequence):
            done[key] = Sequence(tuple(done[id(p)] for p in reversed(node.parts)))
        elif isinstance(node, Alternation):
            done[key] = Alternation(tuple(done[id(p)] for p in node.parts))
        elif isinstance(node, Repeat):
            done[key] = Repeat(done[id(node.part)], node.minimum, node.maximum)
        elif isinstance(node, Look):
            done[key] = Look(done[id(node.part)], not node.behind, node.negated)
        elif isinstance(node, Begin):
            done[key] = End()
        elif isinstance(node, End):
            done[key] = Begin()
        else:
            done[key] = node
    return done[id(tree)]


def single_behind(body: Ast) -> tuple[Charset, bool] | None:
    """A lookbehind body that is decided by the last character: (the set, whether the start will do), or None."""
    if isinstance(body, Chars):
        return body.charset, False
    if isinstance(body, Begin):
        return NONE, True
    if isinstance(body, Alternation):
        found = [single_behind(part) for part in body.parts]
        sets = [f for f in found if f is not None]
        if len(sets) == len(found):
            return NONE.union(*[cs for cs, _ in sets]), any(start for _, start in sets)
    return None


def contexts_of(assertions: tuple[Ast, ...]) -> tuple[Charset, ...]:
    """The parts of ALL that assertions about the last character tell apart; none where no assertion looks back."""
    if not any(isinstance(a, (Begin, Boundary)) or (isinstance(a, Look) and a.behind) for a in assertions):
        return ()
    parts = [ALL]
    for assertion in assertions:
        cut = NONE
        if isinstance(assertion, Boundary):
            cut = WORD
        elif isinstance(assertion, Look) and assertion.behind:
            single = single_behind(assertion.part)
            cut = single[0] if single else NONE
        parts = [piece for part in parts for piece in (part.intersection(cut), part.difference(cut)) if piece]
    return tuple(parts)
