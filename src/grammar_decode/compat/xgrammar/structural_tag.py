"""XGrammar's structural tags, which have no counterpart: each of these names says so when it is used.

Tool calls between tags, behind free text, are ``grammar_decode.compile_chat_request``.
"""

from __future__ import annotations

from typing import Any, NoReturn

from grammar_decode.compat.xgrammar.refusal import refuse


def refuse_tag() -> NoReturn:
    refuse("structural tags (tool calls and reasoning: see grammar_decode.compile_chat_request)")


class StructuralTag:
    """Refused."""

    def __init__(self, *_arguments: Any, **_named: Any) -> None:
        refuse_tag()

    @staticmethod
    def from_json(*_arguments: Any) -> NoReturn:
        refuse_tag()

    @staticmethod
    def from_legacy_structural_tag(*_arguments: Any) -> NoReturn:
        refuse_tag()


class StructuralTagItem:
    """Refused."""

    def __init__(self, *_arguments: Any, **_named: Any) -> None:
        refuse_tag()
