"""What nearly every grammar needs, built once in a process: the languages of free strings, keys, numbers, integers.

A compilation starts from a copy of the builder that holds them. The result does not depend on what was compiled before.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any, TypeVar

from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import Spacing
from grammar_decode.json_schema.numbers import Numerals
from grammar_decode.json_schema.spelling import Spelling
from grammar_decode.regex.charset import ALL

T = TypeVar("T")


class Seed:
    """A builder, and the spellings and numerals that write into it. ``keys`` spells keys: a name is one byte string.

    ``free`` spells strings of which at most the length is bounded, ``exact`` all others.
    """

    def __init__(self, escapes: str, numbers: str) -> None:
        self.builder = Builder()
        canonical, every = Spelling(self.builder, "canonical"), Spelling(self.builder, "any")
        self.free = canonical if escapes == "canonical" else every
        self.exact = every if escapes == "any" else canonical
        self.keys = canonical
        self.numerals = Numerals(self.builder, "any" if numbers == "any" else "canonical")
        quote = self.builder.byte_class(1 << 0x22)
        self.builder.concat(quote, self.builder.repeat(self.free.charset(ALL), 0, None), quote)
        self.builder.repeat(self.keys.charset(ALL), 0, None)
        self.builder.literals((b"false", b"true"))
        self.builder.literal(b"null")
        self.builder.alternate(self.numerals.numbers, self.numerals.integers)

    @classmethod
    def planted(cls, escapes: str, numbers: str, spacing: Spacing) -> Seed:
        """A copy to write into."""
        original = _original(escapes, numbers)
        seed = copy.copy(original)
        copies: dict[int, Any] = {}
        seed.builder = _copied(original.builder, copies)
        seed.builder.spacing = spacing
        seed.free = _copied(original.free, copies)
        seed.exact = _copied(original.exact, copies)
        seed.keys = _copied(original.keys, copies)
        seed.numerals = _copied(original.numerals, copies)
        return seed


@lru_cache(maxsize=16)
def _original(escapes: str, numbers: str) -> Seed:
    return Seed(escapes, numbers)


def _copied(original: T, copies: dict[int, Any]) -> T:
    """A copy whose tables are its own; objects of this package inside it are copied too, each once."""
    known: T | None = copies.get(id(original))
    if known is not None:
        return known
    clone = copies[id(original)] = copy.copy(original)
    for name, value in vars(original).items():
        if isinstance(value, (dict, list)):
            setattr(clone, name, value.copy())
        elif hasattr(value, "__dict__") and type(value).__module__.startswith("grammar_decode."):
            setattr(clone, name, _copied(value, copies))
    return clone
