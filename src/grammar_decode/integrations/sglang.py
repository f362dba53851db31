"""SGLang (0.5): a grammar backend with the name ``grammar-decode``.

    python -m sglang.launch_server --grammar-backend grammar-decode ...

SGLang has a registry for this, and :func:`register`, which it calls in every process as a plugin
(``sglang.srt.plugins``), uses it. A registered backend is taken before SGLang would wrap it for reasoning models, so
:func:`create_backend` does that itself. Contract: ``sglang/srt/constrained/base_grammar_backend.py`` of 0.5.23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    InvalidGrammarObject,
    register_grammar_backend,
)

from grammar_decode import (
    Grammar,
    GrammarDecodeError,
    GrammarMatcher,
    JsonOptions,
    Vocabulary,
    apply_token_bitmask_inplace,
    compile_json_schema,
    compile_regex,
    fill_next_token_bitmasks,
)
from grammar_decode.integrations.cache import cached, server_cache

NAME = "grammar-decode"
ANY_JSON = "$$ANY$$"  # what SGLang writes for a request of any JSON


class RequestGrammar(BaseGrammarObject):  # type: ignore[misc] # sglang is not installed where types are checked
    """The place of one request in its grammar."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.matcher = GrammarMatcher(grammar, vocabulary)

    def copy(self) -> RequestGrammar:
        """The same grammar from its beginning."""
        return RequestGrammar(self.matcher.grammar, self.matcher.vocabulary)

    def accept_token(self, token: int) -> None:
        """Go on; nothing happens after the end. Raises ValueError for a token that is not allowed."""
        if self.matcher.is_terminated():
            return
        if not (0 <= token < self.matcher.vocabulary.size and self.matcher.accept_token(token)):
            raise ValueError(f"token {token} is not allowed: expected {self.matcher.describe_expected()}")
        self.current_token = token

    def rollback(self, k: int) -> None:
        self.matcher.rollback(k)

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated()

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        """Rows that allow everything, on the CPU; one mask for a batch, at every step."""
        return torch.full((batch_size, -(-vocab_size // 32)), -1, dtype=torch.int32)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        self.matcher.fill_next_token_bitmask(vocab_mask, idx)

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: torch.Tensor) -> None:
        """Fill the rows of all entries (row, grammar), ours in one call; rows that are not listed stay."""
        ours = [(entry.row, entry.grammar.matcher) for entry in entries if isinstance(entry.grammar, RequestGrammar)]
        fill_next_token_bitmasks([matcher for _, matcher in ours], vocab_mask, [row for row, _ in ours])
        for entry in entries:
            if not isinstance(entry.grammar, RequestGrammar):
                entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        apply_token_bitmask_inplace(logits, vocab_mask)


class Backend(BaseGrammarBackend):  # type: ignore[misc]
    """One for each engine. `dispatch_...` run in a pool of threads, and the GIL is released inside."""

    # A reasoning wrapper asks the backend for these, not a grammar.
    allocate_vocab_mask = RequestGrammar.allocate_vocab_mask
    move_vocab_mask = staticmethod(RequestGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(RequestGrammar.apply_vocab_mask)

    #: For `--enable-strict-thinking`: the wrapper forbids tokens by `set_token_filter` while the model thinks.
    is_support_token_filter = True

    #: How many grammars SGLang's own cache may hold; they share the compiled ones, whose memory is bounded.
    max_cached = 1024

    def __init__(self, vocabulary: Vocabulary, options: JsonOptions | None = None) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.options = options or JsonOptions()
        self.grammars = server_cache()

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        schema = True if key_string == ANY_JSON else key_string
        return self._compiled(("json", key_string), lambda: compile_json_schema(schema, self.options, cache=None))

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        return self._compiled(("regex", key_string), lambda: compile_regex(key_string))

    def _compiled(self, key: tuple[str, str], compile_grammar: Callable[[], Grammar]) -> BaseGrammarObject:
        try:
            return RequestGrammar(cached(self.grammars, key, compile_grammar), self.vocabulary)
        except (GrammarDecodeError, TypeError) as error:
            return InvalidGrammarObject(f"{NAME}: {error}")

    @staticmethod
    def set_token_filter(
        vocab_mask: torch.Tensor,
        token_ids: Iterable[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        """Allow or forbid some tokens in a row; with a reset, the others are then what these are not."""
        row = vocab_mask[batch_idx]
        if reset_vocab_mask:
            row[:] = 0 if is_allowed else -1
        for token_id in token_ids:
            bit = 1 << token_id % 32 if token_id % 32 < 31 else -(1 << 31)  # words are signed
            word = int(row[token_id // 32])
            row[token_id // 32] = word | bit if is_allowed else word & ~bit

    def _not_supported(self, key_type: str, key_string: str) -> BaseGrammarObject:
        return InvalidGrammarObject(f"{NAME}: {key_type} is not supported; json_schema and regex are")

    def set_cache(self, key: tuple[str, str], value: BaseGrammarObject) -> None:
        super().set_cache(key, value)
        while len(self.cache) > self.max_cached:
            self.cache.pop(next(iter(self.cache)), None)

    def reset(self) -> None:
        super().reset()
        self.grammars.clear()


def create_backend(
    server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None = None
) -> BaseGrammarBackend:
    """The backend of one engine, in SGLang's reasoning wrapper where the server has a reasoning parser."""
    table = Vocabulary.from_tokenizer(tokenizer)
    stops = [token_id for token_id in sorted(eos_token_ids or table.stop_token_ids) if token_id < vocab_size]
    compact = getattr(server_args, "constrained_json_disable_any_whitespace", False)
    backend = Backend(
        Vocabulary(table.token_bytes[:vocab_size], stop_token_ids=stops, size=vocab_size),
        JsonOptions(whitespace="compact" if compact else "flexible"),
    )
    model_type = getattr(server_args, "reasoning_parser", None)
    if not model_type:
        return backend
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    return ReasonerGrammarBackend(
        backend,
        ReasoningParser(model_type=model_type, stream_reasoning=False, tokenizer=tokenizer),
        tokenizer,
        enable_strict_thinking=bool(getattr(server_args, "enable_strict_thinking", False)),
    )


def register() -> None:
    """Add the backend to SGLang's. Called by SGLang as a plugin in every process, and safe to call again."""
    from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES, add_grammar_backend_choices

    if NAME not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices([NAME])
    register_grammar_backend(NAME, create_backend)
