"""llama.cpp itself on SmolLM2, and the vocabularies of GGUF files: `make test-llamacpp`."""

from __future__ import annotations

import ctypes
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import example_runs
import grammar_decode as gd
from pages import run_examples

ROOT = Path(__file__).parents[2]
#: The vocabulary-only models of llama-cpp-python's source distribution; `make test-llamacpp` puts them there.
FOLDER = ROOT / "build" / "gguf-vocabularies"
FILES = sorted(FOLDER.glob("ggml-vocab-*.gguf"))
NOT_GENERATIVE = ("bert-bge", "nomic-bert-moe")
PERSON = json.loads((ROOT / "examples" / "person.schema.json").read_text(encoding="utf-8"))
BOB = [{"role": "user", "content": "Give a JSON object describing a person called Bob aged 42 with tags a and b."}]
ANSWER = '{"name": "Bob", "age": 42, "tags": ["a", "b"]}'

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def llama_cpp() -> Any:
    return pytest.importorskip("llama_cpp")


@pytest.fixture(scope="module")
def llama(llama_cpp: Any) -> Iterator[Any]:
    from grammar_decode.models.smollm2 import gguf_path

    llama = llama_cpp.Llama(str(gguf_path()), n_ctx=512, n_threads=1, verbose=False, logits_all=True)
    yield llama
    llama.close()


