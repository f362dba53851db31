"""Host names with letters beyond ASCII: a regular, sound part of IDNA 2008.

RFC 5890 (terms), 5891 (protocol), 5892 (code points), 5893 (bidirectional names). A U-label is in normal form C, has at
most 63 octets as an A-label, and some characters need certain others beside them. Here only those are written that are
valid in any context and never combine with the one before, marks that could be reordered one at a time, and labels that
are short enough for every A-label. The tables come from :mod:`unicodedata`, at the first use (a quarter of a second).
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple

from grammar_decode.regex.charset import Charset

#: Characters of a label that is not ASCII. At most 54 octets as an A-label, found by search, so 63 is never near.
MAX_LETTERS = 12
#: Labels of a name; those of ASCII are at most 59 octets long, so a name is never longer than 253.
MAX_LABELS = 4
MAX_ASCII = 59

# Assigned and PVALID as a whole, or close to it; the rest of planes 0 to 2 is walked one by one.
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x20000, 0x323AF))
# RFC 5892, 2.6 (exceptions), 2.2 to 2.9: what is not decided by the general category and stability.
_ALLOWED = (0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007)
_REFUSED = Charset.of(
    *((0x640, 0x640), (0x7FA, 0x7FA), (0x302E, 0x302F), (0x3031, 0x3035), (0x303B, 0x303B)),
    *((0x660, 0x669), (0x6F0, 0x6F9), (0x375, 0x375), (0x5F3, 0x5F4), (0x30FB, 0x30FB)),  # need a context
    *((0x34F, 0x34F), (0x17B4, 0x17B5), (0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF)),  # ignorable
    *((0x115F, 0x1160), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),
    *((0x20D0, 0x20FF), (0x1D100, 0x1D1FF), (0x1D200, 0x1D24F)),  # ignorable blocks
    *((0x1100, 0x11FF), (0xA960, 0xA97F), (0xD7B0, 0xD7FF)),  # Old Hangul jamo
)


class _Letters(NamedTuple):
    """PVALID characters beyond ASCII: by direction, and marks by whether they can be reordered."""

    left_to_right: Charset
    right_to_left: Charset
    marks: Charset
    nonspacing_marks: Charset
    reordered_marks: Charset


def _charset(code_points: list[int]) -> Charset:
    return Charset.of(*[(c, c) for c in code_points])


@lru_cache(maxsize=1)
def _letters() -> _Letters:
    composing = _composing()
    left, right, marks, nonspacing, reordered = [], [], [], [], []
    for c in _candidates():
        char = chr(c)
        category = unicodedata.category(char)
        if category not in ("Ll", "Lo", "Lm", "Mn", "Mc", "Nd") and c not in _ALLOWED:
            continue
        if c in composing or _REFUSED.contains(c) or (c not in _ALLOWED and not _is_stable(char)):
            continue
        direction = unicodedata.bidirectional(char)
        if category in ("Mn", "Mc"):
            if unicodedata.combining(char):
                if direction == "NSM":
                    reordered.append(c)
            elif direction in ("L", "NSM"):
                marks.append(c)
                if direction == "NSM":
                    nonspacing.append(c)
        elif direction == "L":
            left.append(c)
        elif direction in ("R", "AL"):
            right.append(c)
    blocks = Charset.of(*_IDEOGRAPHS).intersection(_assigned())
    return _Letters(_charset(left).union(blocks), *map(_charset, (right, marks, nonspacing, reordered)))


def _candidates() -> list[int]:
    skipped = Charset.of(*_IDEOGRAPHS)
    spans = Charset.of((0x80, 0x323AF)).difference(skipped).ranges
    return [c for first, last in spans for c in range(first, last + 1)]


def _assigned() -> Charset:
    """The assigned characters of the ideographic blocks."""
    found = []
    for first, last in _IDEOGRAPHS:
        found += [c for c in range(first, last + 1) if unicodedata.category(chr(c)) == "Lo"]
    return _charset([c for c in found if not unicodedata.decomposition(chr(c))])


def _is_stable(char: str) -> bool:
    """RFC 5892, section 2.2, and normal form C."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    return folded == char


@lru_cache(maxsize=1)
def _composing() -> frozenset[int]:
    """The characters that may combine with the one before them (NFC_Quick_Check is Maybe)."""
    found: set[int] = set()
    for c in _candidates():
        decomposed = unicodedata.decomposition(chr(c))
        if decomposed and decomposed[0] != "<":
            found.update(int(part, 16) for part in decomposed.split()[1:])
    return frozenset(found)


def _members(charset: Charset) -> str:
    """The set as the members of a character class."""
    return "".join(rf"\u{{{first:X}}}-\u{{{last:X}}}" for first, last in charset.ranges)


def host_name_pattern() -> str:
    """Names of NR-LDH labels and U-labels, as RFC 5890, section 2.3.2.3, has them. Dots: RFC 3490, section 3.1."""
    found = _letters()
    dot = r"[.\u{3002}\u{FF0E}\u{FF61}]"
    no_dot = r"[^.\u{3002}\u{FF0E}\u{FF61}]"
    marks, reordered = _members(found.marks), _members(found.reordered_marks)
    nonspacing = _members(found.nonspacing_marks)

    def u_label(letters: str, marks: str) -> str:
        """Starters with their marks, single hyphens between them."""
        cluster = rf"(?:[{letters}](?:[{reordered}]?[{marks}])*[{reordered}]?)+"
        return rf"(?={no_dot}{{1,{MAX_LETTERS}}}(?:{dot}|$)){cluster}(?:-{cluster})*"

    left = rf"(?:{u_label('a-z0-9' + _members(found.left_to_right), marks)}|{_ascii_label(MAX_ASCII)})"
    # RFC 5893, section 2: with a label from right to left in the name, no label begins with a digit.
    letters = _members(found.right_to_left)
    right = rf"(?:(?=[{letters}]){u_label('0-9' + letters, nonspacing)}|(?=[A-Za-z]){_ascii_label(MAX_ASCII)})"
    return "|".join(rf"{label}(?:{dot}{label}){{0,{MAX_LABELS - 1}}}" for label in (left, right))


def _ascii_label(length: int) -> str:
    """A label of letters, digits and inner hyphens; the third and fourth are not both hyphens (RFC 5890, 2.3.1)."""
    end, inner = "[A-Za-z0-9]", "[A-Za-z0-9-]"
    return rf"{end}(?:{inner}{{0,2}}{end}|{inner}(?:{end}{inner}|-{end}){inner}{{0,{length - 5}}}{end})?"


@lru_cache(maxsize=2)
def letters_pattern(*, first: bool) -> str:
    """A character of a label without IDNA: ASCII letters and digits, and letters, digits, and marks beyond them.

    The first character of a label is no mark.
    """
    return r"[A-Za-z0-9\p{L}\p{Nd}]" if first else r"[A-Za-z0-9\p{L}\p{Nd}\p{M}]"
