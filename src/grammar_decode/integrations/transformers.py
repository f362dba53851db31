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
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(
                f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}. "
                "Pass vocabulary_of(model, tokenizer), or use GrammarLogitsProcessor.for_model."
            )
        self.vocabulary = vocabulary
        self._shared = isinstance(grammar, Grammar)
        self._grammars = _checked_grammars(grammar)
        self._given_length = _checked_number("prompt_length", prompt_length, 0)
        self._max_new_tokens = _checked_number("max_new_tokens", max_new_tokens, 1)
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
        probabilities; columns past the vocabulary are forbidden, and fewer than it has tokens are refused.
        """
        num_rows, length = input_ids.shape
        if scores.shape[1] < self.vocabulary.needed_width:
            raise ValueError(
                f"The scores have {scores.shape[1]} columns, but the vocabulary has tokens up to id "
                f"{self.vocabulary.needed_width - 1}, which could never be drawn. It is of another model: "
                "pass vocabulary_of(model, tokenizer) of this one."
            )
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
            self._check_one_prompt_a_grammar(prompts)
            self._prompts = prompts.clone()
        elif self._prompts.shape != prompts.shape or not bool((self._prompts == prompts).all()):
            known = set(map(tuple, self._prompts.tolist()))
            if not known.issuperset(map(tuple, prompts.tolist())):
                raise ValueError(
                    "The rows begin with another prompt than at the first call. "
                    "A processor serves one call of generate(): make a new one, or reset() it."
                )

    def _check_one_prompt_a_grammar(self, prompts: Any) -> None:
        """A list of grammars shorter than the batch would pass for one prompt with several samples or beams."""
        num_prompts = len(self._grammars)
        if self._shared or len(prompts) % num_prompts:  # the latter is told with the rows
            return
        grouped = prompts.reshape(num_prompts, len(prompts) // num_prompts, -1)
        if not bool((grouped == grouped[:, :1]).all()):
            raise ValueError(
                f"{num_prompts} grammars were given as a list, but the {len(prompts)} rows are of more prompts: "
                "pass one grammar a prompt, None for one without; or one Grammar, not in a list, for all of them."
            )

    def _constrained_rows(self, num_rows: int) -> Iterator[tuple[int, PrefixStates]]:
        """The rows that have a grammar, and its states. The rows of one prompt (beams, samples) lie together."""
        num_prompts = 1 if self._shared else len(self._grammars)
        if num_rows % num_prompts:
            raise ValueError(
                f"{num_prompts} grammars were given, but generate() has {num_rows} rows: pass one a prompt."
            )
        for row in range(num_rows):
            grammar = self._grammars[row * num_prompts // num_rows]
            if grammar is not None:
                states = self._states[id(grammar)]
                states.capacity = max(states.capacity, 4 * num_rows)
                yield row, states


def _checked_grammars(grammar: Any) -> list[Grammar | None]:
    if isinstance(grammar, Grammar):
        return [grammar]
    expected = "Pass a Grammar, which compile_json_schema(schema) makes of a schema, or a list of one for each prompt"
    if not isinstance(grammar, Sequence) or isinstance(grammar, (str, bytes)):
        raise TypeError(f"grammar must be a Grammar or a list of them, not {type(grammar).__name__}. {expected}.")
    for index, each in enumerate(grammar):
        if each is not None and not isinstance(each, Grammar):
            raise TypeError(f"grammar[{index}] must be a Grammar or None, not {type(each).__name__}. {expected}.")
    if not grammar:
        raise ValueError(f"The list of grammars is empty. {expected}.")
    return list(grammar)


def _checked_number(name: str, value: Any, least: int) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number or None, not {value!r:.60} ({type(value).__name__})")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return value
