"""MLX-LM on SmolLM2: `make test-mlx`."""

from __future__ import annotations

import json
from typing import Any

import pytest

import example_runs
import grammar_decode as gd
from pages import run_examples

pytestmark = [pytest.mark.model, pytest.mark.filterwarnings("default")]
mlx_lm = pytest.importorskip("mlx_lm")

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
BOB = [{"role": "user", "content": "Describe a person called Bob aged 42 as JSON."}]


@pytest.fixture(scope="module")
def loaded() -> Any:
    from grammar_decode.models.smollm2 import converted_smollm2

    return mlx_lm.load(str(converted_smollm2()))


@pytest.fixture(scope="module")
def in_float32() -> Any:
    import mlx.core

    from grammar_decode.models.smollm2 import converted_smollm2

    model, tokenizer = mlx_lm.load(str(converted_smollm2()))
    model.set_dtype(mlx.core.float32)
    return model, tokenizer


def processor_of(tokenizer: Any) -> Any:
    from grammar_decode.integrations.mlx_lm import GrammarLogitsProcessor

    grammar = gd.compile_json_schema(SCHEMA, gd.JsonOptions(whitespace="spaced", key_order="schema"))
    return GrammarLogitsProcessor.for_model(grammar, tokenizer)


def test_the_page_prints_what_it_says() -> None:
    assert run_examples("mlx_lm.md") == 1


def test_samples_are_valid(loaded: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from mlx_lm.sample_utils import make_sampler

    model, tokenizer = loaded
    prompt = tokenizer.apply_chat_template(BOB, add_generation_prompt=True)
    processor = processor_of(tokenizer)
    for _ in range(2):
        text = mlx_lm.generate(
            model, tokenizer, prompt, max_tokens=60, sampler=make_sampler(temp=1.0), logits_processors=[processor]
        )
        jsonschema.validate(json.loads(text), SCHEMA)
        processor.reset()


def test_documents_without_bounds_are_complete_within_max_tokens(loaded: Any) -> None:
    from grammar_decode.integrations.mlx_lm import GrammarLogitsProcessor

    jsonschema = pytest.importorskip("jsonschema")
    schema = {"type": "object", "properties": {"story": {"type": "string"}}, "required": ["story"]}
    model, tokenizer = loaded
    prompt = tokenizer.apply_chat_template(BOB, add_generation_prompt=True)
    processor = GrammarLogitsProcessor.for_model(gd.compile_json_schema(schema), tokenizer, max_tokens=20)
    text = mlx_lm.generate(model, tokenizer, prompt, max_tokens=20, logits_processors=[processor])
    jsonschema.validate(json.loads(text), schema)


@pytest.mark.slow
@pytest.mark.parametrize("example", example_runs.examples(), ids=lambda example: example.name)
def test_the_greedy_text_and_the_samples_of_an_example(in_float32: Any, example: example_runs.Example) -> None:
    import mlx.core
    from mlx_lm.sample_utils import make_sampler

    from grammar_decode.integrations.mlx_lm import GrammarLogitsProcessor

    model, tokenizer = in_float32
    limit = example_runs.MAX_TOKENS
    processor = GrammarLogitsProcessor.for_model(example.grammar(), tokenizer, max_tokens=limit)

    def text(temperature: float) -> str:
        processor.reset()
        written: str = mlx_lm.generate(
            model,
            tokenizer,
            example.prompt_ids,
            max_tokens=limit,
            sampler=make_sampler(temp=temperature),
            logits_processors=[processor],
        )
        return written

    assert text(0.0) == example.greedy
    mlx.core.random.seed(1)
    example.judge([text(1.0) for _ in range(example_runs.SAMPLES)])


def test_drafts_change_nothing(loaded: Any) -> None:
    model, tokenizer = loaded
    prompt = tokenizer.apply_chat_template(BOB, add_generation_prompt=True)
    texts = [
        mlx_lm.generate(model, tokenizer, prompt, max_tokens=40, logits_processors=[processor_of(tokenizer)], **draft)
        for draft in ({}, {"draft_model": model, "num_draft_tokens": 3})
    ]
    assert texts == ['{"name": "Bob", "age": 42}'] * 2
