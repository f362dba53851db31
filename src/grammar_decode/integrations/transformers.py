"""Hugging Face transformers: a logits processor for ``model.generate``.

    processor = GrammarLogitsProcessor.for_model(grammar, model, tokenizer)
    model.generate(**inputs, logits_processor=[processor])

The processor is called with the tokens of every row so far and the scores of the next one, before temperature and
top-p. No call says where the prompt ends, which rows belong to which prompt, or which beam a row came from; how each is
found out is said where it is done. Contract: ``transformers.LogitsProcessor``, releases 4.48 to 5.24.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from transformers import LogitsProcessor

from grammar_decode import (
    Grammar,
    Vocabulary,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    fill_next_token_bitmasks,
)
from grammar_decode.integrations.prefix import PrefixStates
from grammar_decode.models.transformers import vocabulary_of


class GrammarLogitsProcessor(LogitsProcessor):  # type: ignore[misc] # no type information where it is not installed
    """Masks the scores of ``generate`` so that every row writes a document of its grammar.

    For greedy search, sampling, beam search, assisted generation and prompt lookup, on batches with left padding. One
    processor serves one call of ``generate``; make a new one, or :meth:`reset` it, for the next. A row whose text was
    taken off the grammar by another processor may only stop.
    """

    #: There rows are not passed by their tokens; transformers drops the processor with a warning.
    supports_continuous_batching = False

    def __init__(
        self,
        grammar: Grammar | Sequence[Grammar | None],
        vocabulary: Vocabulary,
        *,
        prompt_length: int | None = None,
        max_new_tokens: int | None = None,
    ) -> None:
        """``grammar``: for all rows, or one for each prompt of the batch, None for a row that is not constrained.

        ``vocabulary``: see :func:`~grammar_decode.models.transformers.vocabulary_of`; its stop tokens must be those at
        which ``generate`` stops. ``prompt_length``: the number of tokens before the answer, padding included; by
        default the length at the first call. ``max_new_tokens``: that of ``generate``; every document is complete
        within it. Raises :class:`MatcherError` if none is that short.
        """
        self.vocabulary = vocabulary
        self._shared = isinstance(grammar, Grammar)
        self._grammars: list[Grammar | None] = [grammar] if isinstance(grammar, Grammar) else list(grammar)
        for each in self._grammars:
            if each is not None and not isinstance(each, Grammar):
                raise TypeError(f"GrammarLogitsProcessor needs Grammars (or None), not {type(each).__name__}")
        self._given_length = prompt_length
        self._max_new_tokens = max_new_tokens
        self._bitmask = allocate_token_bitmask(1, vocabulary.size)
        self.reset()

    @classmethod
    def for_model(
        cls, grammar: Grammar | Sequence[Grammar | None], model: Any, tokenizer: Any, **options: Any
    ) -> GrammarLogitsProcessor:
        """The same for a loaded model and its tokenizer. The vocabulary is made anew (a fraction of a second)."""
        return cls(grammar, vocabulary_of(model, tokenizer), **options)

    def reset(self) -> None:
        """Forget the last call of ``generate``."""
        self._prompt_length = self._given_length
        self._prompts: Any = None  # int64 (rows, prompt length), of the first call
        # Rows of one grammar share states: behind the same tokens it is in the same state, whichever row wrote them.
        self._states = {
            id(g): PrefixStates(g, self.vocabulary, max_tokens=self._max_new_tokens)
            for g in self._grammars
            if g is not None
        }

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores with -inf where the grammar forbids; ``scores`` itself is left alone.

        ``input_ids``: int64 (rows, length), prompt and answer so far. ``scores``: (rows, width), logits or log
        probabilities; columns past the vocabulary are forbidden.
        """
        num_rows, length = input_ids.shape
        if self._prompt_length is None:
            # The first call of all comes before anything was generated, in every mode of `generate`.
            self._prompt_length = length
        if length < self._prompt_length:
            raise ValueError(
                f"The rows have {length} tokens now, and had {self._prompt_length} at the first call. "
                "A processor serves one call of generate(): make a new one, or reset() it."
            )
        self._check_prompts(input_ids[:, : self._prompt_length])
        suffixes = [tuple(row) for row in input_ids[:, self._prompt_length :].tolist()]
        found = {row: states.at(suffixes[row]) for row, states in self._constrained_rows(num_rows)}
        dead = [row for row, matcher in found.items() if matcher is None]
        # A row that has ended is padded by `generate`, whatever its scores are.
        live = {row: matcher for row, matcher in found.items() if matcher is not None and not matcher.is_terminated()}
        if not live and not dead:
            return scores
        # Not in place: prompt lookup passes the same made-up scores behind each of its drafts.
        masked = scores.clone()
        if live:
            if num_rows > len(self._bitmask):
                self._bitmask = allocate_token_bitmask(num_rows, self.vocabulary.size)
            fill_next_token_bitmasks(list(live.values()), self._bitmask, list(live))
            apply_token_bitmask_inplace(masked, self._bitmask[:num_rows], indices=list(live))
        for row in dead:
            stops = [token_id for token_id in self.vocabulary.stop_token_ids if token_id < masked.shape[1]]
            kept = masked[row, stops]
            masked[row] = -float("inf")
            masked[row, stops] = kept
        return masked

    def _check_prompts(self, prompts: Any) -> None:
        """Another prompt would be read as an answer that left its grammar, and the row could only stop."""
        if self._prompts is None:
            self._prompts = prompts.clone()
        elif self._prompts.shape != prompts.shape or not bool((self._prompts == prompts).all()):
            known = set(map(tuple, self._prompts.tolist()))
            if not known.issuperset(map(tuple, prompts.tolist())):
                raise ValueError(
                    "The rows begin with another prompt than at the first call. "
                    "A processor serves one call of generate(): make a new one, or reset() it."
                )

    def _constrained_rows(self, num_rows: int) -> Iterator[tuple[int, PrefixStates]]:
        """The rows that have a grammar, and its states. The rows of one prompt (beams, samples) lie together."""
        num_prompts = 1 if self._shared else len(self._grammars)
        if num_prompts == 0 or num_rows % num_prompts:
            raise ValueError(
                f"{num_prompts} grammars were given, but generate() has {num_rows} rows: pass one a prompt."
            )
        for row in range(num_rows):
            grammar = self._grammars[row * num_prompts // num_rows]
            if grammar is not None:
                states = self._states[id(grammar)]
                states.capacity = max(states.capacity, 4 * num_rows)
                yield row, states
