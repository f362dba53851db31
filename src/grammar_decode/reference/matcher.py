"""The reference matcher: a grammar, a vocabulary, and a mask by replaying every token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from grammar_decode.errors import MatcherError, VocabularyError
from grammar_decode.ir import nodes as ir
from grammar_decode.reference.automaton import DEAD, Automaton, Configuration


class ReferenceMatcher:
    """What the kernel's matcher answers, slowly.

    ``token_bytes[i]`` is the text of token i; None (a special token) and b"" never match as text, and neither does a
    stop token. ``size`` is the padded width of the vocabulary. Raises VocabularyError if no document can be spelled.
    """

    def __init__(
        self,
        grammar: ir.Grammar,
        token_bytes: Sequence[bytes | None],
        stop_token_ids: Iterable[int],
        size: int | None = None,
    ) -> None:
        self.stop_token_ids = frozenset(stop_token_ids)
        self.size = len(token_bytes) if size is None else size
        self._texts = {
            token_id: text for token_id, text in enumerate(token_bytes) if text and token_id not in self.stop_token_ids
        }
        self.alphabet = frozenset(text[0] for text in self._texts.values() if len(text) == 1)
        self._automaton = Automaton(grammar, self.alphabet)
        initial = self._automaton.initial()
        if not initial:
            raise VocabularyError("no document of this grammar can be spelled with the vocabulary's single-byte tokens")
        self._history: list[tuple[Configuration, bool]] = [(initial, False)]  # (configuration, a stop token was taken)

    @property
    def configuration(self) -> Configuration:
        """Where the text so far may be in the grammar."""
        return self._history[-1][0]

    def is_accepting(self) -> bool:
        """Whether the text so far is a whole document."""
        return self._automaton.is_accepting(self.configuration)

    def is_terminated(self) -> bool:
        """Whether a stop token was accepted."""
        return self._history[-1][1]

    def accept_bytes(self, text: bytes) -> bool:
        """Read ``text``; False and no change if it leads out of the grammar. One step for :meth:`rollback`."""
        after = DEAD if self.is_terminated() else self._after(text, {})
        if after:
            self._history.append((after, False))
        return bool(after)

    def accept_token(self, token_id: int) -> bool:
        """Read a token; False and no change if it may not come. After a stop token nothing may."""
        if not 0 <= token_id < self.size:
            raise MatcherError(f"token id {token_id} is out of range; the vocabulary has {self.size} ids")
        if token_id in self.stop_token_ids:
            if self.is_terminated() or not self.is_accepting():
                return False
            self._history.append((self.configuration, True))
            return True
        return token_id in self._texts and self.accept_bytes(self._texts[token_id])

    def allowed_tokens(self) -> set[int]:
        """The ids that :meth:`accept_token` accepts now; after a stop token, the stop tokens."""
        allowed: set[int] = set(self.stop_token_ids) if self.is_accepting() else set()
        if not self.is_terminated():
            steps: dict[tuple[Configuration, int], Configuration] = {}
            allowed |= {token_id for token_id, text in self._texts.items() if self._after(text, steps)}
        return allowed

    def allowed_bytes(self) -> set[int]:
        """The bytes that :meth:`accept_bytes` accepts now."""
        return {byte for byte in range(256) if not self.is_terminated() and self._after(bytes((byte,)), {})}

    def bitmask(self) -> npt.NDArray[np.int32]:
        """:meth:`allowed_tokens` as int32 words: token i is bit ``i % 32`` of word ``i // 32``."""
        bits = np.zeros((self.size + 31) // 32 * 32, dtype=np.uint8)
        bits[list(self.allowed_tokens())] = 1
        return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` accepted steps."""
        if not 0 <= count < len(self._history):
            raise MatcherError(f"rollback by {count} steps; {len(self._history) - 1} were accepted")
        del self._history[len(self._history) - count :]

    def reset(self) -> None:
        """Back to the empty text."""
        del self._history[1:]

    def _after(self, text: bytes, steps: dict[tuple[Configuration, int], Configuration]) -> Configuration:
        """The configuration after ``text``. ``steps`` remembers single steps for the caller."""
        configuration = self.configuration
        for byte in text:
            known = steps.get((configuration, byte))
            if known is None:
                known = steps[configuration, byte] = self._automaton.step(configuration, byte)
            if not known:
                return DEAD
            configuration = known
        return configuration


def accepts(grammar: ir.Grammar, text: bytes) -> bool:
    """Whether ``text`` is a document of the grammar."""
    automaton = Automaton(grammar)
    configuration = automaton.initial()
    for byte in text:
        configuration = automaton.step(configuration, byte)
    return automaton.is_accepting(configuration)


def is_empty(grammar: ir.Grammar) -> bool:
    """Whether the grammar has no document at all."""
    return not Automaton(grammar).initial()
