"""Where the end of an unfinished JSON text is: open containers, keys, the scalar under way. For messages only.

The text is a prefix of a document that a grammar accepted, so no more is checked than is needed to find the way.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

#: What the end of the text waits for, or is in.
State = Literal["value", "first item", "first key", "key", "in key", "colon", "scalar", "after", "end"]

_BLANK = re.compile(rb"[ \t\n\r]*")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER_OR_NAME = re.compile(rb"[-+.0-9A-Za-z]+")
_NAMES = (b"true", b"false", b"null")


@dataclass(slots=True)
class Open:
    """A container that is not closed yet."""

    is_object: bool
    start: int
    #: The key whose member is under way, or the index of the item.
    key: str | None = None
    index: int = 0
    #: Where the values of finished members are, by key; keys in the order of the text.
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def step(self) -> str | int | None:
        return self.key if self.is_object else self.index


@dataclass(slots=True)
class Place:
    """The end of a text. ``start`` is where the key or scalar under way begins, or the text ends if there is none."""

    state: State
    opened: list[Open]
    start: int

    @property
    def path(self) -> tuple[str | int, ...]:
        """Keys and indices that lead to the value that the end of the text is in or before."""
        steps = [container.step for container in self.opened]
        if self.state in ("first item", "first key", "key", "in key", "after"):
            steps = steps[:-1]
        return tuple(step for step in steps if step is not None)

    @property
    def pointer(self) -> str:
        """The path as a JSON pointer (RFC 6901); "" is the whole document."""
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in self.path)


def scan(text: bytes, start: int = 0) -> Place | None:
    """The place at the end of ``text``, whose document begins at ``start``; None where that is no JSON."""
    opened: list[Open] = []
    state: State = "value"
    value_start = start
    i = start
    while True:
        i = _skip(text, i)
        if i == len(text):
            return Place(state, opened, i)
        byte = text[i : i + 1]
        if state in ("value", "first item"):
            if state == "first item" and byte == b"]":
                value_start = opened.pop().start
                i, state = i + 1, _finish(opened, value_start, i + 1)
            elif byte in (b"{", b"["):
                opened.append(Open(byte == b"{", i))
                i, state = i + 1, "first key" if byte == b"{" else "first item"
            else:
                value_start = i
                end = _scalar_end(text, i)
                if end is None:
                    return None
                if end < 0:
                    return Place("scalar", opened, i)
                i, state = end, _finish(opened, value_start, end)
        elif state in ("first key", "key"):
            if byte == b"}" and state == "first key":
                value_start = opened.pop().start
                i, state = i + 1, _finish(opened, value_start, i + 1)
            elif byte == b'"':
                whole = _STRING.match(text, i)
                if whole is None:
                    return Place("in key", opened, i)
                opened[-1].key = text_of(text[i + 1 : whole.end() - 1])
                i, state = whole.end(), "colon"
            else:
                return None
        elif state == "colon":
            if byte != b":":
                return None
            i, state = i + 1, "value"
        elif state == "after":
            top = opened[-1]
            if byte == b",":
                i, state = i + 1, "key" if top.is_object else "value"
                top.index += 1
                top.key = None
            elif byte == (b"}" if top.is_object else b"]"):
                value_start = opened.pop().start
                i, state = i + 1, _finish(opened, value_start, i + 1)
            else:
                return None
        else:
            return None  # text behind the document


def text_of(raw: bytes) -> str:
    """What a JSON string without its quotes says; an escape or a character that is cut off is left out."""
    for end in range(len(raw), max(len(raw) - 12, -1), -1):
        try:
            value = json.loads(b'"' + raw[:end] + b'"')
        except ValueError:
            continue
        return str(value)
    return raw.decode("utf-8", "replace")


def value_at(text: bytes, span: tuple[int, int]) -> Any:
    """The value of a finished scalar; None (which null is as well) for a container."""
    if text[span[0] : span[0] + 1] in (b"{", b"["):
        return None
    try:
        return json.loads(text[span[0] : span[1]])
    except ValueError:
        return None


def _skip(text: bytes, i: int) -> int:
    found = _BLANK.match(text, i)
    return i if found is None else found.end()


def _finish(opened: list[Open], start: int, end: int) -> State:
    """A value has ended."""
    if not opened:
        return "end"
    top = opened[-1]
    if top.is_object and top.key is not None:
        top.spans[top.key] = (start, end)
    return "after"


def _scalar_end(text: bytes, i: int) -> int | None:
    """Where the scalar at ``i`` ends; -1 if it may go on behind the text, None if it is none."""
    if text[i : i + 1] == b'"':
        whole = _STRING.match(text, i)
        return -1 if whole is None else whole.end()
    found = _NUMBER_OR_NAME.match(text, i)
    if found is None:
        return None
    word = found.group()
    if word[:1].isalpha():
        if word in _NAMES:
            return found.end()
        return -1 if found.end() == len(text) and any(name.startswith(word) for name in _NAMES) else None
    return -1 if found.end() == len(text) else found.end()
