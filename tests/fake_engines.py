"""Just enough of vLLM, SGLang and TensorRT-LLM to load their adapters where they are not installed.

The classes of their contracts, written after the interfaces of vLLM 0.32, SGLang 0.5.23 and TensorRT-LLM's PyTorch
backend. Tensors are numpy arrays here, unless torch is installed.
"""

from __future__ import annotations

import enum
import importlib.util
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@contextmanager
def modules(fakes: dict[str, dict[str, Any]]) -> Iterator[None]:
    """The modules by name, with their contents, for as long as the block runs; packages above them as well."""
    names = {part for name in fakes for part in _with_parents(name)}
    before = {name: sys.modules.get(name) for name in names}
    for name in sorted(names):
        module = ModuleType(name)
        module.__path__ = []
        vars(module).update(fakes.get(name, {}))
        sys.modules[name] = module
    try:
        yield
    finally:
        for name, module_before in before.items():
            if module_before is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module_before


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


def torch() -> dict[str, dict[str, Any]]:
    """A torch of one function, backed by numpy; nothing where the real one is installed."""
    if installed("torch"):
        return {}

    def full(shape: Any, value: int, dtype: Any = None, **_options: Any) -> Any:
        return np.full(shape, value, dtype=dtype)

    return {"torch": {"full": full, "int32": np.int32, "Tensor": np.ndarray}}


