"""Models that decide by the text alone, so that the tokens it was spelled with make no difference to them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import grammar_decode as gd

Logits = npt.NDArray[np.float32]


class TextModel:
    """Follows the text behind a prompt, whose tokens have none; `calls` has the tokens of each call behind it."""

    context_size: int | None = None

    def __init__(self, vocabulary: gd.Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.text = b""
        self.calls: list[list[int]] = []
        self.prompt: list[int] | None = None

    def encode(self, _prompt: str) -> list[int]:
        return []

    def prefill(self, ids: Sequence[int]) -> Logits:
        self.text, self.prompt, self.calls = self._text(ids), list(ids), []
        return self.logits()

    def step(self, token_id: int) -> Logits:
        self.calls.append([token_id])
        self.text += self._text([token_id])
        return self.logits()

    def _text(self, ids: Sequence[int]) -> bytes:
        return b"".join(self.vocabulary.token_bytes[token_id] or b"" for token_id in ids)

    def logits(self) -> Logits:
        raise NotImplementedError


class Writer(TextModel):
    """Wants one text, and at each place the longest token of it; takes several tokens at once."""

    def __init__(self, vocabulary: gd.Vocabulary, wanted: bytes) -> None:
        super().__init__(vocabulary)
        self.wanted = wanted

    def extend(self, token_ids: Sequence[int]) -> Logits:
        self.calls.append(list(token_ids))
        self.text += self._text(token_ids)
        return self.logits()

    def logits(self) -> Logits:
        logits = np.zeros(self.vocabulary.size, np.float32)
        rest = self.wanted[len(self.text) :] if self.wanted.startswith(self.text) else b""
        for token_id, text in enumerate(self.vocabulary.token_bytes):
            if text and rest.startswith(text):
                logits[token_id] = len(text)
        if not rest:
            logits[list(self.vocabulary.stop_token_ids)] = 1
        return logits

    def tokenize(self, text: str) -> list[int]:
        """The longest token at each place, the lowest id of equal ones: what the model itself does."""
        rest, ids = text.encode(), []
        while rest:
            token_bytes = self.vocabulary.token_bytes
            found = [i for i, token in enumerate(token_bytes) if token and rest.startswith(token)]
            ids.append(max(found, key=lambda i: (len(token_bytes[i] or b""), -i)))
            rest = rest[len(token_bytes[ids[-1]] or b"") :]
        return ids


class Chance(TextModel):
    """Wants a byte that depends on the whole text, and single bytes before longer tokens."""

    def __init__(self, vocabulary: gd.Vocabulary, seed: int) -> None:
        super().__init__(vocabulary)
        self.seed = seed
        self.single = {
            text: i for i, text in reversed(list(enumerate(vocabulary.token_bytes))) if text and len(text) == 1
        }

    def logits(self) -> Logits:
        digest = hashlib.sha256(self.seed.to_bytes(8, "little") + self.text).digest()
        wishes = np.random.default_rng(list(digest)).random(257).astype(np.float32)
        logits = np.full(self.vocabulary.size, -1, np.float32)
        for text, token_id in self.single.items():
            logits[token_id] = wishes[text[0]]
        logits[list(self.vocabulary.stop_token_ids)] = wishes[256]
        return logits
