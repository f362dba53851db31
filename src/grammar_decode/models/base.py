"""What `generate` asks of a language model: five names, and two more where it has them. Any framework fits behind.

Logits cross this line as a writable float32 numpy vector, one number for each row of the model's output layer; the
width may be larger than the vocabulary (padding rows), and `generate` masks whatever is past it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from grammar_decode.vocabulary import Vocabulary

Logits = npt.NDArray[np.float32]


@runtime_checkable
class LanguageModel(Protocol):
    """A model with one running sequence. Not thread-safe: its key-value cache is its state.

    Two more methods are used where a model has them: ``extend(token_ids) -> Logits`` appends several tokens (at least
    one) in one call, and ``tokenize(text) -> list[int]`` is the tokenizer alone, without a template and special tokens.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of the model's tokens and its stop tokens; made once."""

    @property
    def context_size(self) -> int | None:
        """The most tokens that prompt and output may have together, or None if there is no such limit."""

    def encode(self, prompt: str) -> list[int]:
        """The prompt as token ids, as this model wants to be addressed (in its chat template, if it has one)."""

    def prefill(self, ids: Sequence[int]) -> Logits:
        """Start over with `ids` (not empty); return the logits of the token that follows them."""

    def step(self, token_id: int) -> Logits:
        """Append one token to the running sequence; return the logits of the token that follows it."""


def extend(model: LanguageModel, token_ids: Sequence[int]) -> Logits:
    """Append tokens (at least one) in one call where the model can, else one by one; the logits behind the last."""
    whole: Callable[[Sequence[int]], Logits] | None = getattr(model, "extend", None)
    if whole is not None and len(token_ids) > 1:
        return whole(token_ids)
    for token_id in token_ids[:-1]:
        model.step(token_id)
    return model.step(token_ids[-1])
