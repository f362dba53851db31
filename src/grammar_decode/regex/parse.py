r"""ECMA-262 patterns to a small syntax tree. Source: ECMA-262 (2025), section 22.2.1 "Patterns" and Annex B.1.2.

JSON Schema asks for patterns that are valid with the ``u`` flag. Each construct is read as with ``u`` where it is valid
there, else by the leniency of Annex B: identity escapes (``\-``, ``\_``, ``\A`` is the letter A), lone ``{``, ``}`` and
``]``, octal escapes, classes next to a hyphen (``[\w-.]``), quantified lookaheads. Where both are valid and differ,
``u`` wins: ``\u{61}`` and ``\p{L}`` are never the letters u and p repeated, and a pattern matches code points, not
UTF-16 units.

Captures leave no trace in the tree and lazy quantifiers equal greedy ones: only the language counts. The parser keeps
its own stack, so nesting never meets the limit of Python's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NoReturn, TypeAlias

from grammar_decode.errors import PatternError
from grammar_decode.limits import Limits, remembered
from grammar_decode.regex import charset
from grammar_decode.regex.charset import Charset
from grammar_decode.regex.unicode import PropertyError, property_set

#: The largest count of a quantifier; a larger one is refused.
MAX_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    charset: Charset


@dataclass(frozen=True, slots=True)
class Sequence:
    """The parts one after another; none is the empty pattern."""

    parts: tuple[Ast, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of at least two parts."""

    parts: tuple[Ast, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``part`` from ``minimum`` to ``maximum`` times; None is unbounded."""

    part: Ast
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Begin:
    """``^``"""


@dataclass(frozen=True, slots=True)
class End:
    """``$``: the very end; a final newline is not skipped."""


@dataclass(frozen=True, slots=True)
class Boundary:
    r"""``\b``, or ``\B`` where negated."""

    negated: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A lookahead, or a lookbehind where ``behind``."""

    part: Ast
    behind: bool
    negated: bool


Ast: TypeAlias = Chars | Sequence | Alternation | Repeat | Begin | End | Boundary | Look

EMPTY = Sequence(())
_BEGIN, _END = Begin(), End()

_QUANTIFIER = re.compile(r"(?:([*+?])|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_GROUP_NAME = re.compile(r"<((?:[^\W\d]|[$_])(?:\w|[$\u200c\u200d])*)>")
_MODIFIERS = re.compile(r"\?[a-zA-Z]*-?[a-zA-Z]*[:)]")
_CODE_POINT = re.compile(r"\{([0-9a-fA-F]+)\}")
_HEX2 = re.compile(r"[0-9a-fA-F]{2}")
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_DECIMAL = re.compile(r"[0-9]+")

_CLASS_ESCAPES = {
    "d": charset.DIGIT,
    "w": charset.WORD,
    "s": charset.SPACE,
    "D": charset.DIGIT.complement(),
    "W": charset.WORD.complement(),
    "S": charset.SPACE.complement(),
}
_CONTROL_ESCAPES = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}

# How an open group is closed: what its body becomes.
_GROUPS: dict[str, Callable[[Ast], Ast]] = {
    "(": lambda body: body,
    "(?:": lambda body: body,
    "(?=": lambda body: Look(body, False, False),
    "(?!": lambda body: Look(body, False, True),
    "(?<=": lambda body: Look(body, True, False),
    "(?<!": lambda body: Look(body, True, True),
}


@dataclass(slots=True)
class _Frame:
    """One open group: the alternatives read so far, the terms of the current one, and the group names in them."""

    opening: str
    offset: int
    alternatives: list[Ast] = field(default_factory=list)
    terms: list[Ast] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    all_names: set[str] = field(default_factory=set)


@remembered(1024)
def parse(pattern: str, max_depth: int = Limits().max_depth) -> Ast:
    """The syntax tree of the pattern.

    Raises PatternError with the offset: for a mistake, or (``unsupported``) for a backreference, inline flags, a
    property that needs a missing package, and groups nested deeper than ``max_depth``. Linear in the pattern.
    """
    return _Parser(pattern, max_depth).parse()


class _Parser:
    def __init__(self, pattern: str, max_depth: int) -> None:
        self.pattern = pattern
        self.max_depth = max_depth
        self.at = 0

    def fail(self, message: str, offset: int | None = None, *, unsupported: bool = False) -> NoReturn:
        where = self.at if offset is None else offset
        raise PatternError(message, pattern=self.pattern, offset=where, unsupported=unsupported)

    def take(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Match the expression here and step over it, or None and no step."""
        match = expression.match(self.pattern, self.at)
        if match:
            self.at = match.end()
        return match

    # ---- disjunctions, groups, quantifiers ----

    def parse(self) -> Ast:
        pattern, end = self.pattern, len(self.pattern)
        frame = _Frame("", 0)
        stack = [frame]
        while self.at < end:
            char = pattern[self.at]
            if char == "|":
                self.at += 1
                _end_alternative(frame)
            elif char == "(":
                frame = self.open_group()
                stack.append(frame)
                if len(stack) > self.max_depth + 1:
                    self.fail(f"groups nested deeper than {self.max_depth}", frame.offset, unsupported=True)
            elif char == ")":
                if len(stack) == 1:
                    self.fail("unmatched ')'")
                self.at += 1
                closed = stack.pop()
                frame = stack[-1]
                self.close_group(closed, frame)
            elif char == "^" or char == "$":
                self.at += 1
                frame.terms.append(_BEGIN if char == "^" else _END)
            elif char == "\\":
                frame.terms.append(self.escape())
            else:
                frame.terms.append(self.quantified(Chars(self.atom(char))))
        if len(stack) > 1:
            self.fail(f"the group {frame.opening!r} is never closed", frame.offset)
        return _disjunction(frame)

    def atom(self, char: str) -> Charset:
        """A character, a dot or a class."""
        if char == "[":
            return self.character_class()
        if char in "*+?" or (char == "{" and _QUANTIFIER.match(self.pattern, self.at)):
            self.fail(f"nothing to repeat before {char!r}")
        self.at += 1
        return charset.DOT if char == "." else _single(ord(char))

    def quantified(self, node: Ast) -> Ast:
        """The atom with the quantifier that may follow it."""
        offset = self.at
        match = self.take(_QUANTIFIER)
        if not match:
            return node
        symbol, low, comma, high = match.groups()
        if symbol:
            return Repeat(node, 1 if symbol == "+" else 0, 1 if symbol == "?" else None)
        minimum = self.count(low, offset)
        maximum = minimum if not comma else self.count(high, offset) if high else None
        if maximum is not None and minimum > maximum:
            self.fail(f"the quantifier {match[0]} has its numbers out of order", offset)
        return EMPTY if maximum == 0 else Repeat(node, minimum, maximum)

    def count(self, digits: str, offset: int) -> int:
        digits = digits.lstrip("0") or "0"
        if len(digits) > 10 or int(digits) > MAX_COUNT:
            self.fail(f"a count above {MAX_COUNT} is not supported", offset, unsupported=True)
        return int(digits)

    def open_group(self) -> _Frame:
        pattern, offset = self.pattern, self.at
        if not pattern.startswith("(?", offset):
            self.at += 1
            return _Frame("(", offset)
        for opening in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
            if pattern.startswith(opening, offset):
                self.at += len(opening)
                return _Frame(opening, offset)
        self.at += 2
        name = self.take(_GROUP_NAME)
        if name is None:
            self.refuse_group(offset)
        return _Frame("(", offset, all_names={name[1]})

    def refuse_group(self, offset: int) -> NoReturn:
        if _MODIFIERS.match(self.pattern, offset + 1):
            self.fail(
                "inline flags are not supported; spell both cases out as in [Aa], or . as [\\s\\S]",
                offset,
                unsupported=True,
            )
        if self.pattern.startswith("P<", self.at):
            self.fail("(?P<name>...) is Python syntax; ECMA-262 writes (?<name>...)", offset)
        self.fail("not a group of ECMA-262", offset)

    def close_group(self, closed: _Frame, parent: _Frame) -> None:
        body = _GROUPS[closed.opening](_disjunction(closed))
        if parent.names & closed.all_names:
            self.fail(f"the group name {min(parent.names & closed.all_names)!r} is used twice", closed.offset)
        parent.names |= closed.all_names
        parent.terms.append(body if closed.opening.startswith("(?<") else self.quantified(body))

    # ---- escapes outside classes ----

    def escape(self) -> Ast:
        offset = self.at
        char = self.escape_letter()
        if char in "bB":
            self.at += 1
            return Boundary(char == "B")
        if char in "123456789":
            self.refuse_backreference(offset)
        if char == "k" and "(?<" in self.pattern and _has_named_group(self.pattern):
            self.fail("backreferences are not supported: they are not regular", offset, unsupported=True)
        return self.quantified(Chars(self.character_escape(in_class=False)))

    def escape_letter(self) -> str:
        """Step over the backslash; the character after it, which must exist."""
        self.at += 1
        if self.at == len(self.pattern):
            self.fail("a backslash at the end", self.at - 1)
        return self.pattern[self.at]

    def refuse_backreference(self, offset: int) -> None:
        """Raise for a backreference; return where Annex B reads the digits as an octal or identity escape."""
        match = _DECIMAL.match(self.pattern, self.at)
        assert match
        digits = match[0]
        if len(digits) < 7 and int(digits) <= _count_captures(self.pattern):
            self.fail("backreferences are not supported: they are not regular", offset, unsupported=True)

    def character_escape(self, *, in_class: bool) -> Charset:
        """The set of an escape whose letter is at ``self.at``; steps over it."""
        pattern = self.pattern
        char = pattern[self.at]
        if char in _CLASS_ESCAPES:
            self.at += 1
            return _CLASS_ESCAPES[char]
        if char in "pP":
            return self.property_escape(char)
        if char in "01234567":
            octal = self.take(_OCTAL)
            assert octal
            return _single(int(octal[0], 8))
        self.at += 1
        if char in _CONTROL_ESCAPES:
            return _single(_CONTROL_ESCAPES[char])
        if char == "x":
            match = self.take(_HEX2)
            return _single(int(match[0], 16) if match else ord("x"))
        if char == "u":
            return self.unicode_escape()
        if char == "c":
            return self.control_letter(in_class)
        return _single(0x08 if in_class and char == "b" else ord(char))

    def control_letter(self, in_class: bool) -> Charset:
        letter = self.pattern[self.at : self.at + 1]
        if letter.isascii() and (letter.isalpha() or (in_class and (letter.isdigit() or letter == "_"))):
            self.at += 1
            return _single(ord(letter) % 32)
        self.at -= 1  # Annex B: the backslash stands for itself, the c is read again
        return _single(ord("\\"))

    def unicode_escape(self) -> Charset:
        braces = self.take(_CODE_POINT)
        if braces:
            value = int(braces[1].lstrip("0")[:7] or "0", 16)
            if value > charset.MAX_CODE_POINT:
                self.fail("a code point above 10FFFF", braces.start() - 2)
            return _single(value)
        match = self.take(_HEX4)
        if not match:
            return _single(ord("u"))
        value = int(match[0], 16)
        if 0xD800 <= value < 0xDC00:
            low = self.take(_LOW_SURROGATE)
            if low:
                value = 0x10000 + ((value - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
        return _single(value)

    def property_escape(self, letter: str) -> Charset:
        offset = self.at - 1
        close = self.pattern.find("}", self.at)
        if self.pattern[self.at + 1 : self.at + 2] != "{" or close < 0:
            self.at += 1
            return _single(ord(letter))
        name = self.pattern[self.at + 2 : close]
        self.at = close + 1
        try:
            found = property_set(name)
        except PropertyError as error:
            self.fail(error.reason, offset, unsupported=error.unsupported)
        return found if letter == "p" else found.complement()

    # ---- classes ----

    def character_class(self) -> Charset:
        pattern, end, offset = self.pattern, len(self.pattern), self.at
        self.at += 1
        negated = pattern.startswith("^", self.at)
        if negated:
            self.at += 1
        ranges: list[tuple[int, int]] = []
        while self.at < end and pattern[self.at] != "]":
            start = self.at
            low, first = self.class_atom()
            if not (pattern.startswith("-", self.at) and pattern[self.at + 1 : self.at + 2] not in ("", "]")):
                ranges.extend(first)
                continue
            self.at += 1
            high, second = self.class_atom()
            if low is None or high is None:  # Annex B: a class next to the hyphen makes it a plain character
                ranges.extend((*first, *second, (0x2D, 0x2D)))
            elif low > high:
                self.fail(f"the range {pattern[start : self.at]} is out of order", start)
            else:
                ranges.append((low, high))
        if self.at >= end:
            self.fail("the class is never closed", offset)
        self.at += 1
        members = Charset.of(*ranges)
        return members.complement() if negated else members

    def class_atom(self) -> tuple[int | None, tuple[charset.Range, ...]]:
        """One member: its code point and the range of it alone, or None and the ranges of a class escape.

        The code point may be a surrogate, which matters as the end of a range; no set ever holds it.
        """
        start = self.at
        char = self.pattern[start]
        if char != "\\":
            self.at += 1
            return ord(char), ((ord(char), ord(char)),)
        letter = self.escape_letter()
        members = self.character_escape(in_class=True)
        if letter in _CLASS_ESCAPES or (letter in "pP" and self.pattern[start + 2 : start + 3] == "{"):
            return None, members.ranges
        if not members:  # a surrogate that is not half of a pair
            return int(self.pattern[start + 2 : self.at].strip("{}"), 16), ()
        return members.ranges[0][0], members.ranges


def _end_alternative(frame: _Frame) -> None:
    frame.alternatives.append(_sequence(frame.terms))
    frame.terms = []
    frame.all_names |= frame.names
    frame.names = set()


def _disjunction(frame: _Frame) -> Ast:
    _end_alternative(frame)
    if len(frame.alternatives) == 1:
        return frame.alternatives[0]
    sets = [part.charset for part in frame.alternatives if isinstance(part, Chars)]
    if len(sets) == len(frame.alternatives):
        return Chars(charset.NONE.union(*sets))
    return Alternation(tuple(frame.alternatives))


def _sequence(terms: list[Ast]) -> Ast:
    return terms[0] if len(terms) == 1 else Sequence(tuple(terms))


@lru_cache(maxsize=4096)
def _single(code_point: int) -> Charset:
    return Charset.of((code_point, code_point))


_GROUP_OPENINGS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(\((?!\?)|\(\?<(?![=!]))", re.DOTALL)


def _count_captures(pattern: str) -> int:
    return sum(1 for match in _GROUP_OPENINGS.finditer(pattern) if match[1])


def _has_named_group(pattern: str) -> bool:
    return any(match[1] == "(?<" for match in _GROUP_OPENINGS.finditer(pattern))
