"""llama-cpp-python: a logits processor for ``Llama.create_completion``, ``create_chat_completion`` and ``generate``.

    processor = GrammarLogitsProcessor.for_model(grammar, llama)
    llama.create_chat_completion(messages, logits_processor=[processor])

It is called inside a callback of llama.cpp, where an exception would be printed and the token drawn without a mask. So
nothing is raised there: where the mask can't be had, only stop tokens are left, and ``error`` says why.

Contract: llama-cpp-python 0.3.36. ``scores`` are a view into llama.cpp's records of tokens (a stride of 12 bytes), in
the order of the ids, before penalties and temperature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grammar_decode import (
    Grammar,
    GrammarDecodeError,
    Vocabulary,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
)
from grammar_decode.integrations.prefix import PrefixStates


class GrammarLogitsProcessor:
    """Masks the logits of one completion. Make a new one for each, or :meth:`reset` it; with a draft model as well.

    Don't pass ``logit_bias`` beside it: llama-cpp-python 0.3.36 drops all logits processors then.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, *, max_tokens: int | None = None) -> None:
        """``vocabulary``: ``Vocabulary.from_tokenizer(llama)``, whose stop tokens are all that llama.cpp ends at.

        ``max_tokens``: that of the completion; the document is complete within it. Raises :class:`MatcherError` if none
        is that short.
        """
        self._states = PrefixStates(grammar, vocabulary, capacity=2, max_tokens=max_tokens)
        self._stops = np.array(vocabulary.stop_token_ids)
        self._bitmask = allocate_token_bitmask(1, vocabulary.size)
        self.reset()

    @classmethod
    def for_model(cls, grammar: Grammar, llama: Any, **options: Any) -> GrammarLogitsProcessor:
        """The same for a loaded model. Its vocabulary is read from the file (a fraction of a second)."""
        return cls(grammar, Vocabulary.from_tokenizer(llama), **options)

    def reset(self) -> None:
        """Forget the last completion."""
        self._prompt_length: int | None = None
        self._num_sampled = 0
        #: Why the mask of the last completion could not be had; None if all went well.
        self.error: str | None = None

    def __call__(self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]) -> npt.NDArray[np.single]:
        """``scores``, with -inf where the grammar forbids, in place. ``input_ids``: prompt, answer so far, drafts."""
        if self._prompt_length is None:
            self._prompt_length = len(input_ids)
        # subtle: with a draft model the ids go on with drafts that are not verified, and the same ids come again for
        # each of them. Every call draws one token, and what was drawn is in the ids before the next call.
        end = self._prompt_length + self._num_sampled
        self._num_sampled += 1
        try:
            matcher = self._states.at(tuple(input_ids[self._prompt_length : end].tolist()))
            if end > len(input_ids) or matcher is None:
                self.error = "the tokens are not those of one completion: make a new processor for each, or reset() it"
            elif matcher.is_terminated():
                return scores
            else:
                matcher.fill_next_token_bitmask(self._bitmask)
                apply_token_bitmask_inplace(scores, self._bitmask[0])
                return scores
        except GrammarDecodeError as error:
            self.error = str(error)
        kept = scores[self._stops]
        scores[:] = -np.inf
        scores[self._stops] = kept
        return scores
