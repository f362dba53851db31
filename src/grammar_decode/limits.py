"""Every cap on the work that a schema can cause: name, unit, default, reason.

Passing one raises :class:`~grammar_decode.errors.SchemaTooComplex`, which names it; a limit never changes the language.
The kernel's own copy of the defaults (cpp/core/limits.h) is for those who use it without this package.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from grammar_decode.errors import GrammarDecodeError, SchemaTooComplex

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """The defaults take every schema of the public benchmarks; raise one where your schemas are trusted."""

    #: Bytes of a schema given as text; of one given as a value, bytes of its pickle. Reading is linear in it.
    max_schema_bytes: int = 16 << 20
    #: Schemas inside each other that speak of one value, and nested groups of a pattern: keeps recursion off the stack.
    max_depth: int = 200
    #: Schemas (and parts of a constant) that stand inside each other at all: the time to name a place grows with it.
    max_nesting: int = 1_500
    #: Branches of one `anyOf`, `oneOf` or `allOf`: those of `oneOf` are compared in pairs.
    max_alternatives: int = 10_000
    #: Values of one `enum`: bounds the memory of their texts.
    max_enum: int = 200_000
    #: Characters of one pattern: reading it is linear, and each of them may become a state.
    max_pattern: int = 100_000
    #: Value nodes of one grammar: bounds memory and the time of the emptiness fixpoint.
    max_nodes: int = 200_000
    #: Claim sets that one key or item class may have (`anyOf` branches that meet on one property).
    max_picks: int = 512
    #: Claims and connectives of the formula of one object or array.
    max_formula: int = 4_096
    #: Regular expressions of one grammar, every part counted: bounds the memory of patterns, counts and numbers.
    max_regex: int = 1_000_000
    #: Lazily built automaton states of one grammar and vocabulary.
    max_states: int = 500_000
    #: Steps of one search for a way to finish an object or array whose alternatives depend on each other.
    max_search: int = 200_000
    #: Threads of one configuration: the ways in which the text so far can be read at once. Each costs time in a mask.
    max_threads: int = 10_000
    #: Objects and arrays inside each other in a document that is being written. Parsers give up far earlier.
    max_document_depth: int = 10_000
    #: Bytes of the automaton of one grammar and vocabulary. New sequences begin with a fresh one long before.
    max_memory_bytes: int = 256 << 20
    #: Seconds of processor time for compiling, in Python and in the kernel: what no count bounds well. The schemas of
    #: the public benchmarks take milliseconds.
    max_compile_seconds: float = 1.5
    #: Seconds of processor time for one mask or one accepted token. Most masks take microseconds.
    max_mask_seconds: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, most = getattr(self, field.name), _LARGEST.get(field.name, 2**53)
            seconds = isinstance(value, float) and field.name.endswith("_seconds")
            if not (type(value) is int or seconds) or not 0 < value <= most:
                raise GrammarDecodeError(
                    f"the limit {field.name}={value!r} must be a {'number' if seconds else 'whole number'} above 0, "
                    f"at most {most}"
                )


# What the kernel counts in 32 bits.
_LARGEST = {"max_states": 2**31, "max_document_depth": 2**31}


class Work:
    """The time of one compilation. ``tick`` is called wherever work is done that a schema can multiply."""

    __slots__ = ("_begun", "_left", "limits")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._begun = time.thread_time()
        self._left = _STEPS_BETWEEN_LOOKS

    def tick(self, steps: int = 1) -> None:
        """So many steps, of about a microsecond, come next. Raises SchemaTooComplex once the time is over."""
        self._left -= steps + _STEPS_OF_CALL
        if self._left < 0:
            self.look()

    def regexes(self, count: int) -> None:
        """The builder has so many regular expressions."""
        if count > self.limits.max_regex:
            raise SchemaTooComplex(
                f"the patterns, numbers and texts need more than {self.limits.max_regex} regular expressions",
                limit="max_regex",
                needed=count,
            )
        self.tick(_STEPS_OF_REGEXES)

    def look(self) -> None:
        """Raise SchemaTooComplex if the time is over."""
        self._left = _STEPS_BETWEEN_LOOKS
        if self.seconds_left() < 0:
            raise self.too_long()

    def too_long(self) -> SchemaTooComplex:
        """The error for a time that is over."""
        return SchemaTooComplex(
            f"compiling takes more than {self.limits.max_compile_seconds:g} seconds of processor time",
            limit="max_compile_seconds",
        )

    def seconds_left(self) -> float:
        """Negative once the time is over."""
        return self.limits.max_compile_seconds - (time.thread_time() - self._begun)


_STEPS_BETWEEN_LOOKS = 5_000
_STEPS_OF_CALL = 100  # there are steps that take a millisecond
_STEPS_OF_REGEXES = 1_000  # 256 of them


# Answers to long questions that :func:`remembered` keeps, and what is long: characters of texts, ranges of sets.
FEW = 4
LONG = 1_000


def remembered(entries: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Like ``lru_cache(entries)``, for functions of what schemas say, which live as long as the process.

    Of long questions only a few are kept: a thousand patterns of a hundred thousand characters would be gigabytes.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        short: Callable[..., T] = lru_cache(entries)(function)
        long: Callable[..., T] = lru_cache(FEW)(function)

        @wraps(function)
        def ask(*args: P.args, **kwargs: P.kwargs) -> T:
            for value in args:
                if _length(value) > LONG:
                    return long(*args, **kwargs)
            return short(*args, **kwargs)

        return ask

    return decorate


def _length(value: Any) -> int:
    return len(value if isinstance(value, str) else getattr(value, "ranges", ()))
