"""The byte format of the IR: what the kernel reads, and the core of ``Grammar.to_bytes``.

Layout, little-endian: magic ``GDIR``, version, number of words, number of blob bytes (u32 each), then that many u32
words, then the blob that literals and names point into. The words are, in order: spacing, regexes, nodes, root.
``NONE`` (all bits set) stands for "unbounded" and "no rank"; a larger maximum bounds nothing that could be written, so
it is unbounded too, and such a minimum is refused. :func:`decode` checks every count and id, so damaged data is an
error and never a wrong grammar that reads beyond its tables.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from grammar_decode.errors import SerializationError, UnsupportedSchema
from grammar_decode.ir import nodes as ir

MAGIC = b"GDIR"
VERSION = 3
NONE = 0xFFFFFFFF

# Tags. The kernel's reader (cpp/core/grammar.cpp) has the same numbers.
BYTE_CLASS, CONCATENATION, ALTERNATION, REPETITION, INTERSECTION, COMPLEMENT, LITERAL_SET, AUTOMATON = range(8)
TERMINAL, CHOICE, MEMBERS, ELEMENTS, CHAIN = range(5)
MEMBER, SOME, MOST, HAS, LACKS, COUNT_MIN, COUNT_MAX = range(7)
FALSE, TRUE, CLAIM, AND, OR = range(5)


#: Ids from here on are nodes of :class:`Appended`.
ELSEWHERE = 1 << 32


class _Writer:
    def __init__(self, first_appended: int = 0) -> None:
        self.words: list[int] = []
        self.blob = bytearray()
        self.moved = first_appended - ELSEWHERE  # what is added to an id of an appended node

    def bound(self, value: int | None) -> None:
        self.words.append(NONE if value is None else min(value, NONE))

    def minimum(self, value: int) -> None:
        if value >= NONE:
            raise UnsupportedSchema(
                f"a minimum of about 2^{value.bit_length() - 1} entries or characters is not supported"
            )
        self.words.append(value)

    def ids(self, ids: tuple[int, ...]) -> None:
        self.words.append(len(ids))
        self.words.extend(ids)

    def text(self, data: bytes) -> None:
        self.words.append(len(data))
        self.blob += data

    def mask(self, mask: int) -> None:
        self.words.extend(_mask_words(mask))

    def spacing(self, spacing: ir.Spacing) -> None:
        self.bound(spacing.max_whitespace)
        self.text(spacing.item_separator)
        self.text(spacing.key_separator)

    def regex(self, r: ir.Regex) -> None:
        if isinstance(r, ir.ByteClass):
            self.words.append(BYTE_CLASS)
            self.mask(r.mask)
        elif isinstance(r, ir.Concatenation):
            self.words.append(CONCATENATION)
            self.ids(r.parts)
        elif isinstance(r, ir.Alternation):
            self.words.append(ALTERNATION)
            self.ids(r.parts)
        elif isinstance(r, ir.Repetition):
            self.words.extend((REPETITION, r.part))
            self.minimum(r.minimum)
            self.bound(r.maximum)
        elif isinstance(r, ir.Intersection):
            self.words.append(INTERSECTION)
            self.ids(r.parts)
        elif isinstance(r, ir.Complement):
            self.words.extend((COMPLEMENT, r.part))
        elif isinstance(r, ir.LiteralSet):
            self.words.extend((LITERAL_SET, len(r.literals)))
            for literal in r.literals:
                self.text(literal)
        else:
            self.words.extend((AUTOMATON, len(r.accepting)))
            for accepting, transitions in zip(r.accepting, r.transitions, strict=True):
                self.words.extend((accepting, len(transitions)))
                for mask, target in transitions:
                    self.mask(mask)
                    self.words.append(target)

    def claim(self, c: ir.Claim) -> None:
        if isinstance(c, ir.Member):
            self.words.append(MEMBER)
            self.ids(c.classes)
        elif isinstance(c, ir.Some):
            self.words.append(SOME)
            self.minimum(c.count)
            self.ids(c.classes)
        elif isinstance(c, ir.Most):
            self.words.append(MOST)
            self.bound(c.count)
            self.ids(c.classes)
        elif isinstance(c, ir.Has):
            self.words.extend((HAS, c.cls))
        elif isinstance(c, ir.Lacks):
            self.words.extend((LACKS, c.cls))
        elif isinstance(c, ir.CountMin):
            self.words.append(COUNT_MIN)
            self.minimum(c.count)
        else:
            self.words.append(COUNT_MAX)
            self.bound(c.count)

    def formula(self, f: ir.Formula) -> None:
        if isinstance(f, bool):
            self.words.append(TRUE if f else FALSE)
        elif isinstance(f, int):
            self.words.extend((CLAIM, f))
        else:
            self.words.extend((AND if isinstance(f, ir.And) else OR, len(f.parts)))
            for part in f.parts:
                self.formula(part)

    def values(self, values: tuple[tuple[ir.Pick, ...], ...]) -> None:
        words = self.words
        for picks in values:
            words.append(len(picks))
            for pick in picks:
                claims, node = pick.claims, pick.node
                words += (node if node < ELSEWHERE else node + self.moved, len(claims), *claims)

    def node(self, n: ir.Node) -> None:
        if isinstance(n, ir.Terminal):
            self.words.extend((TERMINAL, n.regex))
            return
        if isinstance(n, (ir.Choice, ir.Chain)):
            self.words.append(CHOICE if isinstance(n, ir.Choice) else CHAIN)
            self.ids(tuple([node if node < ELSEWHERE else node + self.moved for node in n.nodes]))
            return
        if isinstance(n, ir.Members):
            self.words.extend((MEMBERS, len(n.names)))
            for name, rank in zip(n.names, n.ranks, strict=True):
                self.bound(rank)
                self.text(name)
            self.ids(n.patterns)
            self.ids(n.required)
        else:
            self.words.extend((ELEMENTS, n.unique, n.prefix))
        self.minimum(n.min_count)
        self.bound(n.max_count)
        self.values(n.values)
        self.words.append(len(n.claims))
        for claim in n.claims:
            self.claim(claim)
        self.formula(n.formula)


class Beginning(NamedTuple):
    """Regular expressions that many grammars begin with, encoded once: their number, words, and part of the blob."""

    num_regexes: int
    words: bytes
    blob: bytes

    @classmethod
    def of(cls, regexes: Sequence[ir.Regex]) -> Beginning:
        """The encoded form of the expressions."""
        w = _Writer()
        for regex in regexes:
            w.regex(regex)
        return cls(len(regexes), _packed(w.words), bytes(w.blob))


NOTHING = Beginning(0, b"", b"")


class Appended(NamedTuple):
    """Expressions and nodes that were encoded elsewhere, to stand behind a grammar's own."""

    num_regexes: int
    regex_words: bytes
    regex_blob: bytes
    num_nodes: int
    node_words: bytes
    node_blob: bytes


