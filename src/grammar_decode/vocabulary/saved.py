"""Vocabularies as bytes, and files of them in a folder that several processes may share.

The bytes are a header (magic, version, checksum, sizes), the stop tokens, the length of each token, and the tokens one
behind the other. A file appears under its name only when it is whole: it is written beside it and renamed. One that is
damaged is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from grammar_decode.errors import SerializationError

_MAGIC = b"GDVO"
_VERSION = 1
_READER = 1  # of tokenizer.json: raise it where that comes to read something else
_HEADER = struct.Struct("<4sI16s")  # magic, version, checksum
_COUNTS = struct.Struct("<QQQ")  # size, number of stop tokens, number of ids
_NO_TEXT = 0xFFFFFFFF
_ABANDONED = 24 * 3600  # seconds after which an unfinished file is nobody's


def packed(token_bytes: Sequence[bytes | None], stop_token_ids: Sequence[int], size: int) -> bytes:
    """The content of a vocabulary: equal for two exactly if the arguments are."""
    lengths = [_NO_TEXT if token is None else len(token) for token in token_bytes]
    return b"".join(
        [
            _COUNTS.pack(size, len(stop_token_ids), len(lengths)),
            struct.pack(f"<{len(stop_token_ids)}I", *stop_token_ids),
            struct.pack(f"<{len(lengths)}I", *lengths),
            *(token for token in token_bytes if token is not None),
        ]
    )


def to_bytes(token_bytes: Sequence[bytes | None], stop_token_ids: Sequence[int], size: int) -> bytes:
    """The content of a vocabulary, with the version of the format and a checksum."""
    content = packed(token_bytes, stop_token_ids, size)
    return _HEADER.pack(_MAGIC, _VERSION, _checksum(content)) + content


def from_bytes(data: bytes) -> tuple[list[bytes | None], list[int], int]:
    """Tokens, stop tokens and size. Raises :class:`SerializationError` on damaged data or another version."""
    if len(data) < _HEADER.size or data[:4] != _MAGIC:
        raise SerializationError("This is not a vocabulary: it does not begin with GDVO. Pass what to_bytes gave.")
    _, version, checksum = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise SerializationError(
            f"The vocabulary was written in format {version}; this release reads {_VERSION}. Read the tokenizer again."
        )
    content = data[_HEADER.size :]
    if len(content) < _COUNTS.size or _checksum(content) != checksum:
        raise SerializationError("The vocabulary is damaged: its checksum does not fit. Read the tokenizer again.")
    size, num_stops, num_ids = _COUNTS.unpack_from(content)
    lengths_at = _COUNTS.size + 4 * num_stops
    at = lengths_at + 4 * num_ids
    if at > len(content):
        raise SerializationError("The vocabulary contradicts itself: it has fewer tokens than it says.")
    stops = struct.unpack_from(f"<{num_stops}I", content, _COUNTS.size)
    tokens: list[bytes | None] = []
    for length in struct.unpack_from(f"<{num_ids}I", content, lengths_at):
        if length == _NO_TEXT:
            tokens.append(None)
        else:
            tokens.append(content[at : at + length])
            at += length
    if at != len(content):
        raise SerializationError("The vocabulary contradicts itself: its tokens have other lengths than it says.")
    return tokens, list(stops), size


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def path_of(folder: str | os.PathLike[str], source: bytes, *options: object) -> Path:
    """Where the vocabulary of these bytes, read with these options, is kept."""
    digest = hashlib.blake2b(repr((_VERSION, _READER, options)).encode() + b"\0" + source, digest_size=16)
    return Path(folder, f"{digest.hexdigest()}.vocabulary")


def store(path: Path, data: bytes) -> None:
    """Put a whole file in place of what is there. Where that can't be done, warn: a cache is no reason to fail."""
    draft: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path.parent)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".part", dir=path.parent)
        draft = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        draft.chmod(0o644)  # mkstemp's own mode would hide the file from other users of a shared cache
        draft.replace(path)
    except OSError as error:
        warnings.warn(f"the vocabulary can't be kept in {path.parent}: {error}", stacklevel=3)
        if draft is not None:
            with contextlib.suppress(OSError):
                draft.unlink()


def _remove_abandoned(folder: Path) -> None:
    """Remove what writers left that were killed."""
    for draft in folder.glob(".*.vocabulary-*.part"):
        with contextlib.suppress(OSError):  # another process removes it, too
            if time.time() - draft.stat().st_mtime > _ABANDONED:
                draft.unlink()