class VLLMValidationError(ValueError):
    def __init__(self, message: str, *, parameter: str | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.value = value


class StructuredOutputOptions(enum.Enum):
    JSON = 1
    JSON_OBJECT = 2
    REGEX = 3
    GRAMMAR = 4
    CHOICE = 5
    STRUCTURAL_TAG = 6


class StructuredOutputGrammar(ABC):
    @abstractmethod
    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool: ...
    @abstractmethod
    def validate_tokens(self, tokens: list[int]) -> list[int]: ...
    @abstractmethod
    def rollback(self, num_tokens: int) -> None: ...
    @abstractmethod
    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None: ...
    @abstractmethod
    def is_terminated(self) -> bool: ...
    @abstractmethod
    def reset(self) -> None: ...


@dataclass
class StructuredOutputBackend(ABC):
    vllm_config: Any
    tokenizer: Any
    vocab_size: int

    @abstractmethod
    def compile_grammar(self, request_type: Any, grammar_spec: str, stop_token_ids: Any = None) -> Any: ...
    @abstractmethod
    def allocate_token_bitmask(self, max_num_seqs: int) -> Any: ...
    @abstractmethod
    def destroy(self) -> None: ...


def get_structured_output_key(params: Any) -> tuple[StructuredOutputOptions, str]:
    if params.json is not None:
        text = params.json if isinstance(params.json, str) else json.dumps(params.json)
        return StructuredOutputOptions.JSON, text
    if params.json_object:
        return StructuredOutputOptions.JSON_OBJECT, ""
    if params.regex is not None:
        return StructuredOutputOptions.REGEX, params.regex
    if params.choice is not None:
        return StructuredOutputOptions.CHOICE, json.dumps(params.choice)
    if params.grammar is not None:
        return StructuredOutputOptions.GRAMMAR, params.grammar
    raise ValueError("No valid structured output parameter found")


def vllm() -> dict[str, dict[str, Any]]:
    if installed("vllm"):
        return {}
    return {
        **torch(),
        "vllm.exceptions": {"VLLMValidationError": VLLMValidationError},
        "vllm.v1.structured_output.backend_types": {
            "StructuredOutputBackend": StructuredOutputBackend,
            "StructuredOutputGrammar": StructuredOutputGrammar,
            "StructuredOutputOptions": StructuredOutputOptions,
        },
        "vllm.v1.structured_output.utils": {"xgr": ModuleType("xgrammar")},
        "vllm.v1.structured_output.request": {"get_structured_output_key": get_structured_output_key},
    }


class BaseGrammarObject:
    def __init__(self) -> None:
        self.finished = False
        self.current_token: int | None = None

    def maybe_init_reasoning(self, reasoning: bool) -> None:
        pass


class InvalidGrammarObject(BaseGrammarObject):
    def __init__(self, error_message: str = "Unknown grammar error") -> None:
        super().__init__()
        self.error_message = error_message


class BaseGrammarBackend:
    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor()
        self.cache: dict[tuple[str, str], Any] = {}

    def _not_supported(self, key_type: str, key_string: str) -> Any:
        return InvalidGrammarObject()

    def dispatch_json(self, key_string: str) -> Any:
        return self._not_supported("json", key_string)

    def dispatch_regex(self, key_string: str) -> Any:
        return self._not_supported("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> Any:
        return self._not_supported("ebnf", key_string)

    def dispatch_structural_tag(self, key_string: str) -> Any:
        return self._not_supported("structural_tag", key_string)

    def get_cached_or_future_value(self, key: tuple[str, str], require_reasoning: bool) -> tuple[Any, bool]:
        if value := self.cache.get(key):
            copied = value.copy()
            copied.maybe_init_reasoning(require_reasoning)
            return copied, True
        return self.executor.submit(self._init_value_dispatch, key, require_reasoning), False

    def _init_value_dispatch(self, key: tuple[str, str], reasoning: bool) -> Any:
        return getattr(self, f"dispatch_{key[0]}")(key[1])

    def set_cache(self, key: tuple[str, str], value: Any) -> None:
        self.cache[key] = value

    def reset(self) -> None:
        self.cache.clear()


class ReasonerGrammarObject(BaseGrammarObject):
    """A grammar that begins behind the end of the reasoning; `tokens_after_end` is -1 before it."""

    def __init__(self, grammar: Any, end_ids: list[int], forbid: Callable[[Any, int], None] | None) -> None:
        super().__init__()
        self.grammar = grammar
        self.end_ids = end_ids
        self.forbid = forbid
        self.history: list[int] = []
        self.is_reasoning = True

    def maybe_init_reasoning(self, reasoning: bool) -> None:
        self.history = []
        self.is_reasoning = reasoning

    @property
    def tokens_after_end(self) -> int:
        if not self.is_reasoning:
            return len(self.history)
        size = len(self.end_ids)
        ends = (end for end in range(size, len(self.history) + 1) if self.history[end - size : end] == self.end_ids)
        return len(self.history) - next(ends, len(self.history) + 1)

    def accept_token(self, token: int) -> None:
        if self.tokens_after_end >= 0:
            self.grammar.accept_token(token)
        self.history.append(token)

    def rollback(self, k: int) -> None:
        if (count := min(k, self.tokens_after_end)) > 0:
            self.grammar.rollback(count)
        del self.history[len(self.history) - k :]

    def is_terminated(self) -> bool:
        return self.tokens_after_end >= 0 and bool(self.grammar.is_terminated())

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        return self.grammar.allocate_vocab_mask(vocab_size, batch_size, device)

    def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
        if self.tokens_after_end >= 0:
            self.grammar.fill_vocab_mask(vocab_mask, idx)
        elif self.forbid is not None:
            self.forbid(vocab_mask, idx)

    @property
    def apply_vocab_mask(self) -> Any:
        return self.grammar.apply_vocab_mask

    def copy(self) -> ReasonerGrammarObject:
        return ReasonerGrammarObject(self.grammar.copy(), self.end_ids, self.forbid)


class ReasoningParser:
    def __init__(self, model_type: str, stream_reasoning: bool, tokenizer: Any) -> None:
        self.end = "</think>"
        self.excluded = {"deepseek-r1": [], "qwen3": ["<tool_call>", "</tool_call>", "<|im_end|>", "<|endoftext|>"]}[
            model_type
        ]


class ReasonerGrammarBackend(BaseGrammarBackend):
    def __init__(self, backend: Any, parser: Any, tokenizer: Any, enable_strict_thinking: bool = False) -> None:
        super().__init__()
        self.forbid = None
        if enable_strict_thinking and parser.excluded:
            if not getattr(backend, "is_support_token_filter", False):
                raise ValueError("the grammar backend does not support token filtering")
            excluded = [i for text in parser.excluded for i in tokenizer.encode(text, add_special_tokens=False)]
            self.forbid = lambda mask, row: backend.set_token_filter(mask, excluded, row, is_allowed=False)
        self.grammar_backend = backend
        self.end_ids = tokenizer.encode(parser.end, add_special_tokens=False)

    def _init_value_dispatch(self, key: tuple[str, str], reasoning: bool) -> Any:
        value = self.grammar_backend._init_value_dispatch(key, reasoning)
        if isinstance(value, InvalidGrammarObject):
            return value
        wrapped = ReasonerGrammarObject(value, self.end_ids, self.forbid)
        wrapped.maybe_init_reasoning(reasoning)
        return wrapped


GRAMMAR_BACKEND_REGISTRY: dict[str, Any] = {}
GRAMMAR_BACKEND_CHOICES = ["xgrammar", "none"]


def sglang() -> dict[str, dict[str, Any]]:
    if installed("sglang"):
        return {}
    return {
        **torch(),
        "sglang.srt.arg_groups.choices": {
            "GRAMMAR_BACKEND_CHOICES": GRAMMAR_BACKEND_CHOICES,
            "add_grammar_backend_choices": GRAMMAR_BACKEND_CHOICES.extend,
        },
        "sglang.srt.constrained.base_grammar_backend": {
            "BaseGrammarBackend": BaseGrammarBackend,
            "BaseGrammarObject": BaseGrammarObject,
            "GRAMMAR_BACKEND_REGISTRY": GRAMMAR_BACKEND_REGISTRY,
            "InvalidGrammarObject": InvalidGrammarObject,
            "register_grammar_backend": GRAMMAR_BACKEND_REGISTRY.__setitem__,
        },
        "sglang.srt.constrained.reasoner_grammar_backend": {"ReasonerGrammarBackend": ReasonerGrammarBackend},
        "sglang.srt.parser.reasoning_parser": {"ReasoningParser": ReasoningParser},
    }


class TensorRTMatcher(ABC):
    @abstractmethod
    def accept_token(self, token_id: int) -> bool: ...
    @abstractmethod
    def rollback(self, num_tokens: int) -> None: ...
    @abstractmethod
    def fill_next_token_bitmask(self, next_token_bitmask: Any, index: int) -> None: ...
    @abstractmethod
    def is_terminated(self) -> bool: ...


class TensorRTMatcherFactory(ABC):
    @abstractmethod
    def create(self, guided_decoding_params: Any) -> Any: ...


class GuidedDecodingParams:
    GuideType = enum.Enum("GuideType", ["JSON", "JSON_SCHEMA", "REGEX", "EBNF_GRAMMAR", "STRUCTURAL_TAG"])

    def __init__(self, guide_type: Any, guide: str | None = None) -> None:
        self.guide_type = guide_type
        self.guide = guide


def tensorrt_llm() -> dict[str, dict[str, Any]]:
    executor = "tensorrt_llm._torch.pyexecutor"
    decoder = ModuleType(f"{executor}.guided_decoder")
    vars(decoder)["LLGuidanceMatcherFactory"] = None
    return {
        executor: {"guided_decoder": decoder},
        f"{executor}.grammar_matcher": {
            "GrammarMatcher": TensorRTMatcher,
            "GrammarMatcherFactory": TensorRTMatcherFactory,
        },
        "tensorrt_llm.bindings.executor": {"GuidedDecodingParams": GuidedDecodingParams},
    }
