"""SmolLM2's GGUF file with its weights in float32: those that the converted model has, which are bfloat16 numbers.

llama.cpp computes in the type of the weights, so that it then writes what other engines write.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import torch
from gguf.quants import dequantize


def write_in_float32(source: Path, target: Path) -> None:
    """Copy a GGUF file, every tensor rounded to bfloat16 and written as float32."""
    reader = gguf.GGUFReader(str(source))
    architecture = reader.get_field("general.architecture")
    assert architecture is not None
    writer = gguf.GGUFWriter(str(target), architecture.contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue  # the writer's own
        kind = field.types[0]
        writer.add_key_value(name, field.contents(), kind, sub_type=field.types[-1] if len(field.types) > 1 else None)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        rounded = torch.tensor(dequantize(tensor.data, tensor.tensor_type), dtype=torch.bfloat16).float().numpy()
        writer.add_tensor(tensor.name, rounded)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
