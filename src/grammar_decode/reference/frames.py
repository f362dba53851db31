"""Frames: the places of a thread, one for each container that is open and one for the scalar in it.

Inside an array of distinct items, frames also remember what was read: two items are told apart by their values.
Anywhere else (``text``, ``pairs`` and ``items`` are None) nothing is remembered that the future does not need.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from grammar_decode.ir import nodes as ir
from grammar_decode.reference.containers import ArrayState, ObjectState
from grammar_decode.reference.regex import Expression
from grammar_decode.reference.scalars import Value


class Phase(enum.Enum):
    """Where a frame stands. Those with * may read whitespace."""

    START = "before the opening bracket"
    OPENED = "* after the opening bracket"
    KEY = "inside a key"
    AFTER_KEY = "* after a key"
    COLON = "inside the key separator"
    BEFORE_VALUE = "* after the key separator; of the document: before the root"
    AFTER_ENTRY = "* after a member or an item; of the document: after the root"
    COMMA = "inside the item separator"
    AFTER_COMMA = "* after the item separator"


@dataclass(frozen=True, slots=True)
class DocumentFrame:
    """The bottom of every thread: whitespace around the root."""

    phase: Phase
    offset: int = 0  # whitespace bytes read in this run


@dataclass(frozen=True, slots=True)
class ChainFrame:
    """Before a part of a chain."""

    node: ir.NodeId
    index: int


@dataclass(frozen=True, slots=True)
class TerminalFrame:
    """Inside a scalar; ``rest`` is what may follow."""

    rest: Expression
    text: bytes | None = None  # read so far


@dataclass(frozen=True, slots=True)
class Key:
    """The key typed so far, and for each class that it may belong to, what may follow it (up to the quote)."""

    text: bytes
    rests: tuple[tuple[ir.ClassId, Expression], ...]


@dataclass(frozen=True, slots=True)
class ObjectFrame:
    """Inside an object."""

    node: ir.NodeId
    phase: Phase
    state: ObjectState
    used: frozenset[bytes] = frozenset()  # pattern keys
    offset: int = 0  # whitespace bytes read in this run, or bytes read of the separator
    key: Key | None = None  # in KEY
    value: ir.NodeId | None = None  # from AFTER_KEY to BEFORE_VALUE
    pairs: frozenset[tuple[bytes, Value]] | None = None  # the members read
    name: bytes | None = None  # the key of the member that is being read, once it is known (with ``pairs``)


@dataclass(frozen=True, slots=True)
class ArrayFrame:
    """Inside an array."""

    node: ir.NodeId
    phase: Phase
    state: ArrayState
    offset: int = 0
    items: tuple[Value, ...] | None = None  # the items read


Frame: TypeAlias = DocumentFrame | ChainFrame | TerminalFrame | ObjectFrame | ArrayFrame
Thread: TypeAlias = tuple[Frame, ...]


def remembers(frame: Frame) -> bool:
    """Whether the frame keeps what was read: it is, or is inside, an array of distinct items."""
    if isinstance(frame, TerminalFrame):
        return frame.text is not None
    if isinstance(frame, ObjectFrame):
        return frame.pairs is not None
    return isinstance(frame, ArrayFrame) and frame.items is not None
