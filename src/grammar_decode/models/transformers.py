"""A Hugging Face transformers model behind :class:`~grammar_decode.models.base.LanguageModel`.

Stepping with the key-value cache: the prompt is read once, then one token a step. Nothing global is changed: not the
number of threads, not the default device or type.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grammar_decode.errors import ModelError
from grammar_decode.models.base import Logits

if TYPE_CHECKING:
    from grammar_decode.vocabulary import Vocabulary

_INSTALL = "a transformers model needs torch and transformers: pip install 'grammar-decode[transformers]'"


class TransformersModel:
    """One sequence of a causal language model of transformers. Not thread-safe."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Wrap a loaded model and its tokenizer; the model is put into evaluation mode."""
        self.model = model.eval()
        self.tokenizer = tokenizer
        self._vocabulary: Vocabulary | None = None
        self._cache: Any = None
        self._length = 0
        # transformers 5 renamed `past_key_values` to `cache`, and not every architecture can leave logits out.
        takes = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in takes else "past_key_values"
        self._options = {"use_cache": True} | ({"logits_to_keep": 1} if "logits_to_keep" in takes else {})

    @classmethod
    def from_pretrained(cls, name: str, *, device: str = "cpu") -> TransformersModel:
        """Load a folder or a hub id: in float32 on a CPU, in the type it was saved with elsewhere."""
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
            from transformers.utils import logging
        except ImportError as error:
            raise ImportError(f"{_INSTALL} (missing here: {error.name})") from error
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            tokenizer = AutoTokenizer.from_pretrained(name)
            model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32 if device == "cpu" else "auto")
            return cls(model.to(device), tokenizer)
        except (OSError, ValueError, RuntimeError, AssertionError) as error:  # the last: torch built without CUDA
            raise ModelError(f"can't load the model {name!r}: {_in_short(error)}") from error
        finally:
            if bars:
                logging.enable_progress_bar()

    @property
    def vocabulary(self) -> Vocabulary:
        if self._vocabulary is None:
            self._vocabulary = vocabulary_of(self.model, self.tokenizer)
        return self._vocabulary

    @property
    def context_size(self) -> int | None:
        size = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return int(size) if size else None

    def encode(self, prompt: str) -> list[int]:
        """The prompt as the user's turn of a chat if the tokenizer has a chat template, else as plain text."""
        if getattr(self.tokenizer, "chat_template", None):
            chat = [{"role": "user", "content": prompt}]
            text = self.tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
            ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        else:
            ids = self.tokenizer(prompt)["input_ids"]
        return [int(token_id) for token_id in ids]

    def prefill(self, ids: Sequence[int]) -> Logits:
        if not ids:
            raise ModelError("the prompt has no tokens: a model needs at least one to start from")
        self._cache = None
        self._length = 0
        return self._forward(list(ids))

    def step(self, token_id: int) -> Logits:
        if self._cache is None:
            raise ModelError("step() before prefill(): there is no running sequence")
        return self._forward([token_id])

    def extend(self, token_ids: Sequence[int]) -> Logits:
        if self._cache is None:
            raise ModelError("extend() before prefill(): there is no running sequence")
        return self._forward(list(token_ids))

    def tokenize(self, text: str) -> list[int]:
        """The text's own tokens: no chat template, nothing before or behind."""
        return [int(token_id) for token_id in self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _forward(self, ids: list[int]) -> Logits:
        import torch

        with torch.inference_mode():
            device = self.model.device
            inputs = torch.tensor([ids], dtype=torch.long, device=device)
            self._length += len(ids)
            output = self.model(
                input_ids=inputs,
                attention_mask=torch.ones((1, self._length), dtype=torch.long, device=device),
                **{self._cache_name: self._cache},
                **self._options,
            )
            self._cache = getattr(output, self._cache_name)
            last = output.logits[0, -1].float().cpu().numpy()
        return np.array(last, dtype=np.float32)


def vocabulary_of(model: Any, tokenizer: Any) -> Vocabulary:
    """The tokens of a loaded model, as wide as its logits, with the stop tokens of its generation config.

    Tokens that were added to the tokenizer without widening the model are left out: it can't write them.
    """
    from grammar_decode.vocabulary import Vocabulary

    width = int(model.get_output_embeddings().weight.shape[0])
    stops = _stop_token_ids(model, tokenizer) or None
    if width >= len(tokenizer):
        return Vocabulary.from_tokenizer(tokenizer, size=width, stop_token_ids=stops)
    whole = Vocabulary.from_tokenizer(tokenizer, stop_token_ids=stops)
    inside = [token_id for token_id in whole.stop_token_ids if token_id < width]
    return Vocabulary(whole.token_bytes[:width], stop_token_ids=inside, size=width)


def _stop_token_ids(model: Any, tokenizer: Any) -> list[int]:
    """What ends an answer: the generation config may name several tokens, and knows better than the tokenizer."""
    named = getattr(model.generation_config, "eos_token_id", None)
    if named is None:
        named = tokenizer.eos_token_id
    ids = named if isinstance(named, list) else [named]
    return [int(token_id) for token_id in ids if token_id is not None]


def _in_short(error: Exception) -> str:
    """The beginning of the long messages that transformers writes, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + "…"
