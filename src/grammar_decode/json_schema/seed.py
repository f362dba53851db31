"""What nearly every grammar needs, built once in a process: the languages of free strings, keys, numbers, integers.

A compilation starts from a copy of the builder that holds them. The result does not depend on what was compiled before.
"""

from __future__ import annotations

from functools import lru_cache

from grammar_decode.ir.build import Builder
from grammar_decode.ir.encode import NOTHING, Beginning
from grammar_decode.ir.nodes import RegexId, Spacing
from grammar_decode.json_schema.numbers import Numerals
from grammar_decode.json_schema.spelling import Spelling
from grammar_decode.regex.charset import ALL


class Seed:
    """A builder, and the spellings and numerals that write into it. ``keys`` spells keys: a name is one byte string.

    ``free`` spells strings of which at most the length is bounded, ``exact`` all others. ``beginning`` is the encoded
    form of what is in the builder from the start.
    """

    def __init__(
        self, builder: Builder, canonical: Spelling, every: Spelling, numerals: Numerals, escapes: str
    ) -> None:
        self.builder = builder
        self.canonical = canonical
        self.every = every
        self.numerals = numerals
        self.escapes = escapes
        self.free = canonical if escapes == "canonical" else every
        self.exact = every if escapes == "any" else canonical
        self.keys = canonical
        self.beginning = NOTHING

    @classmethod
    def planted(cls, escapes: str, numbers: str, spacing: Spacing) -> Seed:
        """A copy to write into."""
        original = _original(escapes, numbers)
        builder = Builder(spacing, original.builder)
        spellings = original.canonical.copied(builder), original.every.copied(builder)
        seed = cls(builder, *spellings, original.numerals.copied(builder), escapes)
        seed.beginning = original.beginning
        return seed

    def named(self) -> dict[str, RegexId]:
        """The languages that are there from the start, by name."""
        builder = self.builder
        quote = builder.byte_class(1 << 0x22)
        named = {
            "empty": builder.empty,
            "null": builder.literal(b"null"),
            "booleans": builder.literals((b"false", b"true")),
            "numbers": self.numerals.numbers,
            "integers": self.numerals.integers,
            "strings": builder.concat(quote, builder.repeat(self.free.charset(ALL), 0, None), quote),
            "quote": quote,
            "every_key": builder.repeat(self.keys.charset(ALL), 0, None),
        }
        assert len(builder.regexes) == self.beginning.num_regexes, "all of them are"
        return named


@lru_cache(maxsize=16)
def _original(escapes: str, numbers: str) -> Seed:
    builder = Builder()
    canonical, every = Spelling(builder, "canonical"), Spelling(builder, "any")
    numerals = Numerals(builder, "any" if numbers == "any" else "canonical")
    seed = Seed(builder, canonical, every, numerals, escapes)
    quote = builder.byte_class(1 << 0x22)
    builder.concat(quote, builder.repeat(seed.free.charset(ALL), 0, None), quote)
    builder.repeat(seed.keys.charset(ALL), 0, None)
    builder.literals((b"false", b"true"))
    builder.literal(b"null")
    builder.alternate(numerals.numbers, numerals.integers)
    seed.beginning = Beginning.of(builder.regexes)
    return seed
