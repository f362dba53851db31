"""Reads the vocabulary of a GGUF file (llama.cpp's model format), without llama.cpp and without the gguf package.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Only the key-value header is read, however large the
model is: magic, version, counts, then (key, type, value) until all are seen.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grammar_decode.errors import VocabularyError
from grammar_decode.vocabulary.byte_rules import (
    END_NAMES,
    TokenTable,
    added_token_is_text,
    byte_level_bytes,
    metaspace_bytes,
)

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

# tokenizer.ggml.token_type
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6

#: What llama.cpp counts among the tokens that end a generation, beside END_NAMES: those of fill-in-the-middle, and some
#: names that mean the end only there.
_OTHER_END_NAMES = frozenset(
    {"<|tool_response>", "[EOS]", "[e~["}
    | {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>"}
    | {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}
    | {"<|file_sep|>"}
)
_END_KEYS = tuple(f"tokenizer.ggml.{name}_token_id" for name in ("eos", "eot", "eom", "fim_pad", "fim_rep", "fim_sep"))


def read_gguf(path: str | os.PathLike[str], *, added_tokens_as_text: bool = False) -> TokenTable:
    """The bytes of every id, and all tokens that llama.cpp ends a generation at."""
    metadata = read_gguf_metadata(path, prefix="tokenizer.ggml.")
    tokens: list[str] = _items_of(path, metadata, "tokens", str)
    if not tokens:
        raise VocabularyError(f"{os.fspath(path)} holds no vocabulary (no tokenizer.ggml.tokens).")
    to_bytes, added_to_bytes = _byte_rule(metadata.get("tokenizer.ggml.model"))
    types = _items_of(path, metadata, "token_type", int) or [_NORMAL] * len(tokens)
    if len(types) != len(tokens):
        raise VocabularyError(f"{os.fspath(path)} has {len(tokens)} tokens, but types for {len(types)}: it is damaged.")
    token_bytes: list[bytes | None] = [None] * len(tokens)
    for token_id, (piece, kind) in enumerate(zip(tokens, types, strict=True)):
        if kind == _BYTE:
            token_bytes[token_id] = metaspace_bytes(piece)
        elif kind == _NORMAL:
            token_bytes[token_id] = to_bytes(piece)
        elif kind == _USER_DEFINED and added_token_is_text(piece, added_tokens_as_text=added_tokens_as_text):
            token_bytes[token_id] = added_to_bytes(piece)
    return TokenTable(token_bytes, _stop_token_ids(metadata, tokens))


def _items_of(path: str | os.PathLike[str], metadata: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    """An array of the vocabulary; empty where there is none."""
    items = metadata.get(f"tokenizer.ggml.{name}", [])
    if not isinstance(items, list) or not all(type(item) is kind for item in items):
        raise VocabularyError(
            f"tokenizer.ggml.{name} of {os.fspath(path)} is no array of type {kind.__name__}: it is damaged."
        )
    return items


def _byte_rule(model: Any) -> tuple[Callable[[str], bytes], Callable[[str], bytes]]:
    if model == "gpt2":
        return byte_level_bytes, str.encode
    if model in ("llama", "gemma4"):
        return _literal_metaspace, _literal_metaspace
    raise VocabularyError(
        f"The GGUF file has a vocabulary of kind {model!r}; gpt2, llama and gemma4 can be read. "
        "WordPiece (bert) and Unigram (t5) are not used by generative models. "
        "Pass the bytes of each token: Vocabulary(token_bytes, stop_token_ids=...)."
    )


def _literal_metaspace(piece: str) -> bytes:
    return metaspace_bytes(piece, byte_fallback=False)  # a byte has a token type of its own here


def _stop_token_ids(metadata: Mapping[str, Any], tokens: list[str]) -> list[int]:
    """What llama.cpp calls end of generation: by id where the file names it, and by the text of the token.

    It goes by text even for ordinary pieces (`</s>` in Qwen2), and stops there, so such a piece can't be text.
    """
    ends, names = END_NAMES | _OTHER_END_NAMES, set(tokens)
    if {"<|return|>", "<|call|>"} <= names or ({"<|call|>", "<|calls|>"} & names and "<|flush|>" in names):
        ends -= {"<|end|>"}  # in gpt-oss this ends one message of several, and llama.cpp goes on
    if {"<|tool_response>", "<|plamo:eos|>"} & names:
        ends -= {"</s>"}  # ordinary text in Gemma 4 and PLaMo
    stops = {token_id for token_id, piece in enumerate(tokens) if piece in ends}
    ids = (metadata.get(key) for key in _END_KEYS)
    stops.update(token_id for token_id in ids if type(token_id) is int and 0 <= token_id < len(tokens))
    return sorted(stops)


def read_gguf_metadata(path: str | os.PathLike[str], *, prefix: str = "") -> dict[str, Any]:
    """The key-value pairs whose key begins with ``prefix``: numbers, strings, and lists of these."""
    try:
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Header(data).pairs(prefix)
    except OSError as error:
        raise VocabularyError(f"The GGUF file can't be read: {error}.") from error
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, VocabularyError):
            raise
        raise VocabularyError(f"{os.fspath(path)} is not a readable GGUF file: {error}.") from error


class _Header:
    """A cursor over the header. Reading past the end raises struct.error."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def pairs(self, prefix: str) -> dict[str, Any]:
        if self._data[:4] != _MAGIC:
            raise VocabularyError("This is not a GGUF file: it does not begin with GGUF.")
        self._at = 4
        version = self._scalar("I")
        if version not in _VERSIONS:
            raise VocabularyError(f"GGUF version {version} is not known; 2 and 3 (little-endian) are.")
        _num_tensors, num_pairs = self._scalar("Q"), self._scalar("Q")
        found = {}
        for _ in range(num_pairs):
            key, kind = self._string(), self._scalar("I")
            value = self._value(kind)
            if key.startswith(prefix):
                found[key] = value
        return found

    def _scalar(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self._data, self._at)
        self._at += struct.calcsize("<" + code)
        return value

    def _string(self) -> str:
        end = self._scalar("Q") + self._at
        if end > len(self._data):
            raise struct.error("a string reaches past the end of the file")
        text = self._data[self._at : end].decode("utf-8", errors="strict")
        self._at = end
        return text

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._scalar(self._code(kind))
        item_kind, length = self._scalar("I"), self._scalar("Q")
        if length > len(self._data):
            raise struct.error("an array reaches past the end of the file")
        if item_kind == _STRING:
            return [self._string() for _ in range(length)]
        layout = f"<{length}{self._code(item_kind)}"
        items = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return list(items)

    @staticmethod
    def _code(kind: int) -> str:
        if kind not in _SCALARS:
            raise struct.error(f"{kind} is not a type of GGUF")
        return _SCALARS[kind]
