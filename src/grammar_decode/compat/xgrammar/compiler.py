"""`GrammarCompiler` and `CompiledGrammar`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from grammar_decode import Grammar as _Grammar
from grammar_decode import GrammarCache, compile_json_schema, compile_regex
from grammar_decode.compat.xgrammar.exception import DeserializeFormatError
from grammar_decode.compat.xgrammar.grammar import Grammar
from grammar_decode.compat.xgrammar.json_schema import compile_schema
from grammar_decode.compat.xgrammar.refusal import refuse
from grammar_decode.compat.xgrammar.structural_tag import refuse_tag
from grammar_decode.compat.xgrammar.tokenizer_info import TokenizerInfo
from grammar_decode.integrations.cache import cached


class CompiledGrammar:
    """A grammar and the tokenizer that it will be used with."""

    def __init__(self, grammar: Grammar, tokenizer_info: TokenizerInfo) -> None:
        self.grammar = grammar
        self.tokenizer_info = tokenizer_info

    @property
    def memory_size_bytes(self) -> int:
        """Bytes of the states and masks that it has by now."""
        return self.grammar._grammar.memory_bytes()

    def serialize_json(self) -> str:
        """The grammar, and the metadata of the tokenizer that it was compiled for."""
        return json.dumps(
            {**json.loads(self.grammar.serialize_json()), "tokenizer": json.loads(self.tokenizer_info.dump_metadata())}
        )

    @classmethod
    def deserialize_json(cls, json_str: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
        """The inverse of :meth:`serialize_json`. Raises DeserializeFormatError for a tokenizer of other metadata."""
        grammar = Grammar.deserialize_json(json_str)
        written, given = json.loads(json_str).get("tokenizer"), json.loads(tokenizer_info.dump_metadata())
        if written != given:
            raise DeserializeFormatError(f"The grammar was compiled for the tokenizer {written}, not for {given}.")
        return cls(grammar, tokenizer_info)


class GrammarCompiler:
    """Compiles for one tokenizer, and remembers what it compiled. Thread-safe."""

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
        enable_dynamic_compilation: bool = False,
    ) -> None:
        """``cache_limit_bytes``: -1 is our default, 512 MB. One compilation is one thread, whatever ``max_threads``."""
        del max_threads, enable_dynamic_compilation
        if not isinstance(tokenizer_info, TokenizerInfo):
            raise ValueError(
                f"GrammarCompiler needs a TokenizerInfo, not {type(tokenizer_info).__name__}: "
                "TokenizerInfo.from_huggingface(tokenizer, vocab_size=...) makes one."
            )
        self.cache_limit_bytes = cache_limit_bytes
        max_bytes = cache_limit_bytes if cache_limit_bytes >= 0 else 512 << 20
        self._cache = GrammarCache(max_grammars=1024 if cache_enabled else 0, max_bytes=max_bytes)
        self.tokenizer_info = tokenizer_info

    def compile_json_schema(
        self,
        schema: Any,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        any_order: bool = False,
    ) -> CompiledGrammar:
        """``schema``: a dict, a text, or a pydantic model. Whitespace is up to 32 bytes, or the given separators.

        ``strict_mode`` changes nothing: XGrammar forbids by it what the schema does not name; here
        ``additionalProperties`` and ``unevaluatedProperties`` decide.
        """
        del strict_mode
        options: dict[str, Any] = {
            "any_whitespace": any_whitespace,
            "indent": indent,
            "separators": None if separators is None else tuple(separators),
            "max_whitespace_cnt": max_whitespace_cnt,
            "any_order": any_order,
        }
        key = json.dumps(schema, sort_keys=False) if isinstance(schema, (dict, bool)) else schema
        return self._compiled(("json", key, *options.values()), lambda: compile_schema(schema, cache=None, **options))

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        """Any JSON."""
        return self._compiled(("json",), lambda: compile_json_schema(True, cache=None))

    def compile_regex(self, regex: str) -> CompiledGrammar:
        return self._compiled(("regex", regex), lambda: compile_regex(regex))

    def compile_grammar(self, grammar: Grammar | str, **_options: Any) -> CompiledGrammar:
        """For a :class:`Grammar`; a text would be EBNF, which raises."""
        if not isinstance(grammar, Grammar):
            refuse("grammars in EBNF")
        return CompiledGrammar(grammar, self.tokenizer_info)

    def compile_lark(self, *_arguments: Any, **_options: Any) -> NoReturn:
        refuse("grammars in Lark")

    def compile_structural_tag(self, *_arguments: Any, **_named: Any) -> NoReturn:
        refuse_tag()

    def clear_cache(self) -> None:
        self._cache.clear()

    def get_cache_size_bytes(self) -> int:
        return self._cache.memory_bytes()

    def _compiled(self, key: tuple[Any, ...], compile_grammar: Callable[[], _Grammar]) -> CompiledGrammar:
        return CompiledGrammar(Grammar(cached(self._cache, key, compile_grammar)), self.tokenizer_info)
