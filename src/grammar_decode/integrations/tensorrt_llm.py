"""TensorRT-LLM (PyTorch backend): its guided decoding with our matchers. A recipe: not run by this project.

    from grammar_decode.integrations.tensorrt_llm import register

    register()  # before LLM(..., guided_decoding_backend="llguidance")

TensorRT-LLM picks one of two factories by an enum, so ours takes the place of the one for llguidance, which is given
the tokenizer as text. Contract: ``tensorrt_llm/_torch/pyexecutor/grammar_matcher.py`` and its caller
``guided_decoder.py``: accept the new token, fill, accept and fill for each draft, roll the refused ones back.
"""

from __future__ import annotations

from typing import Any

from tensorrt_llm._torch.pyexecutor.grammar_matcher import GrammarMatcher as BaseMatcher
from tensorrt_llm._torch.pyexecutor.grammar_matcher import GrammarMatcherFactory
from tensorrt_llm.bindings.executor import GuidedDecodingParams

from grammar_decode import Grammar, GrammarMatcher, Vocabulary, compile_json_schema, compile_regex
from grammar_decode.integrations.cache import cached, server_cache


class Matcher(BaseMatcher):  # type: ignore[misc] # tensorrt_llm is not installed where types are checked
    """The place of one request in its grammar."""

    def __init__(self, matcher: GrammarMatcher) -> None:
        super().__init__()
        self._matcher = matcher

    def accept_token(self, token_id: int) -> bool:
        """False, and no change, for a token that is not allowed."""
        return 0 <= token_id < self._matcher.vocabulary.size and self._matcher.accept_token(token_id)

    def rollback(self, num_tokens: int) -> None:
        self._matcher.rollback(num_tokens)

    def fill_next_token_bitmask(self, next_token_bitmask: Any, index: int) -> None:
        """The row has a bit, and bits past the vocabulary are clear: an empty row would become NaN."""
        self._matcher.fill_next_token_bitmask(next_token_bitmask, index)

    def is_terminated(self) -> bool:
        return self._matcher.is_terminated()


class MatcherFactory(GrammarMatcherFactory):  # type: ignore[misc]
    """Makes the matcher of each request; grammars are shared between them."""

    def __init__(self, guided_decoding_config: Any, vocab_size_padded: int, **_options: Any) -> None:
        super().__init__()
        if guided_decoding_config.tokenizer_str is None:
            raise ValueError("grammar-decode needs the tokenizer's text (tokenizer_str)")
        stops = guided_decoding_config.stop_token_ids
        table = Vocabulary.from_tokenizer_json(guided_decoding_config.tokenizer_str, stop_token_ids=stops or None)
        kept = [token_id for token_id in table.stop_token_ids if token_id < vocab_size_padded]
        tokens = table.token_bytes[:vocab_size_padded]
        self._vocabulary = Vocabulary(tokens, stop_token_ids=kept, size=vocab_size_padded)
        self._cache = server_cache()

    def create(self, guided_decoding_params: Any) -> Matcher:
        """Raises GrammarDecodeError with the place in the schema, and ValueError for kinds that are not supported."""
        kind, guide = guided_decoding_params.guide_type, guided_decoding_params.guide
        grammar = cached(self._cache, (str(kind), guide), lambda: _compile(kind, guide))
        return Matcher(GrammarMatcher(grammar, self._vocabulary))


def _compile(kind: Any, guide: str) -> Grammar:
    kinds = GuidedDecodingParams.GuideType
    if kind == kinds.JSON:
        return compile_json_schema({"type": "object"}, cache=None)
    if kind == kinds.JSON_SCHEMA:
        return compile_json_schema(guide, cache=None)
    if kind == kinds.REGEX:
        return compile_regex(guide)
    raise ValueError(f"grammar-decode does not support {kind}; JSON, JSON_SCHEMA and REGEX are")


def register() -> None:
    """Take the place of llguidance in this process and those that it starts by fork. Safe to call again."""
    from tensorrt_llm._torch.pyexecutor import guided_decoder

    if not hasattr(guided_decoder, "LLGuidanceMatcherFactory"):
        raise RuntimeError("this TensorRT-LLM has no LLGuidanceMatcherFactory that grammar-decode could stand for")
    guided_decoder.LLGuidanceMatcherFactory = MatcherFactory