NOTHING_APPENDED = Appended(0, b"", b"", 0, b"", b"")


def spacing_words(spacing: ir.Spacing) -> tuple[bytes, bytes]:
    """The words that a grammar begins with, and their part of the blob."""
    w = _Writer()
    w.spacing(spacing)
    return _packed(w.words), bytes(w.blob)


def encode(grammar: ir.Grammar, beginning: Beginning = NOTHING, appended: Appended = NOTHING_APPENDED) -> bytes:
    """The tables, root and spacing as bytes; origins are not part of it (the kernel has no use for them).

    ``beginning``: the encoded form of the first expressions, where the caller has it. ``appended``: what stands behind
    the grammar's own expressions and nodes.
    """
    w = _Writer(len(grammar.nodes))
    w.spacing(grammar.spacing)
    w.words.append(len(grammar.regexes) + appended.num_regexes)
    before, w.words = _packed(w.words), []
    w.blob += beginning.blob
    for regex in grammar.regexes[beginning.num_regexes :]:
        w.regex(regex)
    regexes, w.words = _packed(w.words), []
    w.blob += appended.regex_blob
    w.words.append(len(grammar.nodes) + appended.num_nodes)
    for node in grammar.nodes:
        w.node(node)
    w.blob += appended.node_blob
    words = b"".join(
        (
            before,
            beginning.words,
            regexes,
            appended.regex_words,
            _packed(w.words),
            appended.node_words,
            _packed([grammar.root]),
        )
    )
    return b"".join((MAGIC, struct.pack("<3I", VERSION, len(words) // 4, len(w.blob)), words, w.blob))


@lru_cache(maxsize=1024)  # automata say few masks many times
def _mask_words(mask: int) -> tuple[int, ...]:
    return struct.unpack("<8I", mask.to_bytes(32, "little"))


def _packed(words: list[int]) -> bytes:
    packed = array("I", words)
    assert packed.itemsize == 4
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


class _Reader:
    """Reads what :class:`_Writer` wrote; every read is checked."""

    def __init__(self, words: tuple[int, ...], blob: bytes) -> None:
        self.words = words
        self.blob = blob
        self.at = 0
        self.blob_at = 0

    def word(self) -> int:
        if self.at >= len(self.words):
            raise SerializationError("the data ends in the middle of a grammar")
        self.at += 1
        return self.words[self.at - 1]

    def count(self) -> int:
        n = self.word()
        if n > len(self.words) - self.at + len(self.blob) - self.blob_at:
            raise SerializationError(f"a count of {n} is larger than the data that follows it")
        return n

    def bound(self) -> int | None:
        value = self.word()
        return None if value == NONE else value

    def id(self, limit: int) -> int:
        value = self.word()
        if value >= limit:
            raise SerializationError(f"id {value} is out of range; the table has {limit} entries")
        return value

    def ids(self, limit: int) -> tuple[int, ...]:
        return tuple(self.id(limit) for _ in range(self.count()))

    def text(self) -> bytes:
        n = self.word()
        if n > len(self.blob) - self.blob_at:
            raise SerializationError("a literal reaches beyond the data")
        self.blob_at += n
        return self.blob[self.blob_at - n : self.blob_at]

    def mask(self) -> int:
        mask = 0
        for i in range(8):
            mask |= self.word() << (32 * i)
        return mask

    def automaton(self) -> ir.Automaton:
        num_states = self.count()
        if num_states == 0:
            raise SerializationError("an automaton has no states")
        accepting = []
        transitions = []
        for _ in range(num_states):
            accepting.append(self.id(2) == 1)
            row = tuple((self.mask(), self.id(num_states)) for _ in range(self.count()))
            seen = 0
            for mask, _ in row:
                if mask & seen:
                    raise SerializationError("an automaton is not deterministic")
                seen |= mask
            transitions.append(row)
        return ir.Automaton(tuple(transitions), tuple(accepting))

    def regex(self, index: int) -> ir.Regex:
        tag = self.word()
        if tag == BYTE_CLASS:
            return ir.ByteClass(self.mask())
        if tag == CONCATENATION:
            return ir.Concatenation(self.ids(index))
        if tag == ALTERNATION:
            return ir.Alternation(self.ids(index))
        if tag == REPETITION:
            return ir.Repetition(self.id(index), self.word(), self.bound())
        if tag == INTERSECTION:
            return ir.Intersection(self.ids(index))
        if tag == COMPLEMENT:
            return ir.Complement(self.id(index))
        if tag == LITERAL_SET:
            return ir.LiteralSet(tuple(self.text() for _ in range(self.count())))
        if tag == AUTOMATON:
            return self.automaton()
        raise SerializationError(f"unknown tag {tag} of a regular expression")

    def claim(self, num_classes: int) -> ir.Claim:
        tag = self.word()
        if tag == MEMBER:
            return ir.Member(self.ids(num_classes))
        if tag == SOME:
            count = self.word()
            return ir.Some(self.ids(num_classes), count)
        if tag == MOST:
            count = self.word()
            return ir.Most(self.ids(num_classes), count)
        if tag == HAS:
            return ir.Has(self.id(num_classes))
        if tag == LACKS:
            return ir.Lacks(self.id(num_classes))
        if tag == COUNT_MIN:
            return ir.CountMin(self.word())
        if tag == COUNT_MAX:
            return ir.CountMax(self.word())
        raise SerializationError(f"unknown tag {tag} of a claim")

    def formula(self, num_claims: int, depth: int = 0) -> ir.Formula:
        if depth > 200:
            raise SerializationError("a formula is nested more than 200 deep")
        tag = self.word()
        if tag in (FALSE, TRUE):
            return tag == TRUE
        if tag == CLAIM:
            return self.id(num_claims)
        if tag in (AND, OR):
            parts = tuple(self.formula(num_claims, depth + 1) for _ in range(self.count()))
            return ir.And(parts) if tag == AND else ir.Or(parts)
        raise SerializationError(f"unknown tag {tag} of a formula")

    def values(self, num_classes: int, num_nodes: int) -> tuple[tuple[ir.Pick, ...], ...]:
        result = []
        for _ in range(num_classes):
            picks = []
            for _ in range(self.count()):
                node = self.id(num_nodes)
                picks.append(ir.Pick(self.ids(NONE), node))
            result.append(tuple(picks))
        return tuple(result)

    def node(self, num_regexes: int, num_nodes: int) -> ir.Node:
        tag = self.word()
        if tag == TERMINAL:
            return ir.Terminal(self.id(num_regexes))
        if tag == CHOICE:
            return ir.Choice(self.ids(num_nodes))
        if tag == CHAIN:
            return ir.Chain(self.ids(num_nodes))
        if tag not in (MEMBERS, ELEMENTS):
            raise SerializationError(f"unknown tag {tag} of a node")
        names: list[bytes] = []
        ranks: list[int | None] = []
        patterns: tuple[int, ...] = ()
        required: tuple[int, ...] = ()
        unique = False
        if tag == MEMBERS:
            for _ in range(self.count()):
                ranks.append(self.bound())
                names.append(self.text())
            patterns = self.ids(num_regexes)
            required = self.ids(len(names))
            num_classes = len(names) + len(patterns)
            prefix = 0
        else:
            unique = self.id(2) == 1
            prefix = self.count()
            num_classes = prefix + 1
        min_count = self.word()
        max_count = self.bound()
        values = self.values(num_classes, num_nodes)
        claims = tuple(self.claim(num_classes) for _ in range(self.count()))
        for picks in values:
            for pick in picks:
                if any(c >= len(claims) for c in pick.claims):
                    raise SerializationError("a pick names a claim that does not exist")
        formula = self.formula(len(claims))
        if tag == MEMBERS:
            return ir.Members(
                tuple(names), tuple(ranks), patterns, values, required, min_count, max_count, claims, formula
            )
        return ir.Elements(prefix, values, min_count, max_count, claims, formula, unique)


def decode_regexes(encoded: Beginning) -> tuple[ir.Regex, ...]:
    """The inverse of :meth:`Beginning.of`."""
    r = _Reader(struct.unpack(f"<{len(encoded.words) // 4}I", encoded.words), encoded.blob)
    return tuple(r.regex(i) for i in range(encoded.num_regexes))


def decode(data: bytes) -> ir.Grammar:
    """The inverse of :func:`encode`. Raises SerializationError on anything else."""
    if data[:4] != MAGIC or len(data) < 16:
        raise SerializationError("this is not a serialised grammar: it does not begin with GDIR")
    version, num_words, blob_len = struct.unpack("<3I", data[4:16])
    if version != VERSION:
        raise SerializationError(
            f"the grammar has format version {version}; this release reads {VERSION}. Compile it again."
        )
    if len(data) != 16 + 4 * num_words + blob_len:
        raise SerializationError("the data is truncated or has bytes at the end that do not belong to it")
    words = struct.unpack(f"<{num_words}I", data[16 : 16 + 4 * num_words])
    r = _Reader(words, data[16 + 4 * num_words :])
    max_whitespace = r.bound()
    item_separator = r.text()
    key_separator = r.text()
    spacing = ir.Spacing(max_whitespace, item_separator, key_separator)
    num_regexes = r.count()
    regexes = tuple(r.regex(i) for i in range(num_regexes))
    num_nodes = r.count()
    nodes = tuple(r.node(num_regexes, num_nodes) for _ in range(num_nodes))
    root = r.id(num_nodes)
    if r.at != len(words) or r.blob_at != len(r.blob):
        raise SerializationError("the data has parts that no grammar owns")
    return ir.Grammar(regexes, nodes, root, spacing, ("",) * len(nodes))
