"""The exception tree.

    GrammarDecodeError (ValueError)
    ├── SchemaError              not JSON, or not a JSON Schema: wrong keyword value, unresolvable $ref
    │   ├── UnsupportedSchema    a valid schema that uses a keyword (or part of one) that is not enforced
    │   ├── UnsatisfiableSchema  a valid schema that no document satisfies
    │   └── SchemaTooComplex     a work limit was passed; the limit refuses, it never changes the language
    ├── PatternError             not a regular expression of ECMA-262, or outside what is supported
    ├── VocabularyError          a vocabulary that can't be used
    ├── MatcherError             a call that a matcher can't take: token id out of range, rollback too far
    ├── BitmaskError             a bitmask or logits array of the wrong shape, type, or device
    ├── SerializationError       Grammar.from_bytes on data that is not a grammar of this version
    ├── ModelError               a language model can't be loaded, or can't take a call
    └── GenerationError          generate() caught its own mask in a contradiction: a bug of this package

A token that the grammar does not allow is not an error: ``accept_token`` returns False, and the state is unchanged.
"""

from __future__ import annotations

from typing import Any


class GrammarDecodeError(ValueError):
    """Base of every error that this package raises on purpose. All of them pickle, for pools of processes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(cls: type[GrammarDecodeError], args: tuple[Any, ...], fields: dict[str, Any]) -> GrammarDecodeError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class SchemaError(GrammarDecodeError):
    """The schema can't be compiled.

    ``location`` is the JSON pointer of the offending place, as a URI fragment (``#/properties/a``), or None where
    the text is not JSON at all. ``hint`` says what to change. Both are part of ``str(error)``.
    """

    def __init__(self, message: str, *, location: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.location = location
        self.hint = hint
        where = f"{location}: " if location is not None else ""
        stop = "" if message.endswith(".") else "."
        then = f"{stop} {hint}" if hint else ""
        super().__init__(f"{where}{message}{then}")


class UnsupportedSchema(SchemaError):
    """A valid schema with a keyword, or a part of one, that grammar-decode can't enforce."""


class UnsatisfiableSchema(SchemaError):
    """A valid schema that no JSON document satisfies; the message contains the word "unsatisfiable"."""


class SchemaTooComplex(SchemaError):
    """A work limit was passed, while compiling or later; ``limit`` is the name of the field of ``Limits``.

    ``needed`` is how much would have been needed, where that is known. ``node`` is the node of the grammar that was
    worked on, where the kernel knows it.
    """

    node: int | None = None

    def __init__(
        self,
        message: str,
        *,
        limit: str,
        needed: int | None = None,
        location: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.limit = limit
        self.needed = needed
        hint = hint or f"Simplify the schema, or raise Limits.{limit} if you trust it."
        super().__init__(message, location=location, hint=hint)

    def at(self, location: str) -> SchemaTooComplex:
        """The same error with a location, where it has none."""
        if self.location is not None:
            return self
        return SchemaTooComplex(self.message, limit=self.limit, needed=self.needed, location=location, hint=self.hint)


class PatternError(GrammarDecodeError):
    """A pattern is not a regular expression of ECMA-262, or uses a part that is not supported.

    ``offset`` is the position in the pattern, in UTF-16-independent Python characters; ``unsupported`` tells a valid
    but unsupported construct (a backreference) from a mistake.
    """

    def __init__(self, message: str, *, pattern: str, offset: int, unsupported: bool = False) -> None:
        self.message = message
        self.pattern = pattern
        self.offset = offset
        self.unsupported = unsupported
        super().__init__(f"{message} (offset {offset} of the pattern {pattern!r})")


class VocabularyError(GrammarDecodeError):
    """The vocabulary can't be used: empty, not bytes, ids out of range, or an unknown kind of tokenizer."""


class MatcherError(GrammarDecodeError):
    """A call that the matcher can't take. Its state is unchanged."""


class BitmaskError(GrammarDecodeError):
    """A bitmask or logits array of the wrong shape, type, or device. Nothing was written."""


class SerializationError(GrammarDecodeError):
    """The bytes are not a serialised grammar, are damaged, or come from another version."""


class ModelError(GrammarDecodeError):
    """A model can't be loaded, or can't take this call: a prompt past its context, logits that are not numbers."""


class GenerationError(GrammarDecodeError):
    """A token that the mask allowed was refused, or a mask was empty: a bug in grammar-decode, please report it."""

    #: What `GenerationResult.stop_reason` would be; there is no result.
    stop_reason = "mask_violation"
