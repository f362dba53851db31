"""Sets of values: of a node, and of all that open frames can still become. Only arrays of distinct items ask for them.

A set is enumerated up to a limit; None stands for more values than that (see ``scalars``). Such a set is taken for
endless: whatever the other items of an array are, it has a value that is none of them. That is right as long as an
array has far fewer items than the limit, and where it has not, TooManyValues is raised.

Which sets are large, or have any value, is a least fixed point where nodes refer to each other in a cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from grammar_decode.ir import nodes as ir
from grammar_decode.reference.containers import ArrayRules, ArrayState, ObjectRules, ObjectState, RuleBook
from grammar_decode.reference.frames import ArrayFrame, Frame, ObjectFrame, Phase, TerminalFrame
from grammar_decode.reference.scalars import MOST_VALUES, Scalars, TooManyValues, Value, Values

#: Items of an array of distinct items next to which a set of more than MOST_VALUES is endless.
MOST_ITEMS = MOST_VALUES // 4
#: Places of one array that are looked at for a way to finish it.
MOST_PLACES = 50_000

_NONE: frozenset[Value] = frozenset()
_FIRST = (-1, 0, b"")  # before every member, one with the empty name too
_BRACKET_OR_COMMA = (Phase.OPENED, Phase.AFTER_ENTRY)


@dataclass(frozen=True, slots=True)
class _InArray:
    """Between two items. ``close``: the bracket may come; ``comma``: a separator comes before the next item."""

    state: ArrayState
    items: tuple[Value, ...]
    close: bool = True
    comma: bool = True


@dataclass(frozen=True, slots=True)
class _InObject:
    """Between two members. ``last`` is how far the members have come in the one order in which they are tried."""

    state: ObjectState
    pairs: frozenset[tuple[bytes, Value]]
    used: frozenset[bytes]
    close: bool = True
    comma: bool = True
    last: tuple[int, int, bytes] = _FIRST


_Distinct: TypeAlias = tuple[ir.NodeId, ArrayState, frozenset[Value], bool, bool]


class ValueSets:
    """The values of one grammar's nodes, over the alphabet of its rules. Not shared between threads."""

    def __init__(self, rules: RuleBook, scalars: Scalars) -> None:
        self.rules = rules
        self.scalars = scalars
        self.grammar = rules.grammar
        self._settled: set[ir.NodeId] = set()
        self._sets: dict[ir.NodeId, Values] = {}  # of nodes that are not settled: those found so far
        self._finishable: dict[_Distinct, bool] = {}

    # ---- nodes ----

    def of_node(self, node_id: ir.NodeId) -> Values:
        """The values of a node."""
        if node_id not in self._settled:
            self._settle(node_id)
        return self._sets[node_id]

    def _settle(self, node_id: ir.NodeId) -> None:
        below = self._reachable(node_id)
        self._sets.update(dict.fromkeys(below, _NONE))
        changed = True
        while changed:
            changed = False
            for node in below:
                if self._sets[node] is None:
                    continue
                found = self._of_node(node)
                if found != self._sets[node]:
                    self._sets[node] = found
                    self._finishable.clear()
                    changed = True
        self._settled.update(below)

    def _reachable(self, node_id: ir.NodeId) -> list[ir.NodeId]:
        """The nodes that the values of a node are made of and that are not settled; those close to it come last."""
        found = {node_id: None}
        queue = deque(found)
        while queue:
            for child in self._children(queue.popleft()):
                if child not in found and child not in self._settled:
                    found[child] = None
                    queue.append(child)
        return list(reversed(found))

    def _children(self, node_id: ir.NodeId) -> Iterator[ir.NodeId]:
        node = self.grammar.nodes[node_id]
        if isinstance(node, ir.Choice):
            yield from node.nodes
        elif not isinstance(node, (ir.Terminal, ir.Chain)):
            for picks in node.values:
                yield from (pick.node for pick in picks)

    def _of_node(self, node_id: ir.NodeId) -> Values:
        """The values of a node, made of those that its children are known to have."""
        node = self.grammar.nodes[node_id]
        if node_id not in self.rules.nonempty:
            return _NONE
        if isinstance(node, ir.Terminal):
            return self.scalars.completions(b"", self.rules.expressions[node.regex])
        if isinstance(node, ir.Choice):
            return _union(self._sets[child] for child in node.nodes)
        if isinstance(node, ir.Members):
            first = _InObject(self.rules.of_object(node_id).initial, frozenset(), frozenset(), comma=False)
            return self._objects(node_id, [first])
        return self._arrays(node_id, [_InArray(self.rules.of_array(node_id).initial, (), comma=False)])

    def _known(self, node_id: ir.NodeId) -> Values:
        return self._sets[node_id] if node_id in self._sets else self.of_node(node_id)

    # ---- frames ----

    def can_start(self, node_id: ir.NodeId) -> bool:
        """Whether an array of distinct items has a value."""
        return self._can_finish(node_id, _InArray(self.rules.of_array(node_id).initial, (), comma=False))

    def can_finish(self, frames: tuple[Frame, ...]) -> bool:
        """Whether an array of distinct items, the first frame, can still be finished with the others inside it."""
        frame, *inside = frames
        assert isinstance(frame, ArrayFrame)
        places = self._places(frame, tuple(inside))
        return places is None or any(self._can_finish(frame.node, place) for place in places)

    def of_frames(self, frames: tuple[Frame, ...]) -> Values:
        """The values that the first frame can still have, with the others inside it."""
        frame, *inside = frames
        if isinstance(frame, TerminalFrame):
            assert frame.text is not None
            return self.scalars.completions(frame.text, frame.rest)
        if isinstance(frame, ArrayFrame):
            places = self._places(frame, tuple(inside))
            return None if places is None else self._arrays(frame.node, places)
        assert isinstance(frame, ObjectFrame)
        members = self._members(frame, tuple(inside))
        return None if members is None else self._objects(frame.node, members)

    def _places(self, frame: ArrayFrame, inside: tuple[Frame, ...]) -> list[_InArray] | None:
        """Where an array can be once what is inside has ended; None: it has endlessly many ways to go on."""
        assert frame.items is not None
        if not inside:
            may_close = frame.phase in _BRACKET_OR_COMMA
            return [_InArray(frame.state, frame.items, may_close, frame.phase is Phase.AFTER_ENTRY)]
        values = self.of_frames(inside)
        unique = self.rules.of_array(frame.node).node.unique
        if values is None:
            return None if not unique or self._can_finish(frame.node, _InArray(frame.state, frame.items)) else []
        fitting = (value for value in values if not unique or value not in frame.items)
        return [_InArray(frame.state, (*frame.items, value)) for value in fitting]

    def _members(self, frame: ObjectFrame, inside: tuple[Frame, ...]) -> list[_InObject] | None:
        """Where an object can be once what is inside has ended; None: in endlessly many places."""
        assert frame.pairs is not None
        if frame.phase is Phase.KEY:
            return self._behind_key(frame)
        if not inside and frame.value is None:
            may_close = frame.phase in _BRACKET_OR_COMMA
            return [_InObject(frame.state, frame.pairs, frame.used, may_close, frame.phase is Phase.AFTER_ENTRY)]
        assert frame.name is not None
        values = self.of_frames(inside) if frame.value is None else self.of_node(frame.value)
        if values is None:
            return None
        return [_InObject(frame.state, frame.pairs | {(frame.name, value)}, frame.used) for value in values]

    def _behind_key(self, frame: ObjectFrame) -> list[_InObject] | None:
        rules, key = self.rules.of_object(frame.node), frame.key
        assert frame.pairs is not None
        assert key is not None
        found = []
        for cls, rest in key.rests:
            ends = self.scalars.texts(rest)
            for node, after in rules.live_successors(frame.state, cls, rules.regexes.spells(key.text)):
                values = self.of_node(node)
                if ends is None or (values is None and ends):
                    return None
                for name in sorted(key.text + end for end in ends):
                    used = frame.used if cls < len(rules.node.names) else frame.used | {name}
                    found += [_InObject(after, frame.pairs | {(name, value)}, used) for value in values or ()]
        return found

    # ---- objects ----

    def _objects(self, node_id: ir.NodeId, starts: list[_InObject]) -> Values:
        """The objects that can be finished from the places: members are added in one order, which is no loss."""
        rules = self.rules.of_object(node_id)
        found: set[Value] = set()
        stack = starts
        while stack:
            place = stack.pop()
            if place.close and rules.can_close(place.state):
                found.add(place.pairs)
                if len(found) > MOST_VALUES:
                    return None
            if not place.comma or rules.separator_spelled:
                longer = self._longer_objects(rules, place)
                if longer is None:
                    return None
                stack.extend(longer)
        return frozenset(found)

    def _longer_objects(self, rules: ObjectRules, place: _InObject) -> list[_InObject] | None:
        """The places one member further; None if there are endlessly many."""
        found = []
        for cls in rules.next_classes(place.state):
            order = _order(rules, cls)
            if order < place.last[:2] or any(_order(rules, name) < order for name in place.state.missing):
                continue
            names = self._names(rules, cls, place.used)
            for node, after in rules.live_successors(place.state, cls):
                values = self._known(node)
                if (names is None and values != _NONE) or (values is None and names):
                    return None
                for name in names or ():
                    if (*order, name) > place.last:
                        used = place.used if cls < len(rules.node.names) else place.used | {name}
                        found += [
                            _InObject(after, place.pairs | {(name, value)}, used, last=(*order, name))
                            for value in values or ()
                        ]
        return found

    def _names(self, rules: ObjectRules, cls: ir.ClassId, used: frozenset[bytes]) -> list[bytes] | None:
        if cls < len(rules.node.names):
            return [rules.node.names[cls]]
        texts = self.scalars.texts(rules.regexes.without(rules.patterns[cls - len(rules.node.names)], used))
        return None if texts is None else sorted(texts)

    # ---- arrays ----

    def _arrays(self, node_id: ir.NodeId, starts: list[_InArray]) -> Values:
        """The arrays that can be finished from the places."""
        rules = self.rules.of_array(node_id)
        unique = rules.node.unique
        found: set[Value] = set()
        stack = [(start, frozenset((start.state,))) for start in starts]
        while stack:
            place, states = stack.pop()
            if place.close and rules.can_close(place.state):
                found.add(place.items)
                if len(found) > MOST_VALUES:
                    return None
            for node, after in self._next_items(rules, place):
                values = self._known(node)
                if values is None:
                    if not unique or self._can_finish(node_id, _InArray(after, place.items)):
                        return None
                elif not unique and values and after in states:
                    return None  # the items from there to here can be repeated
                else:
                    for value in values if not unique else values.difference(place.items):
                        longer = _InArray(after, (*place.items, value))
                        if not unique or self._can_finish(node_id, longer):
                            stack.append((longer, states | {after}))
        return frozenset(found)

    def _next_items(self, rules: ArrayRules, place: _InArray) -> Iterable[tuple[ir.NodeId, ArrayState]]:
        if place.comma and not rules.separator_spelled:
            return ()
        return rules.live_successors(place.state, place.state.cls)

    def _can_finish(self, node_id: ir.NodeId, place: _InArray) -> bool:
        """Whether the rest of an array of distinct items has values. The items so far are distinct."""
        key = (node_id, place.state, frozenset(place.items), place.close, place.comma)
        if key not in self._finishable:
            self._finishable[key] = self._search_end(node_id, place)
        return self._finishable[key]

    def _search_end(self, node_id: ir.NodeId, place: _InArray) -> bool:
        """Items of endless sets are left open, and chosen when all others are known. The shortest way comes first.

        Values that are in the same sets of the array are the same to its future: only the first of them is tried.
        """
        rules = self.rules.of_array(node_id)
        sets = [known for known in map(self._known, _picked(rules)) if known]
        Place: TypeAlias = tuple[ArrayState, frozenset[Value], bool, bool]
        first: Place = (place.state, frozenset(place.items), place.close, place.comma)
        lengths = {first: len(place.items)}
        queue = deque(lengths)
        while queue:
            state, used, close, comma = here = queue.popleft()
            if close and rules.can_close(state):
                if lengths[here] > MOST_ITEMS and any(self._known(node) is None for node in _picked(rules)):
                    raise TooManyValues(f"more than {MOST_ITEMS} items that must be distinct")
                return True
            for node, after in self._next_items(rules, _InArray(state, (), close, comma)):
                values = self._known(node)
                ways = [used] if values is None else [used | {v} for v in _representatives(values - used, sets)]
                for way in ways:
                    there = (after, way, True, True)
                    if there not in lengths:
                        lengths[there] = lengths[here] + 1
                        queue.append(there)
            if len(lengths) > MOST_PLACES:
                raise TooManyValues(f"more than {MOST_PLACES} places in one array of distinct items")
        return False


def _union(sets: Iterable[Values]) -> Values:
    found: set[Value] = set()
    for values in sets:
        if values is None:
            return None
        found |= values
    return frozenset(found) if len(found) <= MOST_VALUES else None


def _order(rules: ObjectRules, cls: ir.ClassId) -> tuple[int, int]:
    """The order in which members are tried: ranked names, other names, pattern keys."""
    if cls >= len(rules.node.names):
        return (2, cls)
    rank = rules.node.ranks[cls]
    return (1, cls) if rank is None else (0, rank)


def _picked(rules: ArrayRules) -> list[ir.NodeId]:
    return sorted({pick.node for picks in rules.picks for pick in picks})


def _representatives(values: frozenset[Value], sets: list[frozenset[Value]]) -> list[Value]:
    """For each combination of the sets, the first value that is in just these."""
    first: dict[tuple[bool, ...], Value] = {}
    for value in sorted(values, key=repr):
        first.setdefault(tuple(value in other for other in sets), value)
    return list(first.values())
