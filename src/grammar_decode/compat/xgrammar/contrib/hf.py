"""XGrammar's processor for ``generate`` of transformers. Imports transformers and torch."""

from __future__ import annotations

from collections.abc import Sequence

from grammar_decode.compat.xgrammar.compiler import CompiledGrammar
from grammar_decode.integrations.transformers import GrammarLogitsProcessor


class LogitsProcessor(GrammarLogitsProcessor):
    """Ours, made from compiled grammars: for one call of ``generate``, in all of its decoding modes."""

    def __init__(self, compiled_grammar: CompiledGrammar | Sequence[CompiledGrammar]) -> None:
        """One grammar, alone or in a list, is for all rows; several are one for each prompt of the batch."""
        given = [compiled_grammar] if isinstance(compiled_grammar, CompiledGrammar) else list(compiled_grammar)
        for each in given:
            if not isinstance(each, CompiledGrammar):
                raise TypeError(
                    f"LogitsProcessor needs a CompiledGrammar or a list of them, not {type(each).__name__}: "
                    "GrammarCompiler(tokenizer_info).compile_json_schema(schema) makes one."
                )
        if not given:
            raise ValueError("The list of compiled grammars is empty: pass one, or one for each prompt.")
        vocabulary = given[0].tokenizer_info.vocabulary
        if any(each.tokenizer_info.vocabulary.content_hash != vocabulary.content_hash for each in given[1:]):
            raise ValueError("The grammars were compiled for different tokenizers, but a batch has one.")
        self.compiled_grammars = given
        self.full_vocab_size = vocabulary.size
        grammars = [each.grammar._grammar for each in given]
        super().__init__(grammars[0] if len(given) == 1 else grammars, vocabulary)
