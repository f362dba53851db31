"""Markers of a reply that are tokens of their own, not text."""

from __future__ import annotations

import operator
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
        object.__setattr__(self, "ids", dict(sorted(_checked_ids(self.ids).items())))
        if len(self.ids) > len(CODES):
            raise VocabularyError(f"{len(self.ids)} marker tokens are too many; {len(CODES)} are possible")
        if len(set(self.ids.values())) != len(self.ids):
            raise VocabularyError(f"two markers are the same token: {self.ids}")

    def __hash__(self) -> int:
        return hash(tuple(self.ids.items()))

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, markers: Iterable[str]) -> MarkerTokens:
        """The ids of ``markers``, which are added tokens of a tokenizer of transformers or tokenizers.

        What is text in the vocabulary already (``added_tokens_as_text``) need not be here. Raises VocabularyError for
        markers that this tokenizer has not.
        """
        if isinstance(markers, str):
            raise TypeError(f"markers is the string {markers!r:.60}; pass a list: [{markers!r:.60}]")
        if not isinstance(markers, Iterable):
            raise TypeError(f"markers must be a list of texts, not {type(markers).__name__}")
        wanted = list(markers)
        for marker in wanted:
            if not isinstance(marker, str):
                raise TypeError(f"a marker must be a text, not {marker!r:.60} ({type(marker).__name__})")
        if hasattr(tokenizer, "get_added_tokens_decoder"):
            added = {str(token.content): token_id for token_id, token in tokenizer.get_added_tokens_decoder().items()}
        elif hasattr(tokenizer, "get_added_vocab"):
            added = tokenizer.get_added_vocab()
        else:
            raise VocabularyError(
                f"MarkerTokens.from_tokenizer reads tokenizers of transformers and tokenizers, not a "
                f"{type(tokenizer).__name__}. Pass the ids: MarkerTokens({{marker: token_id}})."
            )
        if missing := [marker for marker in wanted if marker not in added]:
            raise VocabularyError(
                f"The tokenizer has no added token {', '.join(map(repr, missing))}; it has {_some(added)}. "
                "Leave out what this model writes as text: a marker that is not here is text in the grammar."
            )
        return cls({marker: added[marker] for marker in wanted})

    @property
    def codes(self) -> dict[str, bytes]:
        """The byte that stands for each marker, in the grammar and in the vocabulary."""
        return {marker: bytes((code,)) for marker, code in zip(self.ids, CODES, strict=False)}

    def applied_to(self, vocabulary: Vocabulary) -> Vocabulary:
        """The vocabulary in which these tokens can be written, where a grammar has the marker, and only there.

        Raises VocabularyError for an id outside of it, or a stop token.
        """
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(f"the markers are applied to a Vocabulary, not to {type(vocabulary).__name__}")
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


def _checked_ids(ids: Any) -> dict[str, int]:
    if not isinstance(ids, Mapping):
        raise TypeError(f"MarkerTokens needs a mapping of markers to token ids, not {type(ids).__name__}")
    checked = {}
    for marker, token_id in ids.items():
        if not isinstance(marker, str) or not marker:
            raise VocabularyError(f"a marker must be text of at least one character, not {marker!r:.60}")
        try:
            checked[marker] = operator.index(token_id)
        except TypeError:
            raise VocabularyError(f"the marker {marker!r} must be a token id, not {token_id!r:.60}") from None
    return checked


def _some(added: Iterable[str]) -> str:
    names = sorted(added)
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "") or "none"
