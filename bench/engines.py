"""One interface over the engines that are compared: compile a schema, fill the mask, accept a token, ask for the end.

Each is used as its own documentation shows, with its defaults, on one thread and without a cache of compiled schemas.
"""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import numpy as np

from tokens import Tokens


class GrammarDecode:
    """This package."""

    def __init__(self, tokens: Tokens) -> None:
        import grammar_decode as gd

        self.gd = gd
        self.vocabulary = gd.Vocabulary(tokens.token_bytes, stop_token_ids=[tokens.stop], size=tokens.size)
        self.bitmask = gd.allocate_token_bitmask(1, tokens.size)

    def compile(self, schema: Any) -> None:
        self.grammar = self.gd.compile_json_schema(schema, cache=None)

    def start(self) -> None:
        self.matcher = self.gd.GrammarMatcher(self.grammar, self.vocabulary)

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.bitmask, 0)

    def accept(self, token: int) -> bool:
        return self.matcher.accept_token(token)

    def is_complete(self) -> bool:
        return self.matcher.is_accepting()


class LlGuidance:
    def __init__(self, tokens: Tokens) -> None:
        import llguidance
        from llguidance import numpy as masks

        self.library, self.fill_row = llguidance, masks.fill_next_token_bitmask
        self.tokenizer = llguidance.LLTokenizer(tokens.tokenizer_json, n_vocab=tokens.size, eos_token=tokens.stop)
        self.bitmask = masks.allocate_token_bitmask(1, tokens.size)

    def compile(self, schema: Any) -> None:
        grammar = json.dumps({"grammars": [{"json_schema": schema}]})
        self.initial = self.library.LLMatcher(self.tokenizer, grammar)
        if self.initial.is_error():
            raise ValueError(self.initial.get_error())

    def start(self) -> None:
        self.matcher = self.initial.deep_copy()

    def fill(self) -> None:
        self.fill_row(self.matcher, self.bitmask, 0)

    def accept(self, token: int) -> bool:
        return bool(self.matcher.consume_token(token))

    def is_complete(self) -> bool:
        return bool(self.matcher.is_accepting())


class XGrammar:
    """Any whitespace, as in our default and llguidance's; `strict_mode` is XGrammar's own reading of open objects."""

    def __init__(self, tokens: Tokens) -> None:
        import xgrammar

        self.library, self.stop = xgrammar, tokens.stop
        info = xgrammar.TokenizerInfo(
            [token or b"" for token in tokens.token_bytes],
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=tokens.size,
            stop_token_ids=[tokens.stop],
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.tensor = xgrammar.allocate_token_bitmask(1, tokens.size)
        self.bitmask = self.tensor.numpy()

    def compile(self, schema: Any) -> None:
        self.grammar = self.compiler.compile_json_schema(json.dumps(schema), any_whitespace=True, strict_mode=False)

    def start(self) -> None:
        self.matcher = self.library.GrammarMatcher(self.grammar)

    def fill(self) -> None:
        if not self.matcher.fill_next_token_bitmask(self.tensor):
            self.bitmask[:] = -1  # False: everything is allowed, and the row was not written

    def accept(self, token: int) -> bool:
        return bool(self.matcher.accept_token(token))

    def is_complete(self) -> bool:
        if self.matcher.is_terminated():
            return True
        self.fill()
        return allows(self.bitmask, self.stop)


ENGINES: dict[str, Any] = {"grammar_decode": GrammarDecode, "llguidance": LlGuidance, "xgrammar": XGrammar}


def installed_engines() -> list[str]:
    return [name for name in ENGINES if importlib.util.find_spec(name) is not None]


def allows(bitmask: np.ndarray, token: int) -> bool:
    return bool(int(bitmask[0, token // 32]) >> (token % 32) & 1)
