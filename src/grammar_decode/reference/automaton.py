"""Threads: where in the document the text so far may be.

A thread is a tuple of frames, outermost first. The last frame reads the next byte; the frames before it stand where
they go on once it is done. A configuration is a frozenset of threads, and only live threads are in it: those from which
a document can be finished with bytes of the alphabet alone. (The frames below were checked when one was put on top;
from an array of distinct items on, all of them are checked after every byte.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from grammar_decode.ir import nodes as ir
from grammar_decode.reference.containers import ObjectRules, RuleBook
from grammar_decode.reference.emptiness import nonempty_nodes, nullable_nodes
from grammar_decode.reference.frames import (
    ArrayFrame,
    ChainFrame,
    DocumentFrame,
    Frame,
    Key,
    ObjectFrame,
    Phase,
    TerminalFrame,
    Thread,
    remembers,
)
from grammar_decode.reference.regex import Regexes
from grammar_decode.reference.scalars import Scalars, Value, value_of
from grammar_decode.reference.values import ValueSets

WHITESPACE = frozenset(b" \t\n\r")
QUOTE = ord('"')
RUNS = frozenset((Phase.OPENED, Phase.AFTER_KEY, Phase.BEFORE_VALUE, Phase.AFTER_ENTRY, Phase.AFTER_COMMA))

Configuration: TypeAlias = frozenset[Thread]

DEAD: Configuration = frozenset()


class Automaton:
    """The steps of one grammar over one alphabet. Immutable but for memos; not shared between threads."""

    def __init__(self, grammar: ir.Grammar, alphabet: Iterable[int] = range(256)) -> None:
        self.grammar = grammar
        self.spacing = grammar.spacing
        self.regexes = Regexes(alphabet)
        self.expressions = self.regexes.from_table(grammar.regexes)
        scalars = Scalars(self.regexes)
        self.nonempty = nonempty_nodes(grammar, self.expressions, self.regexes, scalars)
        self.rules = RuleBook(grammar, self.expressions, self.regexes, self.nonempty)
        self.nullable = nullable_nodes(grammar, self.expressions, self.regexes)
        self.is_chain = isinstance(grammar.nodes[grammar.root], ir.Chain)
        self.values = ValueSets(self.rules, scalars)
        self._distinct: dict[Thread, bool] = {}  # whether an array of distinct items can be finished

    def initial(self) -> Configuration:
        """Before the first byte; dead if no document can be spelled."""
        if self.grammar.root not in self.nonempty:
            return DEAD
        if not self.is_chain:
            return frozenset(((DocumentFrame(Phase.BEFORE_VALUE),),))
        return frozenset(self._skipping((DocumentFrame(Phase.AFTER_ENTRY), ChainFrame(self.grammar.root, 0))))

    def step(self, configuration: Configuration, byte: int) -> Configuration:
        """After one more byte."""
        after: set[Thread] = set()
        for thread in configuration:
            for new in self._step_thread(thread, byte):
                if self._is_live(new):
                    after.update(self._skipping(new))
                    for ended in filter(self._is_live, self._ended(new)):
                        after.update(self._skipping(ended))
        return frozenset(after)

    def is_accepting(self, configuration: Configuration) -> bool:
        """Whether the text so far is a document."""
        return any(len(thread) == 1 and _is_run_after_root(thread[0]) for thread in configuration)

    def _ended(self, thread: Thread) -> Iterator[Thread]:
        """The thread behind the scalar that it is in, if that may end here."""
        top = thread[-1]
        if isinstance(top, TerminalFrame) and self.regexes.nullable(top.rest):
            yield from self._behind(thread[:-1], None if top.text is None else value_of(top.text))

    def _skipping(self, thread: Thread) -> Iterator[Thread]:
        """The thread, and the threads behind the parts of chains that it may leave out."""
        yield thread
        below, top = thread[:-1], thread[-1]
        if isinstance(top, ChainFrame) and self._chain(top).nodes[top.index] in self.nullable:
            yield from self._skipping(self._behind_part(below, top))

    def _behind_part(self, below: Thread, top: ChainFrame) -> Thread:
        is_last = top.index + 1 == len(self._chain(top).nodes)
        return below if is_last else (*below, replace(top, index=top.index + 1))

    def _chain(self, frame: ChainFrame) -> ir.Chain:
        node = self.grammar.nodes[frame.node]
        assert isinstance(node, ir.Chain)
        return node

    def _behind(self, below: Thread, value: Value | None) -> Iterator[Thread]:
        """The thread behind a value, which the container around it remembers if it has to."""
        *bottom, frame = below
        if isinstance(frame, ArrayFrame) and frame.items is not None:
            assert value is not None
            if value in frame.items and self.rules.of_array(frame.node).node.unique:
                return
            frame = replace(frame, items=(*frame.items, value))
        elif isinstance(frame, ObjectFrame) and frame.pairs is not None:
            assert value is not None
            assert frame.name is not None
            frame = replace(frame, pairs=frame.pairs | {(frame.name, value)}, name=None)
        yield (*bottom, frame)

    # ---- steps --------------------------------------------------------------------------------------------------

    def _step_thread(self, thread: Thread, byte: int) -> Iterator[Thread]:
        below, top = thread[:-1], thread[-1]
        if isinstance(top, TerminalFrame):
            text = None if top.text is None else top.text + bytes((byte,))
            yield (*below, TerminalFrame(self.regexes.derivative(top.rest, byte), text))
            return
        if isinstance(top, ChainFrame):
            yield from self._step_chain(below, top, byte)
            return
        if byte in WHITESPACE and top.phase in RUNS and not (isinstance(top, DocumentFrame) and self.is_chain):
            yield from self._step_whitespace(below, top)
        if isinstance(top, ObjectFrame):
            yield from self._step_object(below, top, byte)
        elif isinstance(top, ArrayFrame):
            yield from self._step_array(below, top, byte)
        elif top.phase is Phase.BEFORE_VALUE:
            yield from self._step_into(self.grammar.root, (DocumentFrame(Phase.AFTER_ENTRY),), byte)

    def _step_chain(self, below: Thread, top: ChainFrame, byte: int) -> Iterator[Thread]:
        yield from self._step_into(self._chain(top).nodes[top.index], self._behind_part(below, top), byte)

    def _first_parts(self, chain: ir.Chain) -> Iterator[int]:
        for index, part in enumerate(chain.nodes):
            yield index
            if part not in self.nullable:
                return

    def _step_whitespace(self, below: Thread, top: DocumentFrame | ObjectFrame | ArrayFrame) -> Iterator[Thread]:
        if self.spacing.max_whitespace is None:
            yield (*below, top)
        elif top.offset < self.spacing.max_whitespace:
            yield (*below, replace(top, offset=top.offset + 1))

    def _step_into(self, node: ir.NodeId, below: Thread, byte: int) -> Iterator[Thread]:
        """The first byte of a value."""
        for frame in self._start(node, inside_distinct=remembers(below[-1])):
            yield from self._step_thread((*below, frame), byte)

    def _start(self, node_id: ir.NodeId, *, inside_distinct: bool) -> Iterator[Frame]:
        """The frames that begin a value of the node; nodes without a value are left out."""
        seen = {node_id}
        stack = [node_id]
        while stack:
            current = stack.pop()
            node = self.grammar.nodes[current]
            if current not in self.nonempty:
                continue
            if isinstance(node, ir.Terminal):
                yield TerminalFrame(self.expressions[node.regex], b"" if inside_distinct else None)
            elif isinstance(node, ir.Members):
                pairs = frozenset[tuple[bytes, Value]]() if inside_distinct else None
                yield ObjectFrame(current, Phase.START, self.rules.of_object(current).initial, pairs=pairs)
            elif isinstance(node, ir.Elements):
                items = () if inside_distinct or node.unique else None
                yield ArrayFrame(current, Phase.START, self.rules.of_array(current).initial, items=items)
            elif isinstance(node, ir.Chain):
                yield from (ChainFrame(current, index) for index in self._first_parts(node))
            else:
                stack.extend(child for child in node.nodes if child not in seen)
                seen.update(node.nodes)

    def _step_object(self, below: Thread, frame: ObjectFrame, byte: int) -> Iterator[Thread]:
        rules = self.rules.of_object(frame.node)
        phase = frame.phase
        if phase is Phase.START and byte == ord("{"):
            yield (*below, replace(frame, phase=Phase.OPENED))
        elif phase in (Phase.OPENED, Phase.AFTER_ENTRY) and byte == ord("}") and rules.complete(frame.state):
            yield from self._behind(below, frame.pairs)
        elif phase in (Phase.OPENED, Phase.AFTER_COMMA) and byte == QUOTE:
            yield (*below, replace(frame, phase=Phase.KEY, offset=0, key=self._first_key(frame)))
        elif phase is Phase.KEY:
            yield from ((*below, after) for after in self._step_key(frame, byte))
        elif phase is Phase.AFTER_ENTRY:
            yield from self._step_separator(below, frame, byte, Phase.COMMA, Phase.AFTER_COMMA, 0)
        elif phase is Phase.COMMA:
            yield from self._step_separator(below, frame, byte, Phase.COMMA, Phase.AFTER_COMMA, frame.offset)
        elif phase is Phase.AFTER_KEY:
            yield from self._step_separator(below, frame, byte, Phase.COLON, Phase.BEFORE_VALUE, 0)
        elif phase is Phase.COLON:
            yield from self._step_separator(below, frame, byte, Phase.COLON, Phase.BEFORE_VALUE, frame.offset)
        elif phase is Phase.BEFORE_VALUE:
            assert frame.value is not None
            after = replace(frame, phase=Phase.AFTER_ENTRY, offset=0, value=None)
            yield from self._step_into(frame.value, (*below, after), byte)

    def _step_array(self, below: Thread, frame: ArrayFrame, byte: int) -> Iterator[Thread]:
        rules = self.rules.of_array(frame.node)
        phase = frame.phase
        if phase is Phase.START and byte == ord("["):
            yield (*below, replace(frame, phase=Phase.OPENED))
        if phase in (Phase.OPENED, Phase.AFTER_ENTRY) and byte == ord("]") and rules.complete(frame.state):
            yield from self._behind(below, frame.items)
        if phase is Phase.AFTER_ENTRY:
            yield from self._step_separator(below, frame, byte, Phase.COMMA, Phase.AFTER_COMMA, 0)
        if phase is Phase.COMMA:
            yield from self._step_separator(below, frame, byte, Phase.COMMA, Phase.AFTER_COMMA, frame.offset)
        if phase in (Phase.OPENED, Phase.AFTER_COMMA):
            for node, state in rules.live_successors(frame.state, frame.state.cls):
                after = ArrayFrame(frame.node, Phase.AFTER_ENTRY, state, items=frame.items)
                yield from self._step_into(node, (*below, after), byte)

    def _step_separator(
        self, below: Thread, frame: ObjectFrame | ArrayFrame, byte: int, inside: Phase, then: Phase, offset: int
    ) -> Iterator[Thread]:
        text = self._separator(inside)
        if byte != text[offset]:
            return
        if offset + 1 == len(text):
            yield (*below, replace(frame, phase=then, offset=0))
        else:
            yield (*below, replace(frame, phase=inside, offset=offset + 1))

    def _separator(self, inside: Phase) -> bytes:
        return self.spacing.item_separator if inside is Phase.COMMA else self.spacing.key_separator

    # ---- keys ---------------------------------------------------------------------------------------------------

    def _first_key(self, frame: ObjectFrame) -> Key:
        rules = self.rules.of_object(frame.node)
        rests = [(cls, self.regexes.texts((rules.node.names[cls],))) for cls in sorted(frame.state.names)]
        for index, pattern in enumerate(rules.patterns):
            if frame.state.left[index] != 0:  # like a node: what the alphabet can't spell is not begun
                rests.append((len(rules.node.names) + index, self.regexes.without(pattern, frame.used)))
        return Key(b"", tuple(rests))

    def _step_key(self, frame: ObjectFrame, byte: int) -> Iterator[ObjectFrame]:
        key = frame.key
        assert key is not None
        # subtle: both may apply to a quote, since the text of a key may contain escaped ones.
        rests = [(cls, self.regexes.derivative(rest, byte)) for cls, rest in key.rests]
        possible = tuple((cls, rest) for cls, rest in rests if rest is not self.regexes.empty)
        if possible:
            yield replace(frame, key=Key(key.text + bytes((byte,)), possible))
        if byte == QUOTE:
            for cls, rest in key.rests:
                if self.regexes.nullable(rest):
                    yield from self._end_key(frame, cls, key.text)

    def _end_key(self, frame: ObjectFrame, cls: ir.ClassId, text: bytes) -> Iterator[ObjectFrame]:
        rules = self.rules.of_object(frame.node)
        used = frame.used if cls < len(rules.node.names) else frame.used | {text}
        for node, state in rules.live_successors(frame.state, cls, self.regexes.spells(text)):
            name = None if frame.pairs is None else text
            yield ObjectFrame(frame.node, Phase.AFTER_KEY, state, used, value=node, pairs=frame.pairs, name=name)

    # ---- liveness -----------------------------------------------------------------------------------------------

    def _is_live(self, thread: Thread) -> bool:
        if not self._is_live_frame(thread[-1]):
            return False
        distinct = tuple(filter(remembers, thread))  # from the outermost array of distinct items on
        if not distinct:
            return True
        if distinct not in self._distinct:
            self._distinct[distinct] = self.values.can_finish(distinct)
        return self._distinct[distinct]

    def _is_live_frame(self, top: Frame) -> bool:
        """Whether the text of the frame can be finished, whatever the values are."""
        if isinstance(top, (DocumentFrame, ChainFrame)):
            return True
        if isinstance(top, TerminalFrame):
            return not self.regexes.is_empty(top.rest)
        if top.phase in (Phase.COMMA, Phase.COLON) and not self._separator_spelled(top):
            return False
        if isinstance(top, ObjectFrame):
            return self._is_live_object(top, self.rules.of_object(top.node))
        rules = self.rules.of_array(top.node)
        if top.phase is Phase.OPENED:
            return rules.can_close_or_continue(top.state)
        return top.phase is Phase.AFTER_ENTRY or rules.can_continue(top.state)

    def _is_live_object(self, frame: ObjectFrame, rules: ObjectRules) -> bool:
        if frame.phase is Phase.OPENED:
            return rules.can_close_or_continue(frame.state)
        if frame.phase is Phase.KEY:
            return self._is_live_key(frame, rules)
        if frame.phase is Phase.AFTER_KEY:
            return rules.colon_spelled
        if frame.phase in (Phase.COMMA, Phase.AFTER_COMMA):
            return rules.can_continue(frame.state)
        return True  # an entry was begun or is done, and what can't be finished after it was not begun

    def _is_live_key(self, frame: ObjectFrame, rules: ObjectRules) -> bool:
        key = frame.key
        assert key is not None
        if not rules.entry_spelled:
            return False
        spelled = self.regexes.spells(key.text)
        return any(
            not self.regexes.is_empty(rest) and rules.live_successors(frame.state, cls, spelled)
            for cls, rest in key.rests
        )

    def _separator_spelled(self, frame: ObjectFrame | ArrayFrame) -> bool:
        return self.regexes.spells(self._separator(frame.phase)[frame.offset :])


def _is_run_after_root(frame: Frame) -> bool:
    return isinstance(frame, DocumentFrame) and frame.phase is Phase.AFTER_ENTRY
