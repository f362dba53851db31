"""What a pattern says in ECMA-262 that its author, used to another dialect, may have meant otherwise.

JSON Schema asks for ECMA-262 (core specification, 6.4), and so a pattern is read. Some of what Python and PCRE know is
valid there, too, and means something else: the letter A where the beginning of the text was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MEANT = {
    "A": "the beginning of the text",
    "Z": "the end of the text",
    "z": "the end of the text",
    "G": "where the last match ended",
    "a": "the bell character",
    "h": "a blank or a tab",
    "H": "all but a blank or a tab",
    "e": "the escape character",
    "R": "the end of a line",
    "X": "a grapheme",
    "Q": "the beginning of a literal text",
    "E": "the end of a literal text",
}
_WRITTEN = {"A": "^", "Z": "$", "z": "$", "a": r"\x07", "h": r"[ \t]", "H": r"[^ \t]", "e": r"\x1b"}

_PIECE = re.compile(r"\\(?P<escaped>.)|(?P<posix>\[:\^?[a-z]+:\])|(?P<upto>\{,[0-9]+\})|\[\^?|\]", re.DOTALL)


def other_dialects(pattern: str) -> Iterator[str]:
    """Notes about the parts of a valid pattern that other dialects read otherwise.

    >>> list(other_dialects(r"\\A[0-9]{,3}"))
    ['\\\\A is the letter A, not the beginning of the text (^)', '{,3} is these characters, not a quantifier ({0,3})']
    """
    in_class = False
    for piece in _PIECE.finditer(pattern):
        escaped, text = piece["escaped"], piece.group()
        if escaped is not None:
            if escaped in _MEANT and not (in_class and escaped in "AZzGRX"):
                instead = f" ({_WRITTEN[escaped]})" if escaped in _WRITTEN else ""
                yield f"{text} is the letter {escaped}, not {_MEANT[escaped]}{instead}"
        elif piece["posix"] is not None:
            if in_class:
                yield f"{text} is these characters, not a class of POSIX"
        elif piece["upto"] is not None:
            if not in_class:
                yield f"{text} is these characters, not a quantifier ({{0{text[1:]})"
        else:
            in_class = text != "]"
