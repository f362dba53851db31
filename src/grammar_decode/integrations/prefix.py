"""Matchers of sequences that an engine names only by their tokens.

Where a hook is called with all tokens so far and nothing else, one matcher per row is not enough: beam search reorders
and doubles rows between two calls, assisted generation asks behind several drafts and then goes back. The tokens
themselves are the only name of a state, so states are kept by them.
"""

from __future__ import annotations

from collections import OrderedDict

from grammar_decode import Grammar, GrammarMatcher, Vocabulary

Tokens = tuple[int, ...]


class PrefixStates:
    """The matchers of one grammar behind the token sequences that were asked for last. Not thread-safe."""

    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, *, capacity: int = 64, max_tokens: int | None = None
    ) -> None:
        """At most ``capacity`` states are kept; an older one is made again from its nearest relative.

        ``max_tokens``: see :class:`GrammarMatcher`; raises :class:`MatcherError` if no document is that short.
        """
        self.capacity = capacity
        # Every matcher of this integration descends from this one by fork(): what holds for all is said here.
        self._root = GrammarMatcher(grammar, vocabulary, max_tokens=max_tokens)
        self._size = vocabulary.size
        self._states: OrderedDict[Tokens, GrammarMatcher | None] = OrderedDict()

    def at(self, tokens: Tokens) -> GrammarMatcher | None:
        """The matcher behind ``tokens``, to be read only; None where the grammar refuses them.

        What follows a stop token (padding, in a batch) is ignored. One more token than before is one accept, a state
        seen before one look-up, and any other a rollback of what differs.
        """
        if not tokens:
            return self._root
        if tokens in self._states:
            self._states.move_to_end(tokens)
            return self._states[tokens]
        if tokens[:-1] in self._states:
            nearest, num_known = self._states[tokens[:-1]], len(tokens) - 1
        else:
            nearest, num_known = self._nearest(tokens)
        matcher = self._grown(nearest, tokens, num_known)
        self._states[tokens] = matcher
        while len(self._states) > self.capacity:
            self._states.popitem(last=False)
        return matcher

    def _nearest(self, tokens: Tokens) -> tuple[GrammarMatcher, int]:
        """A state that shares the longest beginning with ``tokens``, and the length of that."""
        found, longest = self._root, 0
        for others, matcher in reversed(self._states.items()):
            if matcher is not None and (common := _common_length(others, tokens)) > longest:
                found, longest = matcher, common
        return found, longest

    def _grown(self, nearest: GrammarMatcher | None, tokens: Tokens, num_known: int) -> GrammarMatcher | None:
        """A matcher behind all of ``tokens``, out of one that has read at least the first ``num_known``."""
        if nearest is None or (nearest.is_terminated() and nearest.num_steps <= num_known):
            return nearest
        matcher = nearest.fork()
        if matcher.num_steps > num_known:
            matcher.rollback(matcher.num_steps - num_known)
        for token_id in tokens[num_known:]:
            if matcher.is_terminated():
                break
            if not 0 <= token_id < self._size or not matcher.accept_token(token_id):
                return None
        return matcher


def _common_length(left: Tokens, right: Tokens) -> int:
    """The length of the common beginning, by halving: comparing slices is faster than looking at each token."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
