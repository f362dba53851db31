"""Forced text as tokens: what a loop can append without asking the model.

Text is forced where every document goes on with it. Its tokens are those that the tokenizer itself would make of it,
and they end before the first place from which an allowed token goes past the forced text: there the model may want a
token that is half forced and half its own, and cutting it in two would hand it text that it never saw spelled like
that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from grammar_decode import _core
from grammar_decode.vocabulary import Vocabulary

Encode = Callable[[str], Sequence[int]]


def forced_tokens(matcher: _core.Matcher, vocabulary: Vocabulary, encode: Encode | None, max_bytes: int) -> list[int]:
    """The tokens of the forced text, as `GrammarMatcher.forced_tokens` describes them."""
    text = _whole_characters(matcher.forced_bytes(max_bytes))
    end = _first_open_end(matcher, vocabulary, text)
    if not end:
        return []
    token_ids = _canonical(vocabulary, text, encode) or vocabulary._core_vocabulary.fewest_tokens(text) or []
    ends = accumulate(len(vocabulary.token_bytes[token_id] or b"") for token_id in token_ids)
    token_ids = token_ids[: sum(place <= end for place in ends)]
    return token_ids[: matcher.validate_tokens(token_ids)]


def _whole_characters(text: bytes) -> bytes:
    """Without the first bytes of a character that is not yet decided."""
    return text.decode("utf-8", errors="ignore").encode()


def _first_open_end(matcher: _core.Matcher, vocabulary: Vocabulary, text: bytes) -> int:
    """The first place in `text` from which an allowed token goes past its end; its length if there is none."""
    ahead, read = matcher._copy_state(), 0
    for place in range(max(0, len(text) - vocabulary.longest_token), len(text)):
        if vocabulary._core_vocabulary.has_longer_token(text[place:]):
            ahead.accept_bytes(text[read:place])
            read = place
            if _allows_longer(ahead, vocabulary, len(text) - place):
                return place
    return len(text)


def _allows_longer(matcher: _core.Matcher, vocabulary: Vocabulary, length: int) -> bool:
    bitmask = np.zeros((1, (vocabulary.size + 31) // 32), dtype=np.int32)
    matcher.fill_next_token_bitmask(bitmask)
    allowed = np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little").view(np.bool_))
    texts = vocabulary.token_bytes
    return any(len(texts[token_id] or b"") > length for token_id in allowed)


def _canonical(vocabulary: Vocabulary, text: bytes, encode: Encode | None) -> list[int] | None:
    """The tokenizer's own tokens, if they spell the text: some add a blank before it, or read a marker in it."""
    if encode is None:
        return None
    token_ids = [int(token_id) for token_id in encode(text.decode("utf-8"))]
    texts = vocabulary.token_bytes
    pieces = [texts[token_id] if 0 <= token_id < len(texts) else None for token_id in token_ids]
    if None in pieces or b"".join(piece or b"" for piece in pieces) != text:
        return None
    return token_ids
