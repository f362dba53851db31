"""Vocabularies as bytes, and the folder of them that processes share."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

import grammar_decode as gd
from grammar_decode.vocabulary import saved, vocabulary

TOKENIZER = json.dumps(
    {
        "model": {"type": "BPE", "vocab": {"a": 0, "{": 1, "Ġb": 2}, "merges": []},
        "added_tokens": [{"id": 3, "content": "</s>", "special": True}, {"id": 4, "content": "<x>", "special": False}],
        "decoder": {"type": "ByteLevel"},
    }
)
SMALL = gd.Vocabulary([b"a", None, "é".encode(), b"a", b""], stop_token_ids=[1, 6], size=7)


def read(folder: Path, **options: object) -> gd.Vocabulary:
    return gd.Vocabulary.from_tokenizer_json(TOKENIZER, cache_folder=folder, **options)  # type: ignore[arg-type]


def test_a_vocabulary_comes_back_from_its_bytes() -> None:
    again = gd.Vocabulary.from_bytes(SMALL.to_bytes())
    assert again == SMALL
    assert again.content_hash == SMALL.content_hash


def test_every_changed_byte_and_every_cut_is_noticed() -> None:
    data = SMALL.to_bytes()
    for at in range(len(data)):
        for damaged in (data[:at], bytes([*data[:at], data[at] ^ 0x11, *data[at + 1 :]])):
            with pytest.raises(gd.SerializationError):
                gd.Vocabulary.from_bytes(damaged)
    with pytest.raises(gd.SerializationError, match="checksum"):
        gd.Vocabulary.from_bytes(data + b"x")
    with pytest.raises(TypeError, match="read from bytes, not str"):
        gd.Vocabulary.from_bytes("text")  # type: ignore[arg-type]


def test_what_fits_its_checksum_and_is_no_vocabulary_is_refused() -> None:
    with pytest.raises(gd.SerializationError, match="no stop token"):
        gd.Vocabulary.from_bytes(saved.to_bytes([b"a"], [], 1))
    with pytest.raises(gd.SerializationError, match="out of range"):
        gd.Vocabulary.from_bytes(saved.to_bytes([b"a"], [7], 1))


def test_other_versions_are_refused() -> None:
    data = SMALL.to_bytes()
    (version,) = struct.unpack_from("<I", data, 4)
    with pytest.raises(gd.SerializationError, match=f"format {version + 1}"):
        gd.Vocabulary.from_bytes(data[:4] + struct.pack("<I", version + 1) + data[8:])


def test_what_was_read_once_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read(tmp_path)
    assert first == gd.Vocabulary.from_tokenizer_json(TOKENIZER)
    monkeypatch.setattr(vocabulary, "read_tokenizer_json", None)
    assert read(tmp_path) == first
    (kept,) = tmp_path.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o644 or os.name == "nt"


def test_other_options_are_another_vocabulary(tmp_path: Path) -> None:
    read(tmp_path)
    assert read(tmp_path, added_tokens_as_text=True).token_bytes[4] == b"<x>"
    assert read(tmp_path, stop_token_ids=[0]).stop_token_ids == (0,)
    assert read(tmp_path, size=9).size == 9
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("damage", [lambda _: b"", lambda data: data[:-1], lambda data: data[:-1] + b"\0"])
def test_a_damaged_file_is_read_anew_and_replaced(tmp_path: Path, damage: object) -> None:
    first = read(tmp_path)
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))  # type: ignore[operator]
    assert read(tmp_path) == first
    assert kept.read_bytes() == whole


def test_wrong_arguments_are_named_with_and_without_a_folder(tmp_path: Path) -> None:
    for options in ({}, {"cache_folder": tmp_path}):
        with pytest.raises(gd.VocabularyError, match=r"pass a list: \[3\]"):
            gd.Vocabulary.from_tokenizer_json(TOKENIZER, stop_token_ids=3, **options)  # type: ignore[arg-type]
        for source in ("no\0such", '{"a":' * 100_000, "/no/such/file"):
            with pytest.raises(gd.VocabularyError):
                gd.Vocabulary.from_tokenizer_json(source, **options)  # type: ignore[arg-type]


def test_a_folder_that_cant_be_written_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.warns(UserWarning, match="can't be kept"):
        assert read(file / "folder") == gd.Vocabulary.from_tokenizer_json(TOKENIZER)


WRITER = """
import sys
from pathlib import Path
from grammar_decode.vocabulary import saved
data = saved.to_bytes([sys.argv[2].encode() * 1000] * 2000, [5000], 5001)
while True:
    saved.store(Path(sys.argv[1]), data)
"""


def test_writers_at_once_and_killed_ones_never_leave_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.vocabulary"
    for _ in range(3):
        seen: set[bytes | None] = set()
        path.unlink(missing_ok=True)
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), letter]) for letter in "abc"]
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and (not path.exists() or len(seen) < 3):
                if path.exists():
                    tokens, _, _ = saved.from_bytes(path.read_bytes())
                    assert set(tokens) in ({b"a" * 1000}, {b"b" * 1000}, {b"c" * 1000})
                    seen.add(tokens[0])
        finally:
            for writer in writers:
                writer.send_signal(signal.SIGKILL)
                writer.wait()
        assert saved.from_bytes(path.read_bytes())
        assert len(seen) == 3
    for draft in tmp_path.glob(".*.part"):
        os.utime(draft, (0, 0))  # of writers that were killed a long time ago
    saved.store(path, SMALL.to_bytes())
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
