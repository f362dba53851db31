"""What `generate` asks of a language model: five names, so that any framework fits behind them.

Logits cross this line as a writable float32 numpy vector, one number for each row of the model's output layer; the
width may be larger than the vocabulary (padding rows), and `generate` masks whatever is past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from grammar_decode.vocabulary import Vocabulary

Logits = npt.NDArray[np.float32]


@runtime_checkable
class LanguageModel(Protocol):
    """A model with one running sequence. Not thread-safe: its key-value cache is its state."""

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
