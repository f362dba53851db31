"""`GrammarMatcher`, its batches, and the bitmask."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, NoReturn

import grammar_decode
from grammar_decode import GrammarMatcher as _Matcher
from grammar_decode import fill_next_token_bitmasks
from grammar_decode.compat.xgrammar.compiler import CompiledGrammar
from grammar_decode.compat.xgrammar.refusal import refuse


class GrammarMatcher:
    """The place of one sequence in its grammar."""

    max_rollback_tokens = -1  # no limit
    temperature = None

    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: Sequence[int] | int | None = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: float | None = None,
    ) -> None:
        """``terminate_without_stop_token``: a complete document is the end, even if it could go on."""
        del max_rollback_tokens
        if default_temperature is not None:
            refuse("temperatures of a grammar")
        vocabulary = compiled_grammar.tokenizer_info.vocabulary
        stops = [override_stop_tokens] if isinstance(override_stop_tokens, int) else override_stop_tokens
        self.stop_token_ids = list(vocabulary.stop_token_ids if stops is None else stops)
        self._matcher = _Matcher(compiled_grammar.grammar._grammar, vocabulary, stop_token_ids=stops)
        self._ends_when_complete = terminate_without_stop_token

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        del debug_print
        if not 0 <= token_id < self._matcher.vocabulary.size or self.is_terminated():
            return False
        return self._matcher.accept_token(token_id)

    def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool:
        """The whole text is one step for :meth:`rollback`."""
        del debug_print
        data = input_str.encode() if isinstance(input_str, str) else input_str
        return not self.is_terminated() and self._matcher.accept_bytes(data)

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, *, debug_print: bool = False) -> bool:
        """Always True: some token is forbidden in every mask. Raises RuntimeError after termination."""
        del debug_print
        if self.is_terminated():
            raise RuntimeError("the matcher has terminated: there is no next token")
        self._matcher.fill_next_token_bitmask(bitmask, index)
        return True

    def traverse_draft_tree(
        self,
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        draft_tokens: Any,
        token_bitmask: Any,
        time_threshold: float = -1.0,
        temperatures: Any = None,
    ) -> bool:
        """Fill row n for node n of a tree: its first child and next sibling (-1: none); node 0 was accepted before.

        Rows of refused nodes, of those behind them, and behind a stop token stay as they are. Returns True: all done.
        """
        del time_threshold
        if temperatures is not None:
            temperatures[:] = -1  # none
        child, sibling, tokens = (
            list(map(int, each)) for each in (retrieve_next_token, retrieve_next_sibling, draft_tokens)
        )
        open_nodes = [(0, self.fork())]
        while open_nodes:
            node, matcher = open_nodes.pop()
            if matcher.is_terminated():
                continue
            matcher.fill_next_token_bitmask(token_bitmask, node)
            at = child[node]
            while at != -1:
                behind = matcher.fork()
                if behind.accept_token(tokens[at]):
                    open_nodes.append((at, behind))
                at = sibling[at]
        return True

    def find_jump_forward_string(self) -> str:
        """The text that has to come, whole characters of it; empty where there is a choice."""
        if self.is_terminated():
            return ""
        try:
            return codecs.getincrementaldecoder("utf-8")().decode(self._matcher.forced_bytes())
        except UnicodeDecodeError:  # it begins within a character
            return ""

    def find_jump_forward_tokens(self) -> list[int]:
        """Tokens of the text that has to come, for :meth:`accept_token`; see ``forced_tokens`` of our matcher."""
        return [] if self.is_terminated() else self._matcher.forced_tokens()

    def get_captures(self, *, deduplicate: bool = True) -> NoReturn:
        del deduplicate
        refuse("captures")

    def rollback(self, num_tokens: int = 1) -> None:
        """Take back the last steps, a stop token too. Raises MatcherError if there are fewer."""
        self._matcher.rollback(num_tokens)

    def fork(self) -> GrammarMatcher:
        twin = object.__new__(type(self))
        twin.stop_token_ids = self.stop_token_ids
        twin._matcher = self._matcher.fork()
        twin._ends_when_complete = self._ends_when_complete
        return twin

    def is_terminated(self) -> bool:
        return self._matcher.is_terminated() or (self._ends_when_complete and self._matcher.is_accepting())

    def is_completed(self) -> bool:
        """Whether the document is complete, so that a stop token is allowed, or was accepted."""
        return self._matcher.is_accepting()

    def reset(self) -> None:
        self._matcher.reset()


class BatchGrammarMatcher:
    """The same calls for many matchers."""

    def __init__(self, max_threads: int | str = "auto") -> None:
        self._max_threads = max_threads if isinstance(max_threads, int) else None

    def batch_fill_next_token_bitmask(
        self,
        matchers: Sequence[GrammarMatcher],
        bitmask: Any,
        indices: Sequence[int] | None = None,
        debug_print: bool = False,
    ) -> None:
        """Fill one row for each matcher, in parallel where that pays. Raises RuntimeError if one has terminated."""
        del debug_print
        if any(matcher.is_terminated() for matcher in matchers):
            raise RuntimeError("a matcher has terminated: there is no next token")
        inner = [matcher._matcher for matcher in matchers]
        fill_next_token_bitmasks(inner, bitmask, indices, max_threads=self._max_threads)

    @staticmethod
    def batch_fill_temperature(
        matchers: Sequence[GrammarMatcher], temperatures: Any, indices: Sequence[int] | None = None
    ) -> None:
        """No grammar here has a temperature, which is written as -1."""
        for index in range(len(matchers)) if indices is None else indices:
            temperatures[index] = -1

    @staticmethod
    def batch_accept_token(
        matchers: Sequence[GrammarMatcher], tokens: Sequence[int], debug_print: bool = False
    ) -> list[bool]:
        del debug_print
        return [matcher.accept_token(token) for matcher, token in zip(matchers, tokens, strict=True)]

    @staticmethod
    def batch_accept_string(
        matchers: Sequence[GrammarMatcher], strings: Sequence[str | bytes], debug_print: bool = False
    ) -> list[bool]:
        del debug_print
        return [matcher.accept_string(text) for matcher, text in zip(matchers, strings, strict=True)]

    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: Sequence[int] | int = 1) -> None:
        counts = [num_tokens] * len(matchers) if isinstance(num_tokens, int) else num_tokens
        for matcher, count in zip(matchers, counts, strict=True):
            matcher.rollback(count)


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    return batch_size, -(-vocab_size // 32)


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:
    """A torch tensor, int32 on the CPU, that allows everything."""
    import torch

    return torch.full(get_bitmask_shape(batch_size, vocab_size), -1, dtype=torch.int32)


def reset_token_bitmask(bitmask: Any) -> None:
    """Allow everything."""
    bitmask.fill_(-1)


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: int | None = None,
    indices: Sequence[int] | None = None,
    backend: str = "auto",
) -> None:
    """Set forbidden logits to -inf. ``backend`` is accepted and not needed."""
    del backend
    grammar_decode.apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=indices)
