"""The names of XGrammar 0.2, for code that was written for it.

    import grammar_decode.compat.xgrammar as xgr

JSON Schema and regular expressions are compiled by this package, by its own rules. What can't be mapped (EBNF, Lark,
structural tags, captures, temperatures) raises NotImplementedError with the reason. Where the behaviour differs, ours
holds:

- A schema means what JSON Schema says: ``strict_mode`` does not forbid properties that the schema allows.
- A keyword that is not enforced is an error; XGrammar drops some without a word.
- Columns of the logits past the bitmask, or past ``vocab_size``, are forbidden, not left alone.

As there, a refused token is False and changes nothing, an id outside of the vocabulary is False, and filling a bitmask
after termination raises RuntimeError. torch is imported where a tensor is made, transformers with ``hf``.
"""

from __future__ import annotations

import importlib
from typing import Any

from grammar_decode.compat.xgrammar import exception, structural_tag
from grammar_decode.compat.xgrammar.compiler import CompiledGrammar, GrammarCompiler
from grammar_decode.compat.xgrammar.config import (
    get_max_recursion_depth,
    get_serialization_version,
    max_recursion_depth,
    set_max_recursion_depth,
)
from grammar_decode.compat.xgrammar.exception import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)
from grammar_decode.compat.xgrammar.grammar import Grammar
from grammar_decode.compat.xgrammar.matcher import (
    BatchGrammarMatcher,
    GrammarMatcher,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)
from grammar_decode.compat.xgrammar.structural_tag import StructuralTag, StructuralTagItem
from grammar_decode.compat.xgrammar.tokenizer_info import TokenizerInfo, VocabType

__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "exception",
    "get_bitmask_shape",
    "get_max_recursion_depth",
    "get_serialization_version",
    "max_recursion_depth",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "structural_tag",
]


def __getattr__(name: str) -> Any:
    if name == "bitmask_dtype":
        import torch

        return torch.int32
    if name in ("contrib", "hf"):  # not before somebody asks: it needs transformers
        return importlib.import_module(f"{__name__}.contrib" + (".hf" if name == "hf" else ""))
    raise AttributeError(f"XGrammar's {name!r} has no counterpart in grammar_decode.compat.xgrammar")


def __dir__() -> list[str]:
    """XGrammar's names, and not what this module imports."""
    return sorted([*__all__, "bitmask_dtype", "contrib", "hf"])
