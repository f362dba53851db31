"""A real model, SmolLM2-135M-Instruct: `pytest -m model`. Skipped where torch, transformers or the model is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import grammar_decode as gd

pytestmark = [
    pytest.mark.model,
    # transformers and torch deprecate things of their own; their warnings are not ours to fix
    pytest.mark.filterwarnings("default"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
BOB = "Give a JSON object describing a person called Bob aged 42 with tags a and b."


@pytest.fixture(scope="module")
def model() -> Any:
    for package in ("torch", "transformers", "gguf"):
        pytest.importorskip(package)
    from grammar_decode.models import load_model

    try:
        return load_model()
    except ImportError as error:
        pytest.skip(str(error))


def example(name: str) -> tuple[Any, str]:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    prompt = re.search(rf"^\| \[{name}\].*\| (.*) \|$", readme, re.MULTILINE)
    assert prompt is not None
    return json.loads((EXAMPLES / f"{name}.schema.json").read_text(encoding="utf-8")), prompt[1]


def test_bob_is_described_as_asked(model: Any) -> None:
    schema, prompt = example("person")
    assert prompt == BOB
    options = gd.JsonOptions(whitespace="spaced")
    result = gd.generate(model, None, schema, prompt, options=options)
    assert result.stop_reason == "completed"
    assert result.valid is True
    assert (result.value["name"], result.value["age"]) == ("Bob", 42)


@pytest.mark.parametrize("name", ["person", "order", "event", "comment", "api_error"])
def test_each_example_is_complete_and_valid_within_a_tight_limit(model: Any, name: str) -> None:
    schema, prompt = example(name)
    distance = gd.GrammarMatcher(gd.compile_json_schema(schema), model.vocabulary).completion_distance()
    assert distance is not None
    result = gd.generate(model, None, schema, prompt, temperature=0.8, seed=3, max_tokens=distance + 3)
    assert (result.stop_reason, result.valid) == ("completed", True)
    assert len(result.tokens) <= distance + 3


def test_the_converted_model_says_its_rotary_base_in_both_ways(model: Any) -> None:
    from grammar_decode.models.smollm2 import converted_smollm2

    config = json.loads((converted_smollm2() / "config.json").read_text(encoding="utf-8"))
    assert config["rope_theta"] == config["rope_parameters"]["rope_theta"] == 100_000
    assert model.model.config.rope_parameters["rope_theta"] == 100_000


def test_several_tokens_at_once_are_the_same_as_one_by_one(model: Any) -> None:
    ids, more = model.encode(BOB), model.tokenize('{"name": "Bob", "age": ')
    model.prefill(ids)
    for token_id in more:
        one_by_one = model.step(token_id)
    model.prefill(ids)
    at_once = model.extend(more)
    assert at_once.shape == one_by_one.shape
    assert abs(at_once - one_by_one).max() < 1e-2
    assert at_once.argmax() == one_by_one.argmax()


def test_forced_text_is_in_the_tokenizers_own_tokens_and_saves_calls(model: Any) -> None:
    schema = {"const": {"city": "Reykjavik", "country": "Iceland"}}
    result = gd.generate(model, None, schema, BOB, options=gd.JsonOptions(whitespace="spaced", key_order="schema"))
    assert result.text == '{"city": "Reykjavik", "country": "Iceland"}'
    assert list(result.tokens[:-1]) == model.tokenize(result.text)
    assert result.num_forced == len(result.tokens)
    assert result.num_model_calls == 0


def test_without_a_mask_the_loop_is_the_greedy_search_of_transformers(model: Any) -> None:
    import torch

    ids = model.encode(BOB)
    with torch.inference_mode():
        theirs = model.model.generate(torch.tensor([ids]), max_new_tokens=20, do_sample=False)
    ours = gd.generate(model, None, None, BOB, max_tokens=20, unconstrained=True)
    assert list(ours.tokens) == theirs[0, len(ids) :].tolist()


def test_the_prompt_is_in_the_chat_template_and_the_stop_token_is_the_models(model: Any) -> None:
    text = model.tokenizer.decode(model.encode("Hello"))
    assert text.endswith("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    assert model.vocabulary.stop_token_ids == (model.model.generation_config.eos_token_id,)


def test_a_plain_transformers_model_and_tokenizer_are_taken_as_they_are(model: Any) -> None:
    schema, prompt = example("event")
    ours = gd.generate(model, None, schema, prompt, max_tokens=15)
    theirs = gd.generate(model.model, model.tokenizer, schema, prompt, max_tokens=15)
    assert ours.tokens == theirs.tokens


def test_a_hub_id_that_does_not_exist_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, model: Any) -> None:
    from grammar_decode.errors import ModelError
    from grammar_decode.models import load_model

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the variable was read when it was imported
    with pytest.raises(ModelError, match="can't load the model 'nobody/nothing'"):
        load_model("nobody/nothing")
