"""The matcher of one sequence: which tokens may come next, and the state behind those that came."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from typing import Any

from grammar_decode import _core, answers
from grammar_decode.answers import Explanation, Position
from grammar_decode.errors import MatcherError
from grammar_decode.forced import Encode, forced_tokens
from grammar_decode.grammar import Grammar
from grammar_decode.vocabulary import Vocabulary


class GrammarMatcher:
    """Follows one sequence of tokens through a grammar.

    One sequence, one matcher; different matchers may run in different threads, and filling a mask releases the GIL.
    ``stop_token_ids`` replace the vocabulary's for this sequence. ``max_tokens``: the document is complete within so
    many (docs/token-limits.md, also for ``count_stop_token`` and ``closing_budget``). Raises
    :class:`UnsatisfiableSchema` if no document can be finished with the tokens of this vocabulary, and
    :class:`MatcherError` if none within ``max_tokens``.

    A token that the grammar does not allow is refused with False, and the state stays as it was.
    """

    __slots__ = (
        "_matcher",
        "accept_token",
        "fill_next_token_bitmask",
        "grammar",
        "vocabulary",
    )

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary,
        *,
        stop_token_ids: Iterable[int] | None = None,
        max_tokens: int | None = None,
        count_stop_token: bool = True,
        closing_budget: int = 0,
    ) -> None:
        _check_types(grammar, vocabulary)
        stops = [] if stop_token_ids is None else _token_ids(stop_token_ids)
        if max_tokens is not None:
            max_tokens = _whole("max_tokens", max_tokens)
        elif closing_budget:
            raise MatcherError(f"closing_budget={closing_budget!r} says when to close, of max_tokens: pass that, too")
        closing_budget = _whole("closing_budget", closing_budget)
        if not isinstance(count_stop_token, bool):
            raise TypeError(f"count_stop_token must be True or False, not {count_stop_token!r:.60}")
        index = vocabulary._core_vocabulary_for(stops)
        matcher = _core.Matcher(grammar._core_grammar, index, stops, max_tokens, count_stop_token, closing_budget)
        self._bind(grammar, vocabulary, matcher)

    def _bind(self, grammar: Grammar, vocabulary: Vocabulary, matcher: _core.Matcher) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self._matcher = matcher
        #: ``fill_next_token_bitmask(bitmask, index=0)``: write the mask of the next token to row ``index``.
        #: ``bitmask`` is int32, numpy or torch on the CPU, of shape (batch, ceil(size / 32)). After termination the
        #: row holds the stop tokens. A wrong bitmask or row raises :class:`BitmaskError`.
        self.fill_next_token_bitmask = matcher.fill_next_token_bitmask
        #: ``accept_token(token_id) -> bool``: go on behind a token; False (and no change) if it is not allowed. An id
        #: outside of the vocabulary raises :class:`MatcherError`.
        self.accept_token = matcher.accept_token

    def accept_tokens(self, token_ids: Sequence[int]) -> bool:
        """Accept all of the tokens, or none of them. Each is a step of its own for :meth:`rollback`."""
        return self._matcher.accept_tokens(list(token_ids))

    def validate_tokens(self, token_ids: Sequence[int]) -> int:
        """How many of the tokens would be accepted one after another; the state is unchanged."""
        return self._matcher.validate_tokens(list(token_ids))

    def accept_bytes(self, data: bytes, *, num_tokens: int = 0) -> bool:
        """Go on behind ``data`` as text; one step for :meth:`rollback`. False (and no change) if it is not allowed.

        ``num_tokens``: as how many tokens of ``max_tokens`` the text counts.
        """
        return self._matcher.accept_bytes(data, num_tokens)

    def count_accepted_bytes(self, data: bytes) -> int:
        """How many bytes of ``data`` stay within the language; the state is unchanged."""
        return self._matcher.count_accepted_bytes(data)

    def rollback(self, num_steps: int = 1) -> None:
        """Take back the last steps, a stop token too.

        Raises :class:`MatcherError` (and changes nothing) if there are fewer.
        """
        self._matcher.rollback(num_steps)

    def fork(self) -> GrammarMatcher:
        """An independent matcher in the same state. O(1): the history is shared."""
        twin = object.__new__(type(self))
        twin._bind(self.grammar, self.vocabulary, self._matcher._copy_state())
        return twin

    def reset(self) -> None:
        """Back to the beginning, with no history."""
        self._matcher.reset()

    @property
    def num_steps(self) -> int:
        """How many steps :meth:`rollback` can take back."""
        return self._matcher.num_steps

    @property
    def tokens_left(self) -> int | None:
        """How many tokens of ``max_tokens`` are left; None without a limit."""
        return self._matcher.tokens_left

    def completion_distance(self) -> int | None:
        """An upper bound of the tokens that finish the document from here, without the stop token.

        0 where it is complete; from distance n some token leads to distance n - 1 or less. None where no way to the
        end is known (a search that was given up; such a matcher can't be made with ``max_tokens``).
        """
        return self._matcher.distance()

    def completion_bytes(self) -> int | None:
        """The fewest bytes that finish the document from here.

        An upper bound where items must be distinct or where keys of a pattern are needed; None where none is known.
        """
        return self._matcher.byte_distance()

    def shortest_completion(self, *, max_bytes: int = 1 << 20) -> bytes:
        """A text of :meth:`completion_bytes` bytes that finishes the document from here.

        Raises :class:`MatcherError` if it is longer than ``max_bytes``.
        """
        return self._matcher.shortest_completion(max_bytes)

    def forced_bytes(self, *, max_bytes: int = 1 << 16) -> bytes:
        """The longest text that every continuation begins with, up to ``max_bytes``; empty where there is a choice.

        Where the document is complete already, nothing is forced, because it may end.
        """
        return self._matcher.forced_bytes(max_bytes)

    def forced_tokens(self, encode: Encode | None = None, *, max_bytes: int = 1 << 16) -> list[int]:
        """The forced text as tokens, which :meth:`accept_tokens` takes; empty where there are none.

        ``encode``: the tokenizer's function from a text to token ids, without special tokens, so that the tokens are
        those that the model knows the text by; where it spells something else, and without it, they are the fewest. The
        tokens end before the first place from which an allowed token goes past the forced text, because the model may
        want that token, and where ``max_tokens`` has no room for more. The state is unchanged.
        """
        return forced_tokens(self._matcher, self.vocabulary, encode, max_bytes)

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """The tokens that end this sequence, in order: those it was made with, else the vocabulary's."""
        return tuple(sorted(set(self._matcher.stop_token_ids)))

    @property
    def text(self) -> bytes:
        """All that was accepted, stop tokens left out. Linear in its length."""
        return self._matcher.text()

    def is_accepting(self) -> bool:
        """Whether the document is complete, so that a stop token is allowed."""
        return self._matcher.is_accepting()

    def is_closed(self) -> bool:
        """Whether the document is complete and nothing but JSON's whitespace around it may follow: no need to ask the
        model any more. In a plain text (``compile_regex``) whitespace is text like any other.
        """
        return self._matcher.is_accepting() and all(kind == "end" for kind, *_ in self._matcher.expectations())

    def is_terminated(self) -> bool:
        """Whether a stop token was accepted."""
        return self._matcher.is_terminated()

    def allowed_bytes(self) -> bytes:
        """The bytes that may come next, in increasing order."""
        return self._matcher.allowed_bytes()

    def explain(self, token: int | bytes) -> Explanation:
        """Whether a token may come next, and if not, why: which rule took it, where, and what was expected there.

        ``allowed`` is what the mask says of the id; bytes are explained as :meth:`accept_bytes` takes them. The state
        is unchanged. For messages: it takes a millisecond or so, and is linear in the length of the text.

        Raises :class:`MatcherError` for an id outside of the vocabulary.
        """
        return answers.explain(self._matcher, self.grammar, self.vocabulary, token)

    def where(self) -> Position:
        """Where the text ends in the document and in the schema, what may come next, and how far the end is."""
        return answers.where(self._matcher, self.grammar)

    def describe_expected(self) -> str:
        """What may come next, in words, for messages; as ``where().expected``."""
        return answers.where(self._matcher, self.grammar, with_distance=False).expected

    def __copy__(self) -> GrammarMatcher:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> GrammarMatcher:
        return self.fork()

    def __repr__(self) -> str:
        state = "terminated" if self.is_terminated() else "complete" if self.is_accepting() else "open"
        return f"<GrammarMatcher {state} after {self.num_steps} steps>"


def fill_next_token_bitmasks(
    matchers: Sequence[GrammarMatcher],
    bitmask: Any,
    rows: Sequence[int] | None = None,
    *,
    max_threads: int | None = None,
) -> None:
    """Write the mask of ``matchers[i]`` to row ``rows[i]`` (by default row i) of one bitmask, for a whole batch.

    The masks are those of :meth:`GrammarMatcher.fill_next_token_bitmask`. The GIL is released once for all of them;
    where the batch takes long, up to ``max_threads`` threads (by default one for each core) share it. Rows that no
    matcher fills stay as they are. Raises :class:`BitmaskError` before anything is written; if a mask itself fails
    (:class:`SchemaTooComplex`), the other rows may have been written.
    """
    if max_threads is None:
        max_threads = os.cpu_count() or 1
    elif _whole("max_threads", max_threads) < 1:
        raise ValueError(f"max_threads must be at least 1, not {max_threads}")
    inner = [_inner(matcher) for matcher in matchers]
    _core.fill_next_token_bitmasks(inner, bitmask, list(range(len(inner)) if rows is None else rows), max_threads)


def fill_draft_bitmasks(
    matcher: GrammarMatcher,
    draft_token_ids: Sequence[int],
    bitmask: Any,
    index: int = 0,
    *,
    parents: Sequence[int] | None = None,
) -> list[bool]:
    """Speculative decoding: the mask of the next token, and the one behind each draft token, in one call.

    Row ``index`` gets the mask of the next token, row ``index + 1 + i`` that behind draft token i. The drafts are a
    chain, or a tree: ``parents[i]`` is the place of the draft token that i follows, -1 for the text so far; parents
    come before children. Returns for each draft token whether it is allowed where it stands; behind a refused one
    nothing is, and its row allows everything, because the engine never samples there. The matcher's state is unchanged.
    Raises :class:`BitmaskError` and :class:`MatcherError` (an id outside of the vocabulary, a parent out of order).
    """
    drafts = list(draft_token_ids)
    chain = range(-1, len(drafts) - 1) if parents is None else parents
    return _inner(matcher).fill_draft_bitmasks(drafts, list(chain), bitmask, index)


def _inner(matcher: Any) -> _core.Matcher:
    try:
        inner: _core.Matcher = matcher._matcher
    except AttributeError:
        raise TypeError(f"a GrammarMatcher is expected, not {type(matcher).__name__}") from None
    return inner


def _token_ids(given: Any) -> list[int]:
    try:
        return [operator.index(token_id) for token_id in given]
    except TypeError:
        raise TypeError(f"stop_token_ids must be a list of token ids, not {given!r:.60}") from None


def _whole(name: str, given: Any) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {given!r:.60}") from None


def _check_types(grammar: Any, vocabulary: Any) -> None:
    if not isinstance(grammar, Grammar) or not isinstance(vocabulary, Vocabulary):
        raise TypeError(
            "GrammarMatcher needs a Grammar (made by compile_json_schema) and a Vocabulary, "
            f"not {type(grammar).__name__} and {type(vocabulary).__name__}"
        )
