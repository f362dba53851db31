"""`Grammar`: a grammar of this package by XGrammar's names."""

from __future__ import annotations

import base64
import json
from typing import Any, NoReturn

from grammar_decode import Grammar as _Grammar
from grammar_decode import compile_json_schema, compile_regex
from grammar_decode.compat.xgrammar.exception import DeserializeFormatError
from grammar_decode.compat.xgrammar.json_schema import compile_schema
from grammar_decode.compat.xgrammar.refusal import refuse
from grammar_decode.compat.xgrammar.structural_tag import refuse_tag
from grammar_decode.compat.xgrammar.tokenizer_info import read_json


class Grammar:
    """A grammar that knows no tokenizer."""

    def __init__(self, grammar: _Grammar) -> None:
        self._grammar = grammar

    @classmethod
    def from_json_schema(cls, schema: Any, *, print_converted_ebnf: bool = False, **options: Any) -> Grammar:
        """The options are those of :meth:`GrammarCompiler.compile_json_schema`."""
        _refuse_printing(print_converted_ebnf)
        return cls(compile_schema(schema, **options))

    @classmethod
    def from_regex(cls, regex_string: str, *, print_converted_ebnf: bool = False) -> Grammar:
        _refuse_printing(print_converted_ebnf)
        return cls(compile_regex(regex_string))

    @classmethod
    def builtin_json_grammar(cls) -> Grammar:
        """Any JSON."""
        return cls(compile_json_schema(True))

    @staticmethod
    def from_ebnf(*_arguments: Any, **_options: Any) -> NoReturn:
        refuse("grammars in EBNF")

    @staticmethod
    def from_lark(*_arguments: Any, **_options: Any) -> NoReturn:
        refuse("grammars in Lark")

    @staticmethod
    def from_structural_tag(*_arguments: Any, **_named: Any) -> NoReturn:
        refuse_tag()

    @staticmethod
    def concat(*_grammars: Any) -> NoReturn:
        refuse("Grammar.concat")

    @staticmethod
    def union(*_grammars: Any) -> NoReturn:
        refuse("Grammar.union")

    def serialize_json(self) -> str:
        return json.dumps({"grammar_decode": base64.b64encode(self._grammar.to_bytes()).decode()})

    @classmethod
    def deserialize_json(cls, json_string: str) -> Grammar:
        """The inverse of :meth:`serialize_json`; XGrammar's own format can't be read. Raises SerializationError."""
        given = read_json(json_string)
        try:
            return cls(_Grammar.from_bytes(base64.b64decode(given["grammar_decode"])))
        except (ValueError, KeyError, TypeError) as error:
            raise DeserializeFormatError(
                f"This was not written by serialize_json of grammar_decode.compat.xgrammar: {error!r}."
            ) from error


def _refuse_printing(is_asked: bool) -> None:
    if is_asked:
        refuse("printing a grammar as EBNF")
