"""Reads ``tokenizer.json``, the file format of Hugging Face tokenizers, without that package.

Format: https://huggingface.co/docs/tokenizers (the serialised ``Tokenizer``): ``model.vocab`` maps pieces to ids (for
Unigram, a list of [piece, score]), ``added_tokens`` overrides it, ``decoder`` and ``pre_tokenizer`` tell the byte rule.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from grammar_decode.errors import VocabularyError
from grammar_decode.vocabulary.byte_rules import (
    END_NAMES,
    METASPACE,
    TokenTable,
    added_token_is_text,
    byte_level_bytes,
    metaspace_bytes,
)

_MAX_ID = 2**24  # far above any tokenizer; keeps a damaged file from taking all memory
_GZIP_MAGIC = b"\x1f\x8b"


Source: TypeAlias = "str | bytes | os.PathLike[str] | Mapping[str, Any]"


def bytes_of(source: str | bytes | os.PathLike[str]) -> bytes:
    """What is in the file (``.gz`` as it is), or the text itself."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, str) and source.lstrip()[:1] == "{":
        return source.encode("utf-8", "surrogatepass")
    try:
        return Path(source).read_bytes()
    except (OSError, ValueError) as error:  # the latter for a NUL in its name
        raise VocabularyError(f"The tokenizer file can't be read: {error}.") from error
    except TypeError:
        raise VocabularyError(
            f"The tokenizer is {source!r:.60}. Pass the path of a tokenizer.json, its text, or the parsed object."
        ) from None


def load_tokenizer_json(source: Source) -> Mapping[str, Any]:
    """The parsed file, from a path (``.gz`` as well), from the JSON text itself, or from the parsed object."""
    if isinstance(source, Mapping):
        return source
    data = bytes_of(source)
    try:
        parsed = json.loads(gzip.decompress(data) if data.startswith(_GZIP_MAGIC) else data)
    except OSError as error:
        raise VocabularyError(f"The tokenizer file can't be read: {error}.") from error
    except (ValueError, EOFError, RecursionError, zlib.error) as error:
        raise VocabularyError(f"The tokenizer is not JSON: {error}. Pass a tokenizer.json file or its text.") from error
    if not isinstance(parsed, dict):
        raise VocabularyError(f"A tokenizer.json holds an object, not a {type(parsed).__name__}.")
    return parsed


def read_tokenizer_json(spec: Mapping[str, Any], *, added_tokens_as_text: bool = False) -> TokenTable:
    """The bytes of every id, by the byte rule of the file; special tokens have none."""
    try:
        return _table(spec, added_tokens_as_text)
    except VocabularyError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise VocabularyError(
            f"This is not a tokenizer.json: {error!r} while reading it. It needs an object 'model' with a 'vocab'."
        ) from error


def _table(spec: Mapping[str, Any], added_tokens_as_text: bool) -> TokenTable:
    to_bytes, added_to_bytes = _byte_rule(spec)
    pieces = _pieces(spec["model"])
    added = {int(token["id"]): token for token in spec.get("added_tokens") or ()}
    if not pieces and not added:
        raise VocabularyError("The vocabulary of this tokenizer.json is empty.")
    ids = [*pieces.values(), *added]
    if not 0 <= min(ids) <= max(ids) <= _MAX_ID:
        raise VocabularyError(f"This tokenizer.json has ids from {min(ids)} to {max(ids)}: it is damaged.")
    token_bytes: list[bytes | None] = [None] * (1 + max(ids))
    for piece, token_id in pieces.items():
        if token_id not in added:
            token_bytes[token_id] = to_bytes(piece)
    for token_id, token in added.items():
        content = _text(token["content"])
        if not token.get("special") and added_token_is_text(content, added_tokens_as_text=added_tokens_as_text):
            token_bytes[token_id] = added_to_bytes(content)
    stops = [token_id for token_id, token in added.items() if token.get("special") and token["content"] in END_NAMES]
    return TokenTable(token_bytes, sorted(stops))


def _pieces(model: Mapping[str, Any]) -> dict[str, int]:
    vocab = model["vocab"]
    if isinstance(vocab, Mapping):
        return {piece: int(token_id) for piece, token_id in vocab.items()}
    return {_text(piece): token_id for token_id, (piece, _score) in enumerate(vocab)}


def _text(piece: Any) -> str:
    if not isinstance(piece, str):
        raise TypeError(f"a token is {piece!r:.40}, not a string")
    return piece


def _byte_rule(spec: Mapping[str, Any]) -> tuple[Callable[[str], bytes], Callable[[str], bytes]]:
    """The rules for ordinary pieces and for added tokens."""
    model = spec["model"]
    if model.get("type") in ("WordPiece", "WordLevel"):
        raise VocabularyError(
            f"A {model['type']} tokenizer loses the bytes of its text (case, spaces); generative models do not use it. "
            "Pass the bytes of each token: Vocabulary(token_bytes, stop_token_ids=...)."
        )
    parts = [*_components(spec.get("decoder")), *_components(spec.get("pre_tokenizer"))]
    kinds = {part.get("type") for part in parts}
    if "ByteLevel" in kinds:
        return byte_level_bytes, str.encode
    if "ByteFallback" in kinds or model.get("byte_fallback"):
        return metaspace_bytes, metaspace_bytes
    replaces_metaspace = any(
        part.get("type") == "Replace" and part.get("pattern") == {"String": METASPACE} for part in parts
    )
    if "Metaspace" in kinds or replaces_metaspace:
        return _metaspace_without_bytes, _metaspace_without_bytes
    raise VocabularyError(
        f"This tokenizer.json has no known byte rule (its parts: {', '.join(sorted(map(str, kinds))) or 'none'}); "
        "ByteLevel, ByteFallback and Metaspace are known. "
        "Pass the bytes of each token: Vocabulary(token_bytes, stop_token_ids=...)."
    )


def _metaspace_without_bytes(piece: str) -> bytes:
    return metaspace_bytes(piece, byte_fallback=False)


def _components(part: Any) -> Iterator[Mapping[str, Any]]:
    """A decoder or pre-tokenizer and, if it is a sequence, all that it holds."""
    if isinstance(part, Mapping):
        yield part
        for key in ("decoders", "pretokenizers"):
            for inner in part.get(key) or ():
                yield from _components(inner)
