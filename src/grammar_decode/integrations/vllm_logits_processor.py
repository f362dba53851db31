"""vLLM by its documented interface of logits processors: the way for versions that ``integrations.vllm`` does not know.

    python -m vllm.entrypoints.openai.api_server ... \\
        --logits-processors grammar_decode.integrations.vllm_logits_processor:GrammarLogitsProcessor

A request names its schema in ``vllm_xargs``: ``{"grammar_decode": "<JSON Schema as text>"}`` (in Python,
``SamplingParams(extra_args={"grammar_decode": ...})``). Against the backend: masks are made row by row and not while
the model runs, ``response_format`` does not come here, and vLLM refuses it together with speculative decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vllm.exceptions import VLLMValidationError
from vllm.tokenizers import cached_tokenizer_from_config
from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

from grammar_decode import (
    Grammar,
    GrammarDecodeError,
    MatcherError,
    SchemaTooComplex,
    Vocabulary,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    compile_json_schema,
)
from grammar_decode.integrations.cache import cached, server_cache
from grammar_decode.integrations.prefix import PrefixStates

ARGUMENT = "grammar_decode"


class GrammarLogitsProcessor(AdapterLogitsProcessor):  # type: ignore[misc] # vllm is not installed where types are checked
    """Masks the rows of those requests that bring a schema."""

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:
        super().__init__(vllm_config, device, is_pin_memory)
        model_config = vllm_config.model_config
        table = Vocabulary.from_tokenizer(cached_tokenizer_from_config(model_config))
        size = model_config.get_vocab_size()
        stops = [token_id for token_id in table.stop_token_ids if token_id < size]
        self.vocabulary = Vocabulary(table.token_bytes[:size], stop_token_ids=stops, size=size)
        self.cache = server_cache()

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Raise VLLMValidationError (HTTP 400) for a schema that can't be enforced."""
        schema = _schema_of(sampling_params)
        if schema is not None:
            try:
                compile_json_schema(schema, cache=None)
            except (GrammarDecodeError, TypeError) as error:
                raise VLLMValidationError(f"{ARGUMENT}: {error}", parameter=ARGUMENT) from error

    def is_argmax_invariant(self) -> bool:
        return False

    def new_req_logits_processor(self, params: Any) -> Callable[[list[int], Any], Any] | None:
        schema = _schema_of(params)
        if schema is None:
            return None
        grammar = cached(self.cache, schema, lambda: compile_json_schema(schema, cache=None))
        return _Row(grammar, self.vocabulary, getattr(params, "max_tokens", None))


class _Row:
    """One request: called with its output so far and its row of logits, which it masks in place."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, max_tokens: int | None) -> None:
        try:
            self._states = PrefixStates(grammar, vocabulary, capacity=2, max_tokens=max_tokens)
        except (
            MatcherError,
            SchemaTooComplex,
        ):  # no document is that short: an exception here would end the engine, so this one is cut
            self._states = PrefixStates(grammar, vocabulary, capacity=2)
        self._stops = vocabulary.stop_token_ids
        self._bitmask = allocate_token_bitmask(1, vocabulary.size)

    def __call__(self, output_ids: list[int], logits: Any) -> Any:
        matcher = self._states.at(tuple(output_ids))
        if matcher is None:  # another processor forced a token: the text can't be saved, so it may only stop
            stops = [token_id for token_id in self._stops if token_id < logits.shape[-1]]
            kept = logits[stops]
            logits[:] = -float("inf")
            logits[stops] = kept
        elif not matcher.is_terminated():
            matcher.fill_next_token_bitmask(self._bitmask)
            apply_token_bitmask_inplace(logits, self._bitmask[0])
        return logits


def _schema_of(params: Any) -> str | None:
    schema = (getattr(params, "extra_args", None) or {}).get(ARGUMENT)
    if schema is not None and not isinstance(schema, str):
        raise VLLMValidationError(f"{ARGUMENT} must be the text of a JSON Schema", parameter=ARGUMENT)
    return schema
