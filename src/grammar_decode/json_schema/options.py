"""How a value may be spelled: the text options of a JSON Schema grammar.

A schema speaks of values; a model writes text. These options choose among the texts of a valid value. None of them
lets an invalid value through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from grammar_decode.errors import GrammarDecodeError
from grammar_decode.ir.nodes import Spacing

_SPACINGS = {
    "flexible": Spacing(32, b",", b":"),
    "compact": Spacing(0, b",", b":"),
    "spaced": Spacing(0, b", ", b": "),
    "any": Spacing(None, b",", b":"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions:
    """The text options; see ``docs/json-schema.md`` for examples. A wrong value raises GrammarDecodeError."""

    #: "any": every order, as in JSON. "schema": declared keys in the order in which the schema first names them,
    #: optional ones may be left out, all others come after; for prompts that rely on an order (reasoning before the
    #: answer).
    key_order: Literal["schema", "any"] = "any"
    #: "flexible": up to 32 bytes of whitespace wherever JSON allows some. "compact": none. "spaced": ", " and ": ".
    #: "any": no bound.
    whitespace: Literal["flexible", "compact", "spaced", "any"] = "flexible"
    #: "relaxed": every spelling in free strings; escapes only where JSON needs one in strings that a pattern, format,
    #: enum or const decides, and in keys. "canonical": only where needed, everywhere. "any": every spelling.
    escapes: Literal["relaxed", "canonical", "any"] = "relaxed"
    #: "canonical": integers are plain digits, no exponent in bounded ranges. "any": every spelling of a valid value.
    numbers: Literal["canonical", "any"] = "canonical"
    #: "assert": known formats hold, unknown ones are reported. "ignore": none holds. "strict": unknown is an error.
    formats: Literal["assert", "ignore", "strict"] = "assert"
    #: Whether the schema is one of OpenAPI 3.0: `nullable` and `discriminator` are read, and the format `byte`.
    openapi: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.openapi, bool):
            raise GrammarDecodeError(f"JsonOptions(openapi={self.openapi!r}): expected True or False")
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                names = ", ".join(map(repr, allowed))
                raise GrammarDecodeError(f"JsonOptions({name}={value!r}): expected one of {names}")

    @property
    def spacing(self) -> Spacing:
        """The whitespace option in the words of the IR."""
        return _SPACINGS[self.whitespace]


_CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(hint) for name, hint in get_type_hints(JsonOptions).items() if hint is not bool
}
