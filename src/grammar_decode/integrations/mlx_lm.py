"""MLX-LM: a logits processor for ``generate``, ``stream_generate`` and, one for each row, ``BatchGenerator``.

    processor = GrammarLogitsProcessor.for_model(grammar, tokenizer)
    mlx_lm.generate(model, tokenizer, prompt, logits_processors=[processor])

Contract: mlx-lm 0.32. It is called with the tokens so far, prompt included (with a draft model only the prompt's last
token, and drafts that may be taken back), and the logits of the next one.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from grammar_decode import Grammar, Vocabulary, allocate_token_bitmask
from grammar_decode.integrations.prefix import PrefixStates


class GrammarLogitsProcessor:
    """Masks the logits of one generation. Make a new one for each, or :meth:`reset` it.

    Reading the tokens waits for the one that was drawn last, so a step does not overlap with the one before it.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, *, max_tokens: int | None = None) -> None:
        """``vocabulary``: its stop tokens must be those at which MLX-LM stops, ``tokenizer.eos_token_ids``.

        ``max_tokens``: that of the generation; the document is complete within it. Raises :class:`MatcherError` if none
        is that short.
        """
        self._states = PrefixStates(grammar, vocabulary, max_tokens=max_tokens)
        self._stops = list(vocabulary.stop_token_ids)
        self._bitmask = allocate_token_bitmask(1, vocabulary.size)
        self._size = vocabulary.size
        self.reset()

    @classmethod
    def for_model(cls, grammar: Grammar, tokenizer: Any, **options: Any) -> GrammarLogitsProcessor:
        """The same for the tokenizer that ``mlx_lm.load`` gives. The vocabulary is made anew (part of a second)."""
        return cls(grammar, vocabulary_of(tokenizer), **options)

    def reset(self) -> None:
        """Forget the last generation."""
        self._prompt_length: int | None = None

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """The logits with -inf where the grammar forbids. ``tokens``: (length,); ``logits``: (1, width), any type."""
        if self._prompt_length is None:
            self._prompt_length = tokens.size
        matcher = self._states.at(tuple(tokens[self._prompt_length :].tolist()))
        allowed = np.zeros(logits.shape[-1], dtype=bool)
        if matcher is None:  # a draft off the grammar, or a token that another processor forced
            allowed[[token_id for token_id in self._stops if token_id < allowed.size]] = True
        elif matcher.is_terminated():  # MLX-LM runs one step past the end
            return logits
        else:
            matcher.fill_next_token_bitmask(self._bitmask)
            bits = np.unpackbits(self._bitmask[0].view(np.uint8), count=self._size, bitorder="little")[: allowed.size]
            allowed[: bits.size] = bits
        return mx.where(mx.array(allowed), logits, mx.array(-float("inf"), logits.dtype))


def vocabulary_of(tokenizer: Any) -> Vocabulary:
    """The vocabulary of MLX-LM's tokenizer (a wrapper of one of transformers), with all of its end tokens.

    Logits wider than the vocabulary need no size here: what lies past it is forbidden.
    """
    inner = getattr(tokenizer, "_tokenizer", tokenizer)
    return Vocabulary.from_tokenizer(inner, stop_token_ids=getattr(tokenizer, "eos_token_ids", None) or None)
