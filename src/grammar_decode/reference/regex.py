"""Regular expressions by derivatives.

The derivative of an expression by a byte is an expression for the rest of the strings that begin with the byte
(Brzozowski 1964; Owens, Reppy and Turon 2009 for the byte partition). Expressions are shared: equal ones are the same
object, so ``is`` and the default hash compare them, and the states of an automaton repeat.

Two alphabets matter. A derivative may be taken by any byte. Questions about the future of an expression (is it empty,
how many strings has it, which is the shortest) count only strings over ``alphabet``: the bytes that the vocabulary can
spell one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, TypeVar

from grammar_decode.ir import nodes as ir

ALL_BYTES = (1 << 256) - 1


@dataclass(frozen=True, slots=True, eq=False)
class OneByte:
    """One byte out of ``mask``; mask 0 is the empty language."""

    mask: int


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """One of the texts, at least one; only the empty text is the empty string."""

    texts: frozenset[bytes]


@dataclass(frozen=True, slots=True, eq=False)
class Then:
    """``head`` followed by ``tail``; ``head`` is not itself a Then."""

    head: Expression
    tail: Expression


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """The union of at least two parts, none of them an AnyOf."""

    parts: frozenset[Expression]


@dataclass(frozen=True, slots=True, eq=False)
class AllOf:
    """The intersection of at least two parts, none of them an AllOf."""

    parts: frozenset[Expression]


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    """Every byte string that ``part`` does not match."""

    part: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """``part``, ``minimum`` to ``maximum`` times (None: unbounded)."""

    part: Expression
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True, eq=False)
class InState:
    """What the automaton of this number accepts from ``state`` on."""

    automaton: int
    state: int


Expression: TypeAlias = OneByte | Texts | Then | AnyOf | AllOf | Not | Repeat | InState
E = TypeVar("E", OneByte, Texts, Then, AnyOf, AllOf, Not, Repeat, InState)


def mask_of(byte_values: Iterable[int]) -> int:
    """The 256-bit mask with these bits set."""
    return reduce(lambda mask, b: mask | 1 << b, byte_values, 0)


class Regexes:
    """The expressions over one alphabet, and memos about them. Not shared between threads."""

    def __init__(self, alphabet: Iterable[int]) -> None:
        self.alphabet = frozenset(alphabet)
        self._alphabet_mask = mask_of(self.alphabet)
        self._shared: dict[tuple[object, ...], Expression] = {}
        self._derivatives: dict[tuple[Expression, int], Expression] = {}
        self._partitions: dict[Expression, frozenset[int]] = {}
        self._nullable: dict[Expression, bool] = {}
        self._empty: dict[Expression, bool] = {}
        self._automata: list[ir.Automaton] = []
        self._automaton_numbers: dict[ir.Automaton, int] = {}
        self.empty: Expression = self._share(OneByte(0), 0)
        self.epsilon: Expression = self._share(Texts(frozenset((b"",))), frozenset((b"",)))
        self.everything: Expression = self._share(Not(self.empty), self.empty)

    def _share(self, new: E, *fields: object) -> Expression:
        return self._shared.setdefault((type(new), *fields), new)

    def spells(self, text: bytes) -> bool:
        """Whether every byte of ``text`` is in the alphabet."""
        return self.alphabet.issuperset(text)

    # ---- constructors: each returns the normal form --------------------------------------------------------------

    def one_byte(self, mask: int) -> Expression:
        return self._share(OneByte(mask), mask)

    def texts(self, texts: Iterable[bytes]) -> Expression:
        unique = frozenset(texts)
        return self._share(Texts(unique), unique) if unique else self.empty

    def then(self, head: Expression, tail: Expression) -> Expression:
        if head is self.empty or tail is self.empty:
            return self.empty
        if head is self.epsilon:
            return tail
        if tail is self.epsilon:
            return head
        if isinstance(head, Then):
            return self.then(head.head, self.then(head.tail, tail))
        return self._share(Then(head, tail), head, tail)

    def any_of(self, parts: Iterable[Expression]) -> Expression:
        flat: set[Expression] = set()
        mask = 0
        for part in parts:
            for leaf in part.parts if isinstance(part, AnyOf) else (part,):
                if isinstance(leaf, OneByte):
                    mask |= leaf.mask
                else:
                    flat.add(leaf)
        if mask:
            flat.add(self.one_byte(mask))
        if self.everything in flat:
            return self.everything
        if len(flat) <= 1:
            return flat.pop() if flat else self.empty
        return self._share(AnyOf(frozenset(flat)), frozenset(flat))

    def all_of(self, parts: Iterable[Expression]) -> Expression:
        flat: set[Expression] = set()
        for part in parts:
            flat.update(part.parts if isinstance(part, AllOf) else (part,))
        flat.discard(self.everything)
        if self.empty in flat:
            return self.empty
        if len(flat) <= 1:
            return flat.pop() if flat else self.everything
        return self._share(AllOf(frozenset(flat)), frozenset(flat))

    def complement(self, part: Expression) -> Expression:
        if isinstance(part, Not):
            return part.part
        return self._share(Not(part), part)

    def repeat(self, part: Expression, minimum: int, maximum: int | None) -> Expression:
        if maximum is not None and minimum > maximum:
            return self.empty
        if maximum == 0 or part is self.epsilon:
            return self.epsilon
        if part is self.empty:
            return self.empty if minimum else self.epsilon
        if minimum == maximum == 1:
            return part
        return self._share(Repeat(part, minimum, maximum), part, minimum, maximum)

    def automaton(self, automaton: ir.Automaton) -> Expression:
        number = self._automaton_numbers.setdefault(automaton, len(self._automata))
        if number == len(self._automata):
            self._automata.append(automaton)
        return self._in_state(number, 0)

    def _in_state(self, number: int, state: int) -> Expression:
        return self._share(InState(number, state), number, state)

    def without(self, expr: Expression, texts: Iterable[bytes]) -> Expression:
        """What ``expr`` matches, except the given texts."""
        return self.all_of((expr, self.complement(self.texts(texts))))

    def from_table(self, table: tuple[ir.Regex, ...]) -> tuple[Expression, ...]:
        """The expression of every regex of an IR table (children come before parents)."""
        done: list[Expression] = []
        for regex in table:
            done.append(self._from_ir(regex, done))
        return tuple(done)

    def _from_ir(self, regex: ir.Regex, done: list[Expression]) -> Expression:
        if isinstance(regex, ir.ByteClass):
            return self.one_byte(regex.mask)
        if isinstance(regex, ir.LiteralSet):
            return self.texts(regex.literals)
        if isinstance(regex, ir.Repetition):
            return self.repeat(done[regex.part], regex.minimum, regex.maximum)
        if isinstance(regex, ir.Complement):
            return self.complement(done[regex.part])
        if isinstance(regex, ir.Automaton):
            return self.automaton(regex)
        parts = [done[part] for part in regex.parts]
        if isinstance(regex, ir.Alternation):
            return self.any_of(parts)
        if isinstance(regex, ir.Intersection):
            return self.all_of(parts)
        return reduce(lambda tail, head: self.then(head, tail), reversed(parts), self.epsilon)

    # ---- one byte ---------------------------------------------------------------------------------------------------

    def nullable(self, expr: Expression) -> bool:
        """Whether the empty string matches."""
        known = self._nullable.get(expr)
        if known is None:
            known = self._nullable[expr] = self._compute_nullable(expr)
        return known

    def _compute_nullable(self, expr: Expression) -> bool:
        if isinstance(expr, OneByte):
            return False
        if isinstance(expr, Texts):
            return b"" in expr.texts
        if isinstance(expr, Then):
            return self.nullable(expr.head) and self.nullable(expr.tail)
        if isinstance(expr, AnyOf):
            return any(map(self.nullable, expr.parts))
        if isinstance(expr, AllOf):
            return all(map(self.nullable, expr.parts))
        if isinstance(expr, Not):
            return not self.nullable(expr.part)
        if isinstance(expr, InState):
            return self._automata[expr.automaton].accepting[expr.state]
        return expr.minimum == 0 or self.nullable(expr.part)

    def derivative(self, expr: Expression, byte: int) -> Expression:
        """What may follow ``byte`` in the strings of ``expr``."""
        known = self._derivatives.get((expr, byte))
        if known is None:
            known = self._derivatives[expr, byte] = self._compute_derivative(expr, byte)
        return known

    def _compute_derivative(self, expr: Expression, byte: int) -> Expression:
        if isinstance(expr, OneByte):
            return self.epsilon if expr.mask >> byte & 1 else self.empty
        if isinstance(expr, Texts):
            return self.texts(text[1:] for text in expr.texts if text[:1] == bytes((byte,)))
        if isinstance(expr, Then):
            first = self.then(self.derivative(expr.head, byte), expr.tail)
            if not self.nullable(expr.head):
                return first
            return self.any_of((first, self.derivative(expr.tail, byte)))
        if isinstance(expr, AnyOf):
            return self.any_of(self.derivative(part, byte) for part in expr.parts)
        if isinstance(expr, AllOf):
            return self.all_of(self.derivative(part, byte) for part in expr.parts)
        if isinstance(expr, Not):
            return self.complement(self.derivative(expr.part, byte))
        if isinstance(expr, InState):
            row = self._automata[expr.automaton].transitions[expr.state]
            return next((self._in_state(expr.automaton, to) for mask, to in row if mask >> byte & 1), self.empty)
        # subtle: also right where ``part`` matches the empty string: then n - 1 repetitions are some n repetitions.
        maximum = None if expr.maximum is None else expr.maximum - 1
        rest = self.repeat(expr.part, max(expr.minimum - 1, 0), maximum)
        return self.then(self.derivative(expr.part, byte), rest)

    def matches(self, expr: Expression, text: bytes) -> bool:
        """Whether the whole of ``text`` matches."""
        return self.nullable(reduce(self.derivative, text, expr))

    # ---- the future, over the alphabet -------------------------------------------------------------------------------

    def _partition(self, expr: Expression) -> frozenset[int]:
        """Disjoint masks that cover all bytes; bytes of one mask have the same derivative."""
        known = self._partitions.get(expr)
        if known is None:
            known = self._partitions[expr] = self._compute_partition(expr)
        return known

    def _compute_partition(self, expr: Expression) -> frozenset[int]:
        if isinstance(expr, OneByte):
            return frozenset((expr.mask, ALL_BYTES ^ expr.mask)) - {0}
        if isinstance(expr, Texts):
            firsts = {1 << text[0] for text in expr.texts if text}
            return frozenset(firsts | {ALL_BYTES ^ sum(firsts)}) - {0}
        if isinstance(expr, (Not, Repeat)):
            return self._partition(expr.part)
        if isinstance(expr, InState):
            masks = {mask for mask, _ in self._automata[expr.automaton].transitions[expr.state]}
            return frozenset(masks | {ALL_BYTES ^ sum(masks)}) - {0}
        if isinstance(expr, Then):
            parts: Iterable[Expression] = (expr.head, expr.tail) if self.nullable(expr.head) else (expr.head,)
        else:
            parts = expr.parts
        return reduce(_common_refinement, map(self._partition, parts))

    def successors(self, expr: Expression) -> Iterator[tuple[int, Expression]]:
        """(mask of bytes of the alphabet, the derivative by each of them), lowest byte first."""
        masks = (mask & self._alphabet_mask for mask in self._partition(expr))
        for mask in sorted(filter(None, masks), key=_lowest_bit):
            yield mask, self.derivative(expr, _lowest_bit(mask))

    def is_empty(self, expr: Expression) -> bool:
        """Whether no string over the alphabet matches."""
        if expr in self._empty:
            return self._empty[expr]
        came_from: dict[Expression, Expression | None] = {expr: None}
        stack = [expr]
        while stack:
            state = stack.pop()
            if self.nullable(state) or self._empty.get(state) is False:
                on_path: Expression | None = state
                while on_path is not None:
                    self._empty[on_path] = False
                    on_path = came_from[on_path]
                return False
            for _, after in self.successors(state):
                if after not in came_from and not self._empty.get(after, False):
                    came_from[after] = state
                    stack.append(after)
        self._empty.update(dict.fromkeys(came_from, True))
        return True

    def shortest(self, expr: Expression) -> bytes | None:
        """A shortest string over the alphabet that matches, or None."""
        queue = deque([(b"", expr)])
        seen = {expr}
        while queue:
            text, state = queue.popleft()
            if self.nullable(state):
                return text
            for mask, after in self.successors(state):
                if after not in seen:
                    seen.add(after)
                    queue.append((text + bytes((_lowest_bit(mask),)), after))
        return None

    def size(self, expr: Expression) -> int | None:
        """How many strings over the alphabet match; None is infinitely many."""
        counts: dict[Expression, int] = {}
        ancestors: set[Expression] = set()
        stack = [(expr, False)]
        while stack:
            state, children_done = stack.pop()
            if children_done:
                ancestors.discard(state)
                rest = sum(mask.bit_count() * counts[after] for mask, after in self._live_successors(state))
                counts[state] = self.nullable(state) + rest
            elif state in ancestors:
                return None  # a loop through states that can all be finished
            elif state not in counts:
                ancestors.add(state)
                stack.append((state, True))
                stack.extend((after, False) for _, after in self._live_successors(state))
        return counts[expr]

    def _live_successors(self, expr: Expression) -> list[tuple[int, Expression]]:
        return [(mask, after) for mask, after in self.successors(expr) if not self.is_empty(after)]


def _common_refinement(left: frozenset[int], right: frozenset[int]) -> frozenset[int]:
    return frozenset(a & b for a in left for b in right if a & b)


def _lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
