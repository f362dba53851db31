"""XGrammar's settings of the process. Here they are ``Limits`` of a grammar, or none."""

from __future__ import annotations

from typing import Any, NoReturn

import grammar_decode
from grammar_decode.compat.xgrammar.refusal import refuse

_DEPTH = (
    "a recursion depth of the process (nothing here recurses over the document; grammar_decode.Limits bounds a grammar)"
)


def get_max_recursion_depth() -> NoReturn:
    refuse(_DEPTH)


def set_max_recursion_depth(max_recursion_depth: int) -> NoReturn:
    del max_recursion_depth
    refuse(_DEPTH)


def max_recursion_depth(temp_depth: int) -> Any:
    del temp_depth
    refuse(_DEPTH)


def get_serialization_version() -> str:
    """Texts of ``serialize_json`` are read by the version that wrote them."""
    return f"grammar-decode {grammar_decode.__version__}"
