"""The beginnings of the fuzzers' corpora, made anew because they follow the byte formats of this version.

    python fuzz/seeds.py build/fuzz

writes ``grammars/`` (the IR of many schemas, for the target `streams`) and a folder in ``corpus/`` for each target.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import grammar_decode as gd  # noqa: E402
from schemas import CURATED  # noqa: E402

SMALL = 12_000  # bytes of a seed

PATTERNS = [
    r"^[a-z]+(-[a-z]+)*$", r"\d{3}-\d{4}", r"(?=a)\w+(?!b)", r"\p{Lu}\P{L}", r"[\s\S]*", r"a|b|", r"(?:x{2,3}?){4}",
    r"\u{1F600}\x41\cA\0", r"[^\]\\^-]", r"\bword\B", r"(?<name>a)\k<name>", r"(a+)+$", r".*.*.*x", "é日😀", r"[😀-😎]",
]  # fmt: skip


def keep(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


TOKENS = ["<unk>", "<s>", "</s>", "a", "b", "▁a", "<0x0A>", "Ġb", "{", "}", '"', ":", "1", "é"]


def gguf_file(model: str) -> bytes:
    """A GGUF file with a vocabulary and nothing else."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    strings = b"".join(map(text, TOKENS))
    types = struct.pack(f"<{len(TOKENS)}i", 2, 3, 3, *([1] * 3), 6, *([1] * (len(TOKENS) - 7)))
    pairs = [
        text("tokenizer.ggml.model") + struct.pack("<I", 8) + text(model),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(TOKENS)) + strings,
        text("tokenizer.ggml.token_type") + struct.pack("<IIQ", 9, 5, len(TOKENS)) + types,
        text("tokenizer.ggml.eos_token_id") + struct.pack("<II", 4, 2),
    ]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


def tokenizer_file(decoder: str) -> bytes:
    """A tokenizer.json."""
    added = [{"id": 2, "content": "</s>", "special": True}, {"id": 20, "content": "<think>", "special": False}]
    model = {"type": "BPE", "vocab": {token: i for i, token in enumerate(TOKENS)}, "merges": []}
    return json.dumps(
        {"model": model, "added_tokens": added, "decoder": {"type": decoder}, "pre_tokenizer": None}
    ).encode()


def stream(number: int, kind: int, text: bytes) -> bytes:
    """A document for the target `streams`, a few bytes at a time; the second of each schema has a limit of tokens."""
    limit = bytes([0, 0, 55, 1, 0, 5]) if kind else b"\x01"
    calls = [text[i : i + 8] for i in range(0, len(text), 8)]
    probes = bytes(range(20, 32))
    return bytes([0, number, kind, 1]) + limit + b"".join(bytes([6, 0, len(c) - 1]) + c + b"\0" + probes for c in calls)


def main(target: Path) -> None:
    for model in ("llama", "gpt2"):
        keep(target / "corpus/gguf", model, gguf_file(model))
    for decoder in ("ByteLevel", "ByteFallback", "Metaspace"):
        keep(target / "corpus/tokenizer", decoder, tokenizer_file(decoder))
        vocabulary = gd.Vocabulary.from_tokenizer_json(tokenizer_file(decoder), stop_token_ids=[1])
        keep(target / "corpus/saved", f"vocabulary-{decoder}", vocabulary.to_bytes())
    for number, curated in enumerate(CURATED):
        options = gd.JsonOptions(key_order="schema") if number % 2 else None
        grammar = gd.compile_json_schema(curated.schema, options, cache=None)
        encoded, name = grammar._encoded, f"{number:02}-{curated.name}"
        keep(target / "grammars", name, encoded)
        if len(encoded) <= SMALL:
            keep(target / "corpus/ir", name, encoded)
        saved = grammar.to_bytes()
        if len(saved) <= SMALL:
            keep(target / "corpus/saved", name, saved)
        keep(
            target / "corpus/schema",
            name,
            json.dumps(curated.schema, ensure_ascii=False).encode("utf-8", "surrogatepass"),
        )
        for kind, value in enumerate(curated.valid[:2]):
            keep(target / "corpus/streams", f"{name}-{kind}", stream(number, kind, json.dumps(value).encode()))
    for number, pattern in enumerate(PATTERNS):
        keep(target / "corpus/pattern", str(number), pattern.encode())
        keep(target / "corpus/regex", str(number), (pattern * 4).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
