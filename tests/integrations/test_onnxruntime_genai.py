"""The loop for ONNX Runtime GenAI: with a generator that only counts, and (`make test-onnx`) with SmolLM2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import example_runs
import grammar_decode as gd
from grammar_decode.integrations.onnxruntime_genai import generate, vocabulary_of
from pages import run_examples
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, text_of

ROOT = Path(__file__).parents[2]
#: The converted model; `make test-onnx` makes it.
FOLDER = ROOT / "build" / "onnx-smollm2"
VOCAB = as_vocabulary(ALL_SINGLE_BYTES)
PERSON = json.loads((ROOT / "examples" / "person.schema.json").read_text(encoding="utf-8"))
BOB = "Give a JSON object describing a person called Bob aged 42 with tags a and b."
ANSWER = '{"name": "Bob", "age": 42, "tags": ["a", "b"]}'


class Generator:
    """og.Generator with random logits: greedy, rows that have ended are padded."""

    def __init__(self, num_rows: int, width: int, max_length: int = 100) -> None:
        self.random = np.random.default_rng(1)
        self.width, self.max_length, self.length = width, max_length, 0
        self.logits = self.draw(num_rows)
        self.tokens: npt.NDArray[np.int32] = np.zeros(num_rows, dtype=np.int32)
        self.ended = np.zeros(num_rows, dtype=bool)

    def draw(self, num_rows: int) -> npt.NDArray[np.float32]:
        return self.random.normal(size=(num_rows, 1, self.width)).astype(np.float32)

    def is_done(self) -> bool:
        return bool(self.ended.all()) or self.length >= self.max_length

    def get_logits(self) -> npt.NDArray[np.float32]:
        return self.logits.copy()

    def set_logits(self, logits: npt.NDArray[np.float32]) -> None:
        assert logits.shape == self.logits.shape
        self.logits = logits

    def generate_next_token(self) -> None:
        self.tokens = self.logits[:, 0].argmax(axis=1).astype(np.int32)
        self.tokens[self.ended] = VOCAB.stop_token_ids[0]
        self.ended |= np.isin(self.tokens, VOCAB.stop_token_ids)
        self.logits = self.draw(len(self.tokens))
        self.length += 1

    def get_next_tokens(self) -> npt.NDArray[np.int32]:
        return self.tokens


def test_every_row_writes_a_document_of_its_grammar() -> None:
    numbers = gd.compile_json_schema({"type": "array", "items": {"enum": [1, 12]}, "maxItems": 3})
    word = gd.compile_json_schema({"enum": ["a", "b", None]})
    matchers = [gd.GrammarMatcher(numbers, VOCAB), None, gd.GrammarMatcher(word, VOCAB)]
    steps = list(generate(Generator(3, VOCAB.size + 11), matchers))
    rows = [[step[row] for step in steps] for row in range(3)]
    for row, grammar in ((0, numbers), (2, word)):
        tokens = rows[row][: next(i for i, t in enumerate(rows[row]) if t in VOCAB.stop_token_ids) + 1]
        matcher = gd.GrammarMatcher(grammar, VOCAB)
        assert matcher.accept_tokens(tokens), text_of(ALL_SINGLE_BYTES, tokens)
        assert matcher.is_terminated()
    assert max(rows[1]) > 0


def test_the_loop_ends_when_all_are_complete_or_the_generator_is_done() -> None:
    word = gd.compile_json_schema({"enum": ["a", "b"]})
    matchers = [gd.GrammarMatcher(word, VOCAB) for _ in range(2)]
    assert 0 < len(list(generate(Generator(2, VOCAB.size), matchers))) < 100
    assert all(matcher.is_terminated() for matcher in matchers)
    endless = gd.GrammarMatcher(gd.compile_json_schema({"type": "string", "minLength": 500}), VOCAB)
    assert len(list(generate(Generator(1, VOCAB.size, max_length=20), [endless]))) == 20
    assert not endless.is_terminated()


def test_a_model_folder(tmp_path: Path) -> None:
    config: dict[str, Any] = {"model": {"vocab_size": 5, "eos_token_id": [2]}}
    (tmp_path / "genai_config.json").write_text(json.dumps(config))
    tokenizer = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3}}, "decoder": {"type": "ByteLevel"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    vocabulary = vocabulary_of(tmp_path)
    assert (vocabulary.size, vocabulary.stop_token_ids) == (5, (2,))
    assert vocabulary.token_bytes == (b"a", b"b", None, b"d")
    (tmp_path / "genai_config.json").write_text("{}")
    with pytest.raises(gd.VocabularyError, match="GenAI"):
        vocabulary_of(tmp_path)


@pytest.fixture(scope="module")
def loaded() -> Any:
    og = pytest.importorskip("onnxruntime_genai")
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is absent; `make test-onnx` makes it")
    return og, og.Model(str(FOLDER)), vocabulary_of(FOLDER)


@pytest.mark.model
def test_greedy_text_is_that_of_the_other_engines(loaded: Any) -> None:
    og, model, vocabulary = loaded
    tokenizer = og.Tokenizer(model)
    prompt = f"<|im_start|>user\n{BOB}<|im_end|>\n<|im_start|>assistant\n"
    system = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=256, do_sample=False)
    generator = og.Generator(model, params)
    generator.append_tokens(tokenizer.encode(system + prompt))
    grammar = gd.compile_json_schema(PERSON, gd.JsonOptions(whitespace="spaced", key_order="schema"))
    tokens = [step[0] for step in generate(generator, [gd.GrammarMatcher(grammar, vocabulary)])]
    text = b"".join(vocabulary.token_bytes[token_id] or b"" for token_id in tokens).decode()
    assert text == ANSWER


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("example", example_runs.examples(), ids=lambda example: example.name)
def test_the_greedy_text_and_the_samples_of_an_example(loaded: Any, example: example_runs.Example) -> None:
    og, model, vocabulary = loaded
    limit = example_runs.MAX_TOKENS
    grammar = example.grammar()

    def texts(num_rows: int, **options: Any) -> list[str]:
        params = og.GeneratorParams(model)
        params.set_search_options(max_length=len(example.prompt_ids) + limit, batch_size=num_rows, **options)
        generator = og.Generator(model, params)
        generator.append_tokens(np.array([example.prompt_ids] * num_rows, dtype=np.int32))
        matchers = [gd.GrammarMatcher(grammar, vocabulary, max_tokens=limit) for _ in range(num_rows)]
        rows = zip(*generate(generator, matchers), strict=True)
        return [b"".join(vocabulary.token_bytes[token_id] or b"" for token_id in row).decode() for row in rows]

    assert texts(1, do_sample=False) == [example.greedy]
    example.judge(texts(example_runs.SAMPLES, do_sample=True, temperature=1.0, top_k=0, random_seed=1))


@pytest.mark.model
def test_the_page_prints_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime_genai")
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is absent; `make test-onnx` makes it")
    monkeypatch.chdir(FOLDER.parent)
    assert run_examples("onnxruntime_genai.md") == 1