@pytest.fixture(scope="module")
def in_float32(llama_cpp: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The model with the weights and the arithmetic that it has in the other engines."""
    from gguf_float32 import write_in_float32
    from grammar_decode.models.smollm2 import gguf_path

    path = tmp_path_factory.mktemp("gguf") / "float32.gguf"
    write_in_float32(gguf_path(), path)
    options = {"type_k": llama_cpp.GGML_TYPE_F32, "type_v": llama_cpp.GGML_TYPE_F32}
    llama = llama_cpp.Llama(str(path), n_ctx=512, n_threads=1, verbose=False, **options)
    yield llama
    llama.close()


@pytest.fixture(scope="module")
def grammar() -> gd.Grammar:
    return gd.compile_json_schema(PERSON, gd.JsonOptions(whitespace="spaced", key_order="schema"))


def complete(llama: Any, processor: Any, **options: Any) -> tuple[str, str]:
    options = {"temperature": 0, "max_tokens": 64, **options}
    choice = llama.create_chat_completion(BOB, logits_processor=[processor], **options)["choices"][0]
    assert processor.error is None
    return choice["message"]["content"], choice["finish_reason"]


def processor_of(llama: Any, grammar: gd.Grammar) -> Any:
    from grammar_decode.integrations.llama_cpp import GrammarLogitsProcessor

    return GrammarLogitsProcessor.for_model(grammar, llama)


def test_greedy_text_is_a_document_and_the_same_again(llama: Any, grammar: gd.Grammar) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    processor = processor_of(llama, grammar)
    text, reason = complete(llama, processor)
    # Here llama.cpp's own arithmetic has a tie (38.29 against 38.25): other engines close the array.
    assert text.startswith(ANSWER.removesuffix("]}"))
    assert reason == "stop"
    jsonschema.validate(json.loads(text), PERSON)
    processor.reset()
    assert complete(llama, processor) == (text, reason)


def test_samples_are_valid(llama: Any, grammar: gd.Grammar) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for seed in range(4):
        text, reason = complete(llama, processor_of(llama, grammar), temperature=1.2, seed=seed, max_tokens=200)
        if reason == "stop":
            jsonschema.validate(json.loads(text), PERSON)


def test_documents_without_bounds_are_complete_within_max_tokens(llama: Any) -> None:
    from grammar_decode.integrations.llama_cpp import GrammarLogitsProcessor

    jsonschema = pytest.importorskip("jsonschema")
    schema = {"type": "object", "properties": {"story": {"type": "string"}}, "required": ["story"]}
    processor = GrammarLogitsProcessor.for_model(gd.compile_json_schema(schema), llama, max_tokens=20)
    for seed in range(4):
        processor.reset()
        text, _ = complete(llama, processor, temperature=1.2, seed=seed, max_tokens=20)
        jsonschema.validate(json.loads(text), schema)


def completions(llama: Any, example: example_runs.Example, **options: Any) -> Iterator[str]:
    from grammar_decode.integrations.llama_cpp import GrammarLogitsProcessor

    limit = example_runs.MAX_TOKENS
    processor = GrammarLogitsProcessor.for_model(example.grammar(), llama, max_tokens=limit)
    while True:
        done = llama.create_completion(example.prompt_ids, logits_processor=[processor], max_tokens=limit, **options)
        assert processor.error is None
        yield done["choices"][0]["text"]
        processor.reset()


@pytest.mark.slow
@pytest.mark.parametrize("example", example_runs.examples(), ids=lambda example: example.name)
def test_the_greedy_text_of_an_example_is_that_of_the_other_engines(
    in_float32: Any, example: example_runs.Example
) -> None:
    assert next(completions(in_float32, example, temperature=0)) == example.greedy


@pytest.mark.slow
@pytest.mark.parametrize("example", example_runs.examples(), ids=lambda example: example.name)
def test_the_samples_of_an_example(llama: Any, example: example_runs.Example) -> None:
    llama.set_seed(1)
    texts = completions(llama, example, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
    example.judge(list(itertools.islice(texts, example_runs.SAMPLES)))


def test_a_draft_model_comes_to_an_end_as_well(llama: Any, grammar: gd.Grammar) -> None:
    from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

    llama.draft_model = LlamaPromptLookupDecoding(num_pred_tokens=4)
    try:
        text, reason = complete(llama, processor_of(llama, grammar))
    finally:
        llama.draft_model = None
    assert text.startswith(ANSWER.removesuffix("]}"))
    assert reason == "stop"


def test_no_stop_token_comes_as_text(llama: Any) -> None:
    vocabulary = gd.Vocabulary.from_tokenizer(llama)
    assert vocabulary.stop_token_ids == (0, 2, 4)
    assert vocabulary.size == llama.n_vocab()


def test_the_page_prints_what_it_says(llama_cpp: Any) -> None:
    assert run_examples("llama_cpp.md") == 1


def bytes_by_llama_cpp(llama_cpp: Any, vocab: Any, token_id: int) -> bytes:
    buffer = ctypes.create_string_buffer(1024)
    size = llama_cpp.llama_token_to_piece(vocab, token_id, buffer, len(buffer), 0, True)
    assert size >= 0
    return buffer.raw[:size]


@pytest.mark.skipif(not FILES, reason=f"{FOLDER} is absent; `make test-llamacpp` fills it")
def test_all_the_vocabularies_are_there() -> None:
    assert len(FILES) == 19


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem.removeprefix("ggml-vocab-"))
def test_bytes_and_stop_tokens_are_those_of_llama_cpp(llama_cpp: Any, path: Path) -> None:
    name = path.stem.removeprefix("ggml-vocab-")
    if name in NOT_GENERATIVE:
        with pytest.raises(gd.VocabularyError, match="generative"):
            gd.Vocabulary.from_gguf(path)
        return
    vocabulary = gd.Vocabulary.from_gguf(path, added_tokens_as_text=True)
    llama = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    vocab = llama._model.vocab
    assert vocabulary.size == llama_cpp.llama_vocab_n_tokens(vocab)
    ends = [i for i in range(vocabulary.size) if llama_cpp.llama_vocab_is_eog(vocab, i)]
    assert list(vocabulary.stop_token_ids) == ends
    different = []
    for token_id, text in enumerate(vocabulary.token_bytes):
        if text is not None:
            theirs = bytes_by_llama_cpp(llama_cpp, vocab, token_id)
            # llama.cpp writes single characters that are no byte of its alphabet like this (command-r has 1,403)
            if theirs != text and not theirs.startswith(b"[UNK_BYTE_0x"):
                different.append((token_id, text, theirs))
    llama.close()
    assert different == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem.removeprefix("ggml-vocab-"))
def test_a_document_can_be_written_with_each_vocabulary(path: Path, grammar: gd.Grammar) -> None:
    import numpy as np

    if path.stem.removeprefix("ggml-vocab-") in NOT_GENERATIVE:
        pytest.skip("not a generative model's")
    vocabulary = gd.Vocabulary.from_gguf(path)
    longest = np.array([len(text or b"") for text in vocabulary.token_bytes])
    wanted = '{"name": "Zoë \u65e5\u672c", "age": 42, "tags": ["\u4f60x"]}'.encode()
    written, matcher = b"", gd.GrammarMatcher(grammar, vocabulary)
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    while written != wanted:
        matcher.fill_next_token_bitmask(bitmask)
        allowed = np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little"))
        texts = vocabulary.token_bytes
        fitting = [i for i in allowed if wanted.startswith(written + (texts[i] or b"")) and texts[i]]
        assert fitting, f"nothing continues {written!r}"
        best = int(max(fitting, key=lambda i: longest[i]))
        assert matcher.accept_token(best)
        written += texts[best] or b""
    assert matcher.is_accepting()
    assert matcher.accept_token(vocabulary.stop_token_ids[-1])
