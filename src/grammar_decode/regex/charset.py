"""Sets of Unicode scalar values, and the byte-level regular expressions that spell one member of such a set.

A scalar value is a code point without the surrogates D800..DFFF: JSON text that holds a lone surrogate is never
generated, so no set contains one. All operations work on ranges; none looks at single code points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import RegexId

MAX_CODE_POINT = 0x10FFFF
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Charset:
    """A set of scalar values. ``ranges`` is sorted; ranges are disjoint, not adjacent, and hold no surrogate."""

    ranges: tuple[Range, ...]

    @staticmethod
    def of(*ranges: Range) -> Charset:
        """The set of the ranges ``(first, last)``, in any order, overlapping or not; surrogates are left out."""
        return Charset(_normal(ranges))

    @staticmethod
    def from_chars(chars: Iterable[str]) -> Charset:
        """The set of the characters of a string."""
        return Charset(_normal([(ord(c), ord(c)) for c in chars]))

    def contains(self, code_point: int) -> bool:
        """Whether the code point is in the set. Linear in the number of ranges."""
        return any(first <= code_point <= last for first, last in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def union(self, *others: Charset) -> Charset:
        """The members of any of the sets."""
        return Charset(_normal([r for cs in (self, *others) for r in cs.ranges]))

    def intersection(self, other: Charset) -> Charset:
        """The members of both sets."""
        mine, theirs = self.ranges, other.ranges
        out: list[Range] = []
        i = j = 0
        while i < len(mine) and j < len(theirs):
            first, last = max(mine[i][0], theirs[j][0]), min(mine[i][1], theirs[j][1])
            if first <= last:
                out.append((first, last))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return Charset(tuple(out))

    def complement(self) -> Charset:
        """Every scalar value that is not in the set."""
        out: list[Range] = []
        start = 0
        for first, last in self.ranges:
            if start < first:
                out.append((start, first - 1))
            start = last + 1
        if start <= MAX_CODE_POINT:
            out.append((start, MAX_CODE_POINT))
        return Charset(_normal(out))

    def difference(self, other: Charset) -> Charset:
        """The members of this set that are not in the other."""
        return self.intersection(other.complement())

    def is_subset(self, other: Charset) -> bool:
        """Whether the other set holds every member of this one."""
        return self.intersection(other) == self

    def is_disjoint(self, other: Charset) -> bool:
        """Whether no member is common."""
        return not self.intersection(other).ranges


def _normal(ranges: Iterable[Range]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if first > last:
            continue
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    if not merged or merged[-1][1] < 0xD800:
        return tuple(merged)
    out: list[Range] = []
    for first, last in merged:
        if first < 0xD800:
            out.append((first, min(last, 0xD7FF)))
        if last > 0xDFFF:
            out.append((max(first, 0xE000), last))
    return tuple(out)


NONE = Charset(())
ALL = NONE.complement()
#: ECMA-262, CharacterClassEscape d, w and s (WhiteSpace and LineTerminator; both include U+FEFF or Zs members).
DIGIT = Charset.of((0x30, 0x39))
WORD = Charset.of((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
LINE_TERMINATOR = Charset.from_chars("\n\r\u2028\u2029")
SPACE = Charset.of((0x09, 0x0D), (0x2000, 0x200A)).union(
    Charset.from_chars(" \u00a0\u1680\u202f\u205f\u3000\ufeff"), LINE_TERMINATOR
)
#: ECMA-262, the atom `.` without the `s` flag.
DOT = LINE_TERMINATOR.complement()


# ---- numbers as digit strings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Digit:
    """One place of a positional notation over bytes.

    ``bits`` is the width of the digit; digit v is written as a byte out of ``masks[v]`` (disjoint for different v),
    after one byte out of each mask in ``prefix``.
    """

    bits: int
    masks: tuple[int, ...]
    prefix: tuple[int, ...] = ()


def positional(builder: Builder, ranges: Sequence[Range], digits: tuple[Digit, ...]) -> RegexId:
    """The numbers of ``ranges`` (sorted, disjoint, not adjacent), written in the given digits, most significant first.

    Digits with equal remainders share one node, so the result is small where the ranges are aligned. At every place
    the alternatives start with disjoint bytes.
    """
    return _positional(builder, tuple(ranges), digits, 0, sum(d.bits for d in digits), {})


def _positional(
    builder: Builder,
    ranges: tuple[Range, ...],
    digits: tuple[Digit, ...],
    place: int,
    total_bits: int,
    memo: dict[tuple[int, tuple[Range, ...]], RegexId],
) -> RegexId:
    known = memo.get((place, ranges))
    if known is not None:
        return known
    digit = digits[place]
    width = total_bits - digit.bits
    groups = _group_by_remainder(ranges, digit, width)
    prefix = [builder.byte_class(mask) for mask in digit.prefix]
    parts = []
    for rest, mask in groups.items():
        part = [*prefix, builder.byte_class(mask)]
        if width:
            part.append(_positional(builder, rest, digits, place + 1, width, memo))
        parts.append(builder.concat(*part))
    memo[place, ranges] = result = builder.alternate(*parts)
    return result


def _group_by_remainder(ranges: tuple[Range, ...], digit: Digit, width: int) -> dict[tuple[Range, ...], int]:
    """For each set of remainders, the bytes of the leading digits that are followed by exactly that set."""
    top = (1 << width) - 1
    masks = digit.masks
    rests: dict[int, list[Range]] = {}
    whole = 0
    for first, last in ranges:
        high_first, high_last = first >> width, last >> width
        if high_first == high_last:
            rests.setdefault(high_first, []).append((first & top, last & top))
            continue
        rests.setdefault(high_first, []).append((first & top, top))
        rests.setdefault(high_last, []).append((0, last & top))
        for value in range(high_first + 1, high_last):
            whole |= masks[value]
    full = ((0, top),)
    groups: dict[tuple[Range, ...], int] = {full: whole} if whole else {}
    for value, rest in rests.items():
        key = tuple(rest)
        groups[key] = groups.get(key, 0) | masks[value]
    return groups


def _utf8_digits(lead: int, lead_bits: int, continuation_bytes: int) -> tuple[Digit, ...]:
    first = Digit(lead_bits, tuple(1 << (lead + v) for v in range(1 << lead_bits)))
    return (first, *[Digit(6, tuple(1 << (0x80 + v) for v in range(64)))] * continuation_bytes)


_UTF8: tuple[tuple[Charset, tuple[Digit, ...]], ...] = (
    (Charset.of((0, 0x7F)), _utf8_digits(0x00, 7, 0)),
    (Charset.of((0x80, 0x7FF)), _utf8_digits(0xC0, 5, 1)),
    (Charset.of((0x800, 0xFFFF)), _utf8_digits(0xE0, 4, 2)),
    (Charset.of((0x10000, MAX_CODE_POINT)), _utf8_digits(0xF0, 3, 3)),
)


def utf8(builder: Builder, charset: Charset) -> RegexId:
    """One member of the set in UTF-8 (RFC 3629), never overlong. The empty set is the empty language."""
    parts = []
    for block, digits in _UTF8:
        ranges = charset.intersection(block).ranges
        if ranges:
            parts.append(positional(builder, ranges, digits))
    return builder.alternate(*parts)
