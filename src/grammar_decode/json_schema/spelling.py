r"""How the characters of a string are written inside the quotes of a JSON text (RFC 8259, section 7).

Two modes. ``canonical``: one spelling a character, an escape only where JSON needs one (``\"``, ``\\``, ``\b``, ``\f``,
``\n``, ``\r``, ``\t``, ``\u00xx`` in lower case for the other controls), all else raw UTF-8: what
``json.dumps(text, ensure_ascii=False)`` writes. ``any``: every spelling that RFC 8259 allows, with hexadecimal
digits of either case, ``\/``, and surrogate pairs beyond the Basic Multilingual Plane. A lone surrogate is never
written. In both modes the spellings of all characters form a prefix code, which is what lets
:mod:`grammar_decode.regex` intersect and complement spelled languages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import Regex, RegexId
from grammar_decode.limits import remembered
from grammar_decode.regex.charset import ALL, MAX_CODE_POINT, Charset, Digit, positional, utf8

Mode: TypeAlias = Literal["canonical", "any"]

_SHORT = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
_SHORT_ANY = {**_SHORT, 0x2F: "/"}
_CONTROLS = Charset.of((0, 0x1F))
_MUST_ESCAPE = _CONTROLS.union(Charset.from_chars('"\\'))
_RAW = _MUST_ESCAPE.complement()
_BMP = Charset.of((0, 0xFFFF))
_ASTRAL = Charset.of((0x10000, MAX_CODE_POINT))


def _bytes_of(text: str) -> int:
    return sum(1 << ord(c) for c in set(text))


_HEX = "0123456789abcdef"
_LOWER = tuple(_bytes_of(c) for c in _HEX)
_EITHER = tuple(_bytes_of(c + c.upper()) for c in _HEX)
_ZERO, _D = _bytes_of("0"), _bytes_of("dD")
#: After \u: a control character; a character of the BMP; a pair: D8..DB, 8 bits of hex, \uDC..DF, 8 bits of hex.
_CONTROL_DIGITS = (Digit(4, _LOWER, (_ZERO, _ZERO)), Digit(4, _LOWER))
_BMP_DIGITS = (Digit(4, _EITHER),) * 4
_PAIR_DIGITS = (
    Digit(2, _EITHER[8:12], (_D,)),
    Digit(4, _EITHER),
    Digit(4, _EITHER),
    Digit(2, _EITHER[12:16], (_bytes_of("\\"), _bytes_of("u"), _D)),
    Digit(4, _EITHER),
    Digit(4, _EITHER),
)


#: Texts that are written as they are.
_PLAIN = re.compile(r"[ !#-\[\]-~]*").fullmatch


def canonical_bytes(text: str) -> bytes:
    """The canonical spelling of a string, without quotes. Raises ValueError for a lone surrogate."""
    if _PLAIN(text):
        return text.encode("ascii")
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8")


class Spelling:
    """Spells sets of characters and strings as regular expressions of one builder. Not shared between threads.

    Everything is remembered, so equal questions cost a look-up.
    """

    def __init__(self, builder: Builder, mode: Mode) -> None:
        if mode not in ("canonical", "any"):
            raise ValueError(f"the mode of spelling is 'canonical' or 'any', not {mode!r}")
        self.builder = builder
        self.mode: Mode = mode
        self._charsets: dict[Charset, RegexId] = {}
        self._chars: dict[str, RegexId] = {}

    def copied(self, builder: Builder) -> Spelling:
        """The same for a copy of the builder."""
        clone = Spelling(builder, self.mode)
        clone._charsets = self._charsets.copy()
        clone._chars = self._chars.copy()
        return clone

    @property
    def any_text(self) -> RegexId:
        """Every string."""
        return self.builder.repeat(self.charset(ALL), 0, None)

    def charset(self, charset: Charset) -> RegexId:
        """One character of the set. The alternatives start with disjoint bytes."""
        known = self._charsets.get(charset)
        if known is None:
            known = self._charsets[charset] = self.builder.put(_program(self.mode, charset))
        return known

    def text(self, text: str) -> RegexId:
        """One string, in every spelling of the mode. Raises ValueError for a lone surrogate."""
        if self.mode == "canonical":
            return self.builder.literal(canonical_bytes(text))
        text.encode("utf-8")
        return self.builder.concat(*[self._char(c) for c in text])

    def texts(self, texts: Iterable[str]) -> RegexId:
        """One of the strings, in every spelling; no string is the empty language."""
        if self.mode == "canonical":
            return self.builder.literals([canonical_bytes(t) for t in texts])
        return self._prefix_tree(sorted(set(texts)))

    def _char(self, char: str) -> RegexId:
        known = self._chars.get(char)
        if known is None:
            self._chars[char] = known = self.charset(Charset.from_chars(char))
        return known

    def _prefix_tree(self, texts: list[str]) -> RegexId:
        """The union of sorted, distinct strings with common prefixes written once; no recursion."""
        # Open branching points from the root down: their depth, and the languages that follow there.
        branches: list[tuple[int, list[RegexId]]] = [(0, [])]
        last = ""
        for text in [*texts, ""]:
            common = _common_prefix(last, text) if text else 0
            while branches[-1][0] > common:
                depth, ways = branches.pop()
                if branches[-1][0] < common:
                    branches.append((common, []))
                above, siblings = branches[-1]
                edge = self.text(last[above:depth])
                siblings.append(self.builder.concat(edge, self.builder.alternate(*ways)))
            if len(text) > branches[-1][0]:
                branches.append((len(text), [self.builder.epsilon]))
            last = text
        if texts and texts[0] == "":
            branches[0][1].append(self.builder.epsilon)
        return self.builder.alternate(*branches[0][1])


def _common_prefix(one: str, other: str) -> int:
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    return next(i for i in range(limit) if one[i] != other[i])


# ---- one set of characters ------------------------------------------------------------------------------------------


@remembered(4096)
def _program(mode: Mode, charset: Charset) -> tuple[Regex, ...]:
    """The nodes that spell the set, for Builder.put.

    The work on ranges is done once in a process and not once for each grammar.
    """
    builder = Builder()
    root = _canonical(builder, charset) if mode == "canonical" else _any(builder, charset)
    return builder.take(root)


def _canonical(builder: Builder, charset: Charset) -> RegexId:
    parts = [utf8(builder, charset.intersection(_RAW))]
    escaped = charset.intersection(_MUST_ESCAPE)
    if escaped:
        short = [c for c in _SHORT if escaped.contains(c)]
        ways = [_letters(builder, short, _SHORT)]
        numbered = escaped.difference(Charset.of(*[(c, c) for c in _SHORT]))
        if numbered:
            digits = positional(builder, numbered.ranges, _CONTROL_DIGITS)
            ways.append(builder.concat(builder.byte_class(_bytes_of("u")), digits))
        parts.append(_after_backslash(builder, ways))
    return builder.alternate(*parts)


def _any(builder: Builder, charset: Charset) -> RegexId:
    if not charset:
        return builder.empty
    raw = utf8(builder, charset.intersection(_RAW))
    numbered = []
    basic, astral = charset.intersection(_BMP), charset.intersection(_ASTRAL)
    if basic:
        numbered.append(positional(builder, basic.ranges, _BMP_DIGITS))
    if astral:
        offsets = [(first - 0x10000, last - 0x10000) for first, last in astral.ranges]
        numbered.append(positional(builder, offsets, _PAIR_DIGITS))
    u = builder.byte_class(_bytes_of("u"))
    ways = [
        _letters(builder, [c for c in _SHORT_ANY if charset.contains(c)], _SHORT_ANY),
        builder.concat(u, builder.alternate(*numbered)),
    ]
    return builder.alternate(raw, _after_backslash(builder, ways))


def _letters(builder: Builder, code_points: list[int], letters: dict[int, str]) -> RegexId:
    return builder.byte_class(_bytes_of("".join(letters[c] for c in code_points)))


def _after_backslash(builder: Builder, ways: list[RegexId]) -> RegexId:
    return builder.concat(builder.byte_class(_bytes_of("\\")), builder.alternate(*ways))
