"""What every engine has to do with the five schemas of examples/: twelve samples each, and one greedy text.

The prompts are token ids and the greedy texts are recorded, so that engines are asked the same and need no tokenizer
for it: `python tests/example_runs.py` writes them with transformers in float32. Other engines in float32, with the same
weights, have to write the same text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grammar_decode as gd
from grammar_decode.judge import judge_of

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "integrations" / "example_runs.json"
NAMES = ("person", "order", "event", "comment", "api_error")
SAMPLES = 12
#: The shortest order takes 56 tokens; SmolLM2 alone would write more than 80 for some samples of each.
MAX_TOKENS = 80
OPTIONS = gd.JsonOptions(whitespace="spaced", key_order="schema")


@dataclass(frozen=True)
class Example:
    """A schema, what the model is asked, and its greedy answer."""

    name: str
    schema: Any
    prompt_ids: list[int]
    greedy: str

    def grammar(self) -> gd.Grammar:
        return gd.compile_json_schema(self.schema, OPTIONS)

    def judge(self, texts: list[str]) -> None:
        """Fail unless these are the samples, each of them a whole valid document."""
        is_valid = judge_of(self.schema)
        assert is_valid is not None, "needs jsonschema"
        assert len(texts) == SAMPLES
        assert [text for text in texts if not is_valid(text)] == []


def schema_of(name: str) -> Any:
    return json.loads((ROOT / "examples" / f"{name}.schema.json").read_text(encoding="utf-8"))


def prompt_of(name: str) -> str:
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    prompt = re.search(rf"^\| \[{name}\].*\| (.*) \|$", readme, re.MULTILINE)
    assert prompt is not None
    return prompt[1]


def examples() -> list[Example]:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    return [Example(name, schema_of(name), **recorded[name]) for name in NAMES]


def record() -> None:
    from grammar_decode.models import load_model

    model = load_model()
    found = {}
    for name in NAMES:
        grammar = gd.compile_json_schema(schema_of(name), OPTIONS)
        prompt = prompt_of(name)
        result = gd.generate(model, None, grammar, prompt, max_tokens=MAX_TOKENS, forced_text=False)
        found[name] = {"prompt_ids": model.encode(prompt), "greedy": result.text}
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
