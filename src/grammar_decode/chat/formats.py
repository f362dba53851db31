"""How a model writes around JSON: tool calls and reasoning."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from grammar_decode.errors import GrammarDecodeError


def _check_fields(value: Any) -> None:
    """Raise TypeError or GrammarDecodeError for a field of another type, or that is no text."""
    for each in fields(value):
        given, expected = getattr(value, each.name), type(each.default)
        where = f"{type(value).__name__}.{each.name}"
        if not isinstance(given, expected):
            raise TypeError(f"{where} must be a {expected.__name__}, not {given!r:.60} ({type(given).__name__})")
        if isinstance(given, str) and not _is_text(given):
            raise GrammarDecodeError(f"{where} is {given!r:.60}, which has no UTF-8: a model can't write it")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class ToolFormat:
    """How a model writes tool calls: ``begin``, a JSON object with the name and the arguments, ``end``.

    White space may stand behind ``begin``, before ``end`` and between calls, as the text options allow it in JSON.
    """

    #: The text (or the name of a marker token) before a call. Without one, an answer that begins with ``{`` is a call.
    begin: str = ""
    end: str = ""
    #: Between two calls, where each has its own ``begin`` and ``end``.
    separator: str = ""
    #: One ``begin`` and ``end`` around a JSON array of calls, instead of one around each.
    array: bool = False
    name_key: str = "name"
    arguments_key: str = "arguments"

    def __post_init__(self) -> None:
        _check_fields(self)
        if self.name_key == self.arguments_key:
            raise GrammarDecodeError(
                f"ToolFormat.name_key and arguments_key are both {self.name_key!r}, but a call needs two keys"
            )

    @classmethod
    def hermes(cls) -> ToolFormat:
        """``<tool_call>{"name": …, "arguments": …}</tool_call>``: Hermes, Qwen 2.5 and 3, and many others."""
        return cls("<tool_call>", "</tool_call>")

    @classmethod
    def llama3(cls) -> ToolFormat:
        """``{"name": …, "parameters": …}``, several with ``;`` in between: Llama 3.1 and 3.2."""
        return cls(separator=";", arguments_key="parameters")

    @classmethod
    def mistral(cls) -> ToolFormat:
        """``[TOOL_CALLS][{"name": …, "arguments": …}, …]``: Mistral v2, v3. The marker is a control token there."""
        return cls("[TOOL_CALLS]", array=True)


@dataclass(frozen=True)
class Reasoning:
    """Free text up to and with the first ``end``, then what the request asks for.

    ``begin``: what the model writes first, where the prompt does not end with it already.
    """

    end: str = "</think>"
    begin: str = ""

    def __post_init__(self) -> None:
        _check_fields(self)
        if not self.end:
            raise GrammarDecodeError("Reasoning needs an end marker: the text behind which the answer begins")
