"""Compiled grammars shared between the requests of a server."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from grammar_decode import Grammar, GrammarMatcher, Vocabulary


class GrammarCache:
    """The grammars that were asked for last, of one vocabulary. Thread-safe.

    A grammar holds its states and masks too, and these grow while it is in use; both limits are met whenever a grammar
    is added. One that was dropped lives on with the requests that use it.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, max_grammars: int = 1024, max_bytes: int = 512 << 20, to_check: int = 32
    ) -> None:
        """``max_bytes``: of all grammars together, measured at every ``to_check``-th addition."""
        self.vocabulary = vocabulary
        self.max_grammars = max_grammars
        self.max_bytes = max_bytes
        self._to_check = to_check
        self._num_added = 0
        self._grammars: OrderedDict[Hashable, Grammar] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compile_grammar: Callable[[], Grammar]) -> Grammar:
        """The grammar of ``key``, made now if it is not there. Raises what ``compile_grammar`` raises."""
        with self._lock:
            known = self._grammars.get(key)
            if known is not None:
                self._grammars.move_to_end(key)
                return known
        made = compile_grammar()  # without the lock; if two threads make the same, one of them is kept
        with self._lock:
            grammar = self._grammars.setdefault(key, made)
            self._num_added += 1
            while len(self._grammars) > self.max_grammars:
                self._grammars.popitem(last=False)
            if self._num_added % self._to_check == 0:
                self._drop_the_oldest_beyond_max_bytes()
            return grammar

    def clear(self) -> None:
        """Drop all grammars."""
        with self._lock:
            self._grammars.clear()

    def memory_bytes(self) -> int:
        """Bytes of the states and masks of all grammars together."""
        with self._lock:
            return sum(self._sizes().values())

    def __len__(self) -> int:
        return len(self._grammars)

    def _drop_the_oldest_beyond_max_bytes(self) -> None:
        sizes = self._sizes()
        total = sum(sizes.values())
        while total > self.max_bytes and len(self._grammars) > 1:
            key, _ = self._grammars.popitem(last=False)
            total -= sizes[key]

    def _sizes(self) -> dict[Hashable, int]:
        return {key: GrammarMatcher(g, self.vocabulary).memory_bytes for key, g in self._grammars.items()}
