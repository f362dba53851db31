"""XGrammar's exceptions. Those of reading what was written are ours as well, so either name catches them."""

from __future__ import annotations

from grammar_decode import SerializationError


class DeserializeFormatError(SerializationError, RuntimeError):
    """The text is JSON, but was not written by ``serialize_json`` here, or not for this tokenizer."""


class DeserializeVersionError(SerializationError, RuntimeError):
    """The text was written by another version."""


class InvalidJSONError(SerializationError, RuntimeError):
    """The text is no JSON."""


class InvalidStructuralTagError(RuntimeError):
    """A structural tag that says nothing that could be written."""
