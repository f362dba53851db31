"""The values of scalars: of a text, and all that a text can still become.

A full JSON string has the string as its value, a full JSON number the number, any other text itself. A JSON string is
well-formed UTF-8 with the escapes of RFC 8259; a lone surrogate (only an escape can spell one) is a character.

A set of values is enumerated up to a limit; beyond it, None stands for "more than anyone asks for". The languages may
be infinite and the values few (``1``, ``1.0``, ``1.00``, ...), so it is values that are enumerated, breadth first, and
texts that come to the same are followed together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from grammar_decode.reference.regex import Expression, Regexes, mask_of

#: Sets of more values are not enumerated. Where one is taken for endless, it has a quarter as many, at least.
MOST_VALUES = 256
#: Mantissas of one length that are followed up to their exponents.
MOST_MANTISSAS = 4_000

QUOTE, BACKSLASH = b'"\\'
_NUMBER = re.compile(rb"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_ESCAPED = dict(zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True))


class TooManyValues(Exception):
    """An enumeration is larger than the reference is made for. It refuses, and never guesses."""


@dataclass(frozen=True, slots=True)
class Number:
    """``digits * 10 ** exponent``; the digits have no zero at either end, and zero has none at all."""

    negative: bool
    digits: str
    exponent: int


#: A JSON string, a JSON number, another scalar, an array, an object by its key texts.
Value: TypeAlias = "str | Number | bytes | tuple[Value, ...] | frozenset[tuple[bytes, Value]]"
#: All values of something, or None: very many.
Values: TypeAlias = frozenset[Value] | None
Texts: TypeAlias = frozenset[bytes] | None
#: What was read of the present character and what may follow it, with the text up to there.
_States: TypeAlias = dict[tuple[bytes, Expression], bytes]


def value_of(text: bytes) -> Value:
    """The value of a whole scalar."""
    number = _NUMBER.fullmatch(text)
    if number:
        sign, whole, fraction, exponent = (part or b"" for part in number.groups())
        digits = (whole + fraction).decode().lstrip("0")
        if not digits:
            return Number(negative=False, digits="", exponent=0)
        stripped = digits.rstrip("0")
        power = int(exponent or b"0") - len(fraction) + len(digits) - len(stripped)
        return Number(bool(sign), stripped, power)
    if text[:1] == b'"' == text[-1:]:
        try:
            value = json.loads(text.decode())
        except ValueError:
            return text
        assert isinstance(value, str)
        return value
    return text


class Scalars:
    """Sets of values over the alphabet of ``regexes``, and memos of them. Not shared between threads."""

    def __init__(self, regexes: Regexes) -> None:
        self.regexes = regexes
        one, then, any_of, repeat = regexes.one_byte, regexes.then, regexes.any_of, regexes.repeat
        digit, e = one(mask_of(b"0123456789")), one(mask_of(b"eE"))
        zeros = repeat(one(mask_of(b"0")), 0, None)
        anything = regexes.everything
        self._string = then(one(1 << QUOTE), then(repeat(self._character(), 0, None), one(1 << QUOTE)))
        whole = any_of((one(mask_of(b"0")), then(one(mask_of(b"123456789")), repeat(digit, 0, None))))
        fraction = then(one(mask_of(b".")), repeat(digit, 1, None))
        exponent = then(e, then(repeat(one(mask_of(b"+-")), 0, 1), repeat(digit, 1, None)))
        magnitude = then(whole, then(repeat(fraction, 0, 1), repeat(exponent, 0, 1)))
        self._number = then(repeat(one(mask_of(b"-")), 0, 1), magnitude)
        self._with_exponent = then(anything, then(e, anything))
        self._more_than_zeros = regexes.complement(zeros)
        self._more_than_zeros_before_e = regexes.complement(then(zeros, then(e, anything)))
        self._steps: dict[Expression, tuple[tuple[bytes, Expression], ...]] = {}
        self._raw: dict[Expression, Texts] = {}
        self._strings: dict[tuple[Expression, bytes], Texts] = {}
        self._plain_numbers: dict[tuple[Expression, bool], Texts] = {}

    def _character(self) -> Expression:
        """One character of a JSON string: Unicode, table 3-7, and RFC 8259, section 7."""

        def span(first: int, last: int) -> Expression:
            return self.regexes.one_byte(mask_of(range(first, last + 1)))

        def sequence(*parts: Expression) -> Expression:
            head, *tail = parts
            return self.regexes.then(head, sequence(*tail)) if tail else head

        tail, backslash = span(0x80, 0xBF), span(BACKSLASH, BACKSLASH)
        hexadecimal = self.regexes.one_byte(mask_of(b"0123456789abcdefABCDEF"))
        return self.regexes.any_of(
            (
                self.regexes.one_byte(mask_of(c for c in range(0x20, 0x80) if c not in (QUOTE, BACKSLASH))),
                sequence(span(0xC2, 0xDF), tail),
                sequence(span(0xE0, 0xE0), span(0xA0, 0xBF), tail),
                sequence(span(0xE1, 0xEC), tail, tail),
                sequence(span(0xED, 0xED), span(0x80, 0x9F), tail),
                sequence(span(0xEE, 0xEF), tail, tail),
                sequence(span(0xF0, 0xF0), span(0x90, 0xBF), tail, tail),
                sequence(span(0xF1, 0xF3), tail, tail, tail),
                sequence(span(0xF4, 0xF4), span(0x80, 0x8F), tail, tail),
                sequence(backslash, self.regexes.one_byte(mask_of(_ESCAPED))),
                sequence(backslash, span(ord("u"), ord("u")), self.regexes.repeat(hexadecimal, 4, 4)),
            )
        )

    def completions(self, text: bytes, rest: Expression) -> Values:
        """The values of the texts that begin with ``text`` and go on with a match of ``rest``."""
        both, after = self.regexes.all_of, self._after
        string, number = after(self._string, text), after(self._number, text)
        neither = self.regexes.complement(self.regexes.any_of((string, number)))
        found: set[Value] = set()
        for part, enumerated in (
            (neither, lambda expr, _text: self.texts(expr)),
            (string, self._string_ends),
            (number, self._number_ends),
        ):
            expr = both((rest, part))
            if not self.regexes.is_empty(expr):
                ends: Texts = enumerated(expr, text)
                if ends is None:
                    return None
                found.update(value_of(text + end) for end in ends)
        return frozenset(found) if len(found) <= MOST_VALUES else None

    def _after(self, expr: Expression, text: bytes) -> Expression:
        for byte in text:
            expr = self.regexes.derivative(expr, byte)
        return expr

    def _live(self, expr: Expression) -> tuple[tuple[bytes, Expression], ...]:
        """Each byte of the alphabet after which something still matches."""
        known = self._steps.get(expr)
        if known is None:
            some = [(mask, after) for mask, after in self.regexes.successors(expr) if not self.regexes.is_empty(after)]
            steps = ((bytes((byte,)), after) for mask, after in some for byte in range(256) if mask >> byte & 1)
            known = self._steps[expr] = tuple(steps)
        return known

    # ---- other texts ----

    def texts(self, expr: Expression) -> Texts:
        """The strings that match."""
        if expr not in self._raw:
            self._raw[expr] = self._enumerated(expr)
        return self._raw[expr]

    def _enumerated(self, expr: Expression) -> Texts:
        found: set[bytes] = set()
        level = {} if self.regexes.is_empty(expr) else {b"": expr}
        while level:
            found.update(text for text, state in level.items() if self.regexes.nullable(state))
            longer: dict[bytes, Expression] = {}
            for text, state in level.items():
                longer.update((text + byte, after) for byte, after in self._live(state))
                if len(longer) > MOST_VALUES or len(found) > MOST_VALUES:
                    return None  # texts of one length, each the beginning of another string
            level = longer
        return frozenset(found)

    # ---- strings ----

    def _string_ends(self, expr: Expression, text: bytes) -> Texts:
        """Texts that complete a JSON string, one for each value."""
        if self.regexes.nullable(expr):
            return frozenset((b"",))  # it is complete, and nothing follows
        if not text:
            inside = self._string_ends(self.regexes.derivative(expr, QUOTE), b'"')
            return None if inside is None else frozenset(b'"' + end for end in inside)
        key = (expr, _undone(text))
        if key not in self._strings:
            self._strings[key] = self._bodies(*key)
        return self._strings[key]

    def _bodies(self, expr: Expression, undone: bytes) -> Texts:
        """The rests of a string's body. ``undone``: what was read of the present character.

        The value so far is counted in UTF-16 code units: an escape spells one, a character as it stands one or two.
        """
        levels: dict[int, dict[tuple[int, ...], _States]] = {0: {(): {(undone, expr): b""}}}
        found: dict[tuple[int, ...], bytes] = {}
        length = 0
        while levels:
            for units, states in levels.pop(length, {}).items():
                for (begun, state), end in states.items():
                    if not begun and self.regexes.nullable(self._quoted(state)):
                        found.setdefault(units, end + b'"')
                    for more, text, after in self._characters(begun, state):
                        longer = levels.setdefault(length + len(more), {})
                        longer.setdefault(units + more, {}).setdefault((b"", after), end + text)
                        if len(longer) > MOST_VALUES:
                            return None
            if len(found) > MOST_VALUES:
                return None
            length += 1
        return frozenset(found.values())

    def _quoted(self, expr: Expression) -> Expression:
        return self.regexes.derivative(expr, QUOTE) if QUOTE in self.regexes.alphabet else self.regexes.empty

    def _characters(self, begun: bytes, expr: Expression) -> Iterator[tuple[tuple[int, ...], bytes, Expression]]:
        """The characters that may come next: code units, bytes still to be read, what may follow."""
        stack = [(b"", expr)]
        while stack:
            text, state = stack.pop()
            units = _code_units(begun + text)
            if units:
                yield units, text, state
                continue
            for byte, after in self._live(state):
                if begun + text + byte != b'"':
                    stack.append((text + byte, after))

    # ---- numbers ----

    def _number_ends(self, expr: Expression, text: bytes) -> Texts:
        """Texts that complete a JSON number, so that each value has one (or a few)."""
        mantissa, e, tail = text.replace(b"E", b"e").partition(b"e")
        if e:
            return self._exponents(mantissa, {expr: b""}, tail)
        plain = self.regexes.all_of((expr, self.regexes.complement(self._with_exponent)))
        key = (plain, b"." in text)
        if key not in self._plain_numbers:
            self._plain_numbers[key] = self._decimals(*key)
        ends = self._plain_numbers[key]
        if ends is None:
            return None
        exponential = self._mantissas(self.regexes.all_of((expr, self._with_exponent)), text)
        return None if exponential is None else ends | exponential

    def _decimals(self, expr: Expression, in_fraction: bool) -> Texts:
        """Without exponents. A number has one beginning of each length, so beginnings are counted."""
        found: set[bytes] = set()
        level = {} if self.regexes.is_empty(expr) else {b"": expr}
        while level:
            longer: dict[bytes, Expression] = {}
            for end, state in level.items():
                if (in_fraction or b"." in end) and self._is_within(state, self._more_than_zeros):
                    found.add(end + (self.regexes.shortest(state) or b""))
                    continue
                if self.regexes.nullable(state):
                    found.add(end)
                longer.update((end + byte, after) for byte, after in self._live(state))
            if max(len(longer), len(found)) > MOST_VALUES:
                return None
            level = longer
        return frozenset(found)

    def _mantissas(self, expr: Expression, text: bytes) -> Texts:
        """With exponents, from before the ``e``."""
        found: dict[Value, bytes] = {}
        level = {} if self.regexes.is_empty(expr) else {b"": expr}
        while level:
            longer: dict[bytes, Expression] = {}
            for end, state in level.items():
                starts = {end: state}
                if b"." in text + end and self._is_within(state, self._more_than_zeros_before_e):
                    starts = self._with_zeros(end, state)
                else:
                    longer.update((end + byte, after) for byte, after in self._live(state) if byte not in b"eE")
                after_e = {a: s + byte for s, state in starts.items() for byte, a in self._live(state) if byte in b"eE"}
                exponents = self._exponents(text + end, after_e, b"")
                if exponents is None:
                    return None
                found.update((value_of(text + whole), whole) for whole in exponents)
                if len(found) > MOST_VALUES:
                    return None
            if len(longer) > MOST_MANTISSAS:
                raise TooManyValues(f"more than {MOST_MANTISSAS} mantissas of one length after {text!r}")
            level = longer
        return frozenset(found.values())

    def _with_zeros(self, end: bytes, expr: Expression) -> dict[bytes, Expression]:
        """A mantissa that may go on with zeros only, in each of its states."""
        states = {expr: end}
        stack = [expr]
        while stack:
            state = stack.pop()
            for byte, after in self._live(state):
                if byte == b"0" and after not in states:
                    states[after] = states[state] + byte
                    stack.append(after)
        return {text: state for state, text in states.items()}

    def _exponents(self, mantissa: bytes, starts: Mapping[Expression, bytes], tail: bytes) -> Texts:
        """From inside the exponent, of which ``tail`` was read; the texts so far by the states that they lead to."""
        if not mantissa.strip(b"-0."):
            return frozenset(text + (self.regexes.shortest(state) or b"") for state, text in list(starts.items())[:1])
        found: dict[tuple[bytes, bytes], bytes] = {}
        seen: set[tuple[tuple[bytes, bytes], Expression]] = set()
        level = [(tail, state, text) for state, text in starts.items()]
        while level:
            longer: list[tuple[bytes, Expression, bytes]] = []
            while level:
                read, state, text = level.pop()
                exponent = _exponent(read)
                if (exponent, state) in seen:
                    continue
                seen.add((exponent, state))
                if self.regexes.nullable(state):
                    found.setdefault(exponent if exponent[1] else (b"", b""), text)
                for byte, after in self._live(state):
                    grown = len(_exponent(read + byte)[1]) > len(exponent[1])
                    (longer if grown else level).append((read + byte, after, text + byte))
            if max(len(found), len({_exponent(read) for read, _, _ in longer})) > MOST_VALUES:
                return None
            level = longer
        return frozenset(found.values())

    def _is_within(self, expr: Expression, outside: Expression) -> bool:
        return self.regexes.is_empty(self.regexes.all_of((expr, outside)))


def _exponent(tail: bytes) -> tuple[bytes, bytes]:
    """The minus sign, and the digits without leading zeros."""
    return tail[:1].strip(b"+0123456789"), tail.lstrip(b"+-").lstrip(b"0")


def _undone(text: bytes) -> bytes:
    """What was read of the present character of an unfinished JSON string."""
    at = 1
    for end in range(2, len(text) + 1):
        if _code_units(text[at:end]):
            at = end
    return text[at:]


def _code_units(text: bytes) -> tuple[int, ...]:
    """The UTF-16 code units of one character of a JSON string; none if it is not complete."""
    if not text:
        return ()
    if text[0] == BACKSLASH:
        if text[1:2] == b"u":
            return (int(text.removeprefix(b"\\u"), 16),) if len(text) == 6 else ()
        return tuple(_ESCAPED[byte] for byte in text[1:])
    if len(text) < 1 + sum(text[0] >= first for first in (0xC0, 0xE0, 0xF0)):
        return ()
    units = text.decode().encode("utf-16-be")
    return tuple(units[i] << 8 | units[i + 1] for i in range(0, len(units), 2))
