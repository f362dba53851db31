"""Markers of a reply that are tokens of their own, not text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grammar_decode.errors import VocabularyError
from grammar_decode.vocabulary import Vocabulary

#: Bytes that are in no UTF-8 text: each stands for a marker token.
CODES = (*range(0xFF, 0xF4, -1), 0xC0, 0xC1)


@dataclass(frozen=True)
class MarkerTokens:
    """Markers that are tokens of their own: ``MarkerTokens({"</think>": 151668})``, at most 13.

    Such a marker is that token and nothing else; the same letters in other tokens are plain text. Give the same object
    to :func:`compile_chat_request` and, by :meth:`applied_to`, to the vocabulary.
    """

    ids: Mapping[str, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", dict(sorted(self.ids.items())))
        if len(self.ids) > len(CODES):
            raise VocabularyError(f"{len(self.ids)} marker tokens are too many; {len(CODES)} are possible")
        if len(set(self.ids.values())) != len(self.ids):
            raise VocabularyError(f"two markers are the same token: {self.ids}")

    def __hash__(self) -> int:
        return hash(tuple(self.ids.items()))

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, markers: Iterable[str]) -> MarkerTokens:
        """Those of ``markers`` that are single added tokens of a tokenizer of transformers or tokenizers.

        The others stay text. What is text in the vocabulary already (``added_tokens_as_text``) need not be here.
        """
        if hasattr(tokenizer, "get_added_tokens_decoder"):
            added = {str(token.content): token_id for token_id, token in tokenizer.get_added_tokens_decoder().items()}
        else:
            added = tokenizer.get_added_vocab()
        return cls({marker: added[marker] for marker in markers if marker in added})

    @property
    def codes(self) -> dict[str, bytes]:
        """The byte that stands for each marker, in the grammar and in the vocabulary."""
        return {marker: bytes((code,)) for marker, code in zip(self.ids, CODES, strict=False)}

    def applied_to(self, vocabulary: Vocabulary) -> Vocabulary:
        """The vocabulary in which these tokens can be written, where a grammar has the marker, and only there.

        Raises VocabularyError for an id outside of it, or a stop token.
        """
        codes = self.codes
        special = frozenset(code[0] for code in codes.values())
        tokens = [None if token is None or special.intersection(token) else token for token in vocabulary.token_bytes]
        for marker, token_id in self.ids.items():
            if not 0 <= token_id < len(tokens):
                raise VocabularyError(f"the marker {marker!r} can't be token {token_id}: there are {len(tokens)}")
            if token_id in vocabulary.stop_token_ids:
                raise VocabularyError(f"the marker {marker!r} can't be token {token_id}, which ends the text")
            tokens[token_id] = codes[marker]
        return Vocabulary(tokens, stop_token_ids=vocabulary.stop_token_ids, size=vocabulary.size)
