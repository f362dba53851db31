"""How this package says that something of XGrammar has no counterpart here."""

from __future__ import annotations

from typing import NoReturn


def refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"{what}: not supported by grammar_decode.compat.xgrammar")
