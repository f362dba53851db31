"""Walks through a grammar by the public API: masks as sets, random logits, and a way to come to an end."""

from __future__ import annotations

import contextlib
import functools
import json
import random
import re
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume

import grammar_decode as gd
from vocabularies import TestVocabulary

Mask = npt.NDArray[np.int32]

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
#: How much a byte outside of strings is wanted for an end.
_WORTH = {
    byte: worth
    for bytes_, worth in ((b"]}", 4), (b"[{", -6), (b",:", -5), (b"0123456789", -5.5), (b" \t\n\r", -12))
    for byte in bytes_
}


@functools.cache
def as_vocabulary(vocabulary: TestVocabulary) -> gd.Vocabulary:
    return gd.Vocabulary(
        list(vocabulary.token_bytes), stop_token_ids=vocabulary.stop_token_ids, size=vocabulary.size
    )  # fmt: skip


def mask_of(matcher: gd.GrammarMatcher) -> Mask:
    """The next mask, a new row."""
    bitmask = gd.allocate_token_bitmask(1, matcher.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    row: Mask = bitmask[0]
    return row


def tokens_needed(grammar: gd.Grammar, vocabulary: gd.Vocabulary) -> int:
    """As construction says: for a limit of 0 tokens there is no document."""
    with pytest.raises(gd.MatcherError, match="the shortest document that is known needs") as refusal:
        gd.GrammarMatcher(grammar, vocabulary, max_tokens=0)
    return int(str(refusal.value).split("needs ")[1].split()[0])


def drawn_matcher(schema: Any, vocabulary: TestVocabulary, options: gd.JsonOptions) -> gd.GrammarMatcher:
    """The matcher of a drawn schema; an example that has none, being unsatisfiable or too complex, is left out."""
    matcher = None
    with contextlib.suppress(gd.UnsatisfiableSchema, gd.SchemaTooComplex):
        matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, options), as_vocabulary(vocabulary))
    assume(matcher is not None)  # not in a handler: it raises, and a chained error would hide that
    assert matcher is not None
    return matcher


def ids_of(mask: Mask) -> list[int]:
    """The allowed ids, in increasing order."""
    ids: list[int] = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
    return ids


def text_of(vocabulary: TestVocabulary, token_ids: list[int]) -> bytes:
    """The text of the tokens; stop tokens have none."""
    stops = vocabulary.stop_token_ids
    return b"".join(vocabulary.token_bytes[t] or b"" for t in token_ids if t not in stops)


@functools.cache
def closing_bias(vocabulary: TestVocabulary, *, in_string: bool) -> npt.NDArray[np.float32]:
    """Logits that lead to an end: stop tokens first, then what closes; nothing that opens, nothing blank."""
    bias = np.zeros(vocabulary.size, dtype=np.float32)
    for token_id, text in enumerate(vocabulary.token_bytes):
        inside = in_string
        for byte in _ESCAPE.sub(b"", text or b""):
            if byte == ord('"'):
                inside = not inside
                bias[token_id] += -4 if inside else 6
            elif not inside:
                bias[token_id] += _WORTH.get(byte, 0)
        bias[token_id] -= 0.2 * len(text or b"")
    bias[list(vocabulary.stop_token_ids)] = 100
    return bias * 20


def ends_in_string(text: bytes) -> bool:
    """Whether a prefix of a JSON text ends within a string."""
    return _STRING.sub(b"", text).count(b'"') > 0


def random_walk(
    matcher: gd.GrammarMatcher, vocabulary: TestVocabulary, seed: int, *, free: int = 25, most: int = 250
) -> list[int] | None:
    """The tokens of a whole generation: ``free`` uniform ones, then such as lead to an end; None if there is none.

    Asserts that each token drawn is on the mask, is accepted, and that no mask is empty.
    """
    rng = np.random.default_rng(seed)
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    tokens: list[int] = []
    for step in range(most):
        logits = rng.uniform(-1, 1, (1, vocabulary.size)).astype(np.float32)
        if step >= free:
            logits += closing_bias(vocabulary, in_string=ends_in_string(text_of(vocabulary, tokens)))
        matcher.fill_next_token_bitmask(bitmask)
        gd.apply_token_bitmask_inplace(logits, bitmask)
        token_id = int(logits[0].argmax())
        where = f"after {text_of(vocabulary, tokens)!r}, token {token_id}"
        assert np.isfinite(logits[0, token_id]), f"the mask is empty {where}"
        assert matcher.accept_token(token_id), f"a token of the mask is refused {where}"
        tokens.append(token_id)
        if matcher.is_terminated():
            return tokens
    return None


def tokens_of(text: bytes, vocabulary: TestVocabulary, rng: random.Random) -> list[int]:
    """Some split of the text into tokens of the vocabulary, long ones preferred."""
    by_text = _ids_by_text(vocabulary)
    tokens: list[int] = []
    at = 0
    while at < len(text):
        lengths = [n for n in range(1, min(len(text) - at, 16) + 1) if text[at : at + n] in by_text]
        length = lengths[-1] if rng.random() < 0.7 else rng.choice(lengths)
        tokens.append(rng.choice(by_text[text[at : at + length]]))
        at += length
    return tokens


@functools.cache
def _ids_by_text(vocabulary: TestVocabulary) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for token_id, text in enumerate(vocabulary.token_bytes):
        if text and token_id not in vocabulary.stop_token_ids:
            found.setdefault(text, []).append(token_id)
    return found


def written(value: Any, blanks: random.Random | None = None, comma: str = ",", colon: str = ":") -> str:
    """The value as JSON: canonical strings, plain decimals, and (with ``blanks``) a little whitespace."""

    def blank() -> str:
        return blanks.choice(("", "", " ", "\n  ", "\t")) if blanks else ""

    def write(value: Any) -> str:
        if isinstance(value, dict):
            members = (
                f"{json.dumps(k, ensure_ascii=False)}{blank()}{colon}{blank()}{write(v)}" for k, v in value.items()
            )
            return "{" + blank() + f"{blank()}{comma}{blank()}".join(members) + blank() + "}"
        if isinstance(value, list):
            return "[" + blank() + f"{blank()}{comma}{blank()}".join(map(write, value)) + blank() + "]"
        if isinstance(value, float):
            return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")
        return json.dumps(value, ensure_ascii=False)

    return write(value)
