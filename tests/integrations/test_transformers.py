"""`model.generate` of transformers with a grammar, on SmolLM2: `make test-transformers`."""

from __future__ import annotations

import json
from typing import Any

import pytest

import example_runs
import grammar_decode as gd
from pages import run_examples

pytestmark = [
    pytest.mark.model,
    # transformers and torch deprecate things of their own; their warnings are not ours to fix
    pytest.mark.filterwarnings("default"),
]
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
PLACE = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}, "visited": {"type": "boolean"}},
    "required": ["city", "visited"],
    "additionalProperties": False,
}
BOB = "Describe a person called Bob aged 42 as JSON."
SHORT = "Describe Ann, 7, as JSON."
OPTIONS = gd.JsonOptions(whitespace="spaced", key_order="schema")


@pytest.fixture(scope="module")
def smollm2() -> Any:
    from grammar_decode.models import load_model

    pytest.importorskip("gguf")
    try:
        model = load_model()
    except ImportError as error:
        pytest.skip(str(error))
    model.tokenizer.padding_side = "left"
    return model


@pytest.fixture(scope="module")
def grammar() -> gd.Grammar:
    return gd.compile_json_schema(SCHEMA, OPTIONS)


def inputs_of(smollm2: Any, *prompts: str) -> Any:
    chats = [[{"role": "user", "content": prompt}] for prompt in prompts]
    texts = smollm2.tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
    return smollm2.tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)


def generate(smollm2: Any, processor: Any, prompts: tuple[str, ...] = (BOB,), **options: Any) -> list[str]:
    """The answers of all rows, as text; the last token of each is a stop token."""
    inputs = inputs_of(smollm2, *prompts)
    options = {"max_new_tokens": 40, "do_sample": False, **options}
    rows = smollm2.model.generate(**inputs, logits_processor=[processor], **options)
    answers = rows[:, inputs["input_ids"].shape[1] :]
    return smollm2.tokenizer.batch_decode(answers, skip_special_tokens=True)


def processor_of(smollm2: Any, grammar: Any) -> Any:
    from grammar_decode.integrations.transformers import GrammarLogitsProcessor

    return GrammarLogitsProcessor(grammar, smollm2.vocabulary)


def is_valid(text: str, schema: Any = SCHEMA) -> bool:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    return True


@pytest.fixture(scope="module")
def greedy(smollm2: Any, grammar: gd.Grammar) -> str:
    """What our own loop writes."""
    result = gd.generate(smollm2, None, grammar, BOB, max_tokens=40)
    assert result.is_complete
    return result.text


SAME_TEXT: dict[str, dict[str, Any]] = {
    "greedy": {},
    "prompt lookup": {"prompt_lookup_num_tokens": 3},
    "prefill chunks": {"prefill_chunk_size": 16},
    "static cache": {"cache_implementation": "static", "disable_compile": True},
}


@pytest.mark.parametrize("options", SAME_TEXT.values(), ids=SAME_TEXT.keys())
def test_deterministic_modes_write_the_same(
    smollm2: Any, grammar: gd.Grammar, greedy: str, options: dict[str, Any]
) -> None:
    assert generate(smollm2, processor_of(smollm2, grammar), **options) == [greedy]


@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": True, "temperature": 1.5, "num_return_sequences": 4},
        {"num_beams": 3},
        {"prompt_lookup_num_tokens": 3},
    ],
    ids=["samples", "beams", "prompt lookup"],
)
def test_documents_without_bounds_are_complete_within_max_new_tokens(smollm2: Any, options: dict[str, Any]) -> None:
    from grammar_decode.integrations.transformers import GrammarLogitsProcessor

    open_ended = {"type": "object", "properties": {"story": {"type": "string"}}, "required": ["story"]}
    processor = GrammarLogitsProcessor(gd.compile_json_schema(open_ended), smollm2.vocabulary, max_new_tokens=18)
    torch.manual_seed(1)
    for text in generate(smollm2, processor, max_new_tokens=18, **options):
        assert is_valid(text, open_ended)


def test_assisted_generation_writes_the_same(smollm2: Any, grammar: gd.Grammar, greedy: str) -> None:
    assert generate(smollm2, processor_of(smollm2, grammar), assistant_model=smollm2.model) == [greedy]


def test_guidance_doubles_rows_of_the_model_but_not_of_the_processor(smollm2: Any, grammar: gd.Grammar) -> None:
    (text,) = generate(smollm2, processor_of(smollm2, grammar), guidance_scale=1.5)
    assert is_valid(text)


def test_a_batch_with_left_padding_writes_what_each_row_does_alone(
    smollm2: Any, grammar: gd.Grammar, greedy: str
) -> None:
    texts = generate(smollm2, processor_of(smollm2, grammar), (SHORT, BOB))
    assert is_valid(texts[0])
    assert texts[1] == greedy


def test_samples_of_one_prompt_are_all_valid(smollm2: Any, grammar: gd.Grammar) -> None:
    torch.manual_seed(1)
    texts = generate(smollm2, processor_of(smollm2, grammar), do_sample=True, num_return_sequences=3)
    assert len(texts) == 3
    assert all(map(is_valid, texts))


def test_beams_are_all_valid(smollm2: Any, grammar: gd.Grammar) -> None:
    texts = generate(smollm2, processor_of(smollm2, grammar), num_beams=3)
    assert all(map(is_valid, texts))


def test_several_beams_of_several_prompts_are_all_valid(smollm2: Any, grammar: gd.Grammar) -> None:
    processor = processor_of(smollm2, [grammar, gd.compile_json_schema(PLACE, OPTIONS)])
    texts = generate(smollm2, processor, (BOB, SHORT), num_beams=3, num_return_sequences=2)
    assert len(texts) == 4
    assert is_valid(texts[0])
    assert is_valid(texts[1])
    assert is_valid(texts[2], PLACE)
    assert is_valid(texts[3], PLACE)


def test_each_prompt_has_its_own_grammar_or_none(smollm2: Any, grammar: gd.Grammar, greedy: str) -> None:
    place = gd.compile_json_schema(PLACE, OPTIONS)
    texts = generate(smollm2, processor_of(smollm2, [place, None, grammar]), (BOB, BOB, BOB), max_new_tokens=25)
    free = generate(smollm2, processor_of(smollm2, [None]), max_new_tokens=25)
    assert is_valid(texts[0], PLACE)
    assert texts[1] == free[0]
    assert texts[2] == greedy


def test_scores_are_masked_in_a_copy_and_past_the_vocabulary(smollm2: Any, grammar: gd.Grammar) -> None:
    processor = processor_of(smollm2, grammar)
    scores = torch.zeros((2, smollm2.vocabulary.size + 40))
    prompt = torch.tensor([[1, 2, 3], [4, 5, 6]])
    masked = processor(prompt, scores)
    assert (scores == 0).all()
    assert (masked[:, smollm2.vocabulary.size :] == -float("inf")).all()
    brace = smollm2.vocabulary.token_bytes.index(b"{")
    assert masked[0, brace] == 0
    ended = torch.cat([prompt, torch.tensor([[brace, 7], [8, 9]])], dim=1)
    after = processor(ended, scores)  # a row that another processor took off the grammar
    allowed = [torch.isfinite(row).nonzero().flatten().tolist() for row in after]
    assert allowed[1] == list(smollm2.vocabulary.stop_token_ids)


def test_a_processor_of_another_batch_is_told_apart(smollm2: Any, grammar: gd.Grammar) -> None:
    processor = processor_of(smollm2, [grammar, grammar])
    scores = torch.zeros((3, smollm2.vocabulary.size))
    with pytest.raises(ValueError, match="3 rows"):
        processor(torch.ones((3, 5), dtype=torch.long), scores)
    with pytest.raises(ValueError, match="reset"):
        processor(torch.ones((2, 4), dtype=torch.long), scores[:2])
    processor.reset()
    assert processor(torch.ones((2, 4), dtype=torch.long), scores[:2]).isinf().any()
    for length in (4, 9):  # as long as before, and longer
        with pytest.raises(ValueError, match="another prompt"):
            processor(torch.full((2, length), 2), scores[:2])


#: As many tokens as bytes, a stop token, and padding.
NARROW = gd.Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_token_ids=[256], size=300)


def test_what_is_no_grammar_or_vocabulary_is_named_with_what_to_pass(grammar: gd.Grammar) -> None:
    from grammar_decode.integrations.transformers import GrammarLogitsProcessor

    wrong: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
        (SCHEMA, NARROW, {}, TypeError, r"not dict\. Pass a Grammar, which compile_json_schema\(schema\)"),
        ("{}", NARROW, {}, TypeError, "not str"),
        (None, NARROW, {}, TypeError, "not NoneType"),
        ([grammar, SCHEMA], NARROW, {}, TypeError, r"grammar\[1\] must be a Grammar or None, not dict"),
        ([], NARROW, {}, ValueError, "empty"),
        (grammar, object(), {}, TypeError, r"not object\. Pass vocabulary_of\(model, tokenizer\)"),
        (grammar, NARROW, {"max_new_tokens": "60"}, TypeError, "max_new_tokens must be a whole number"),
        (grammar, NARROW, {"prompt_length": -1}, ValueError, "prompt_length must be at least 0"),
    ]
    for given, vocabulary, options, kind, message in wrong:
        with pytest.raises(kind, match=message):
            GrammarLogitsProcessor(given, vocabulary, **options)


def test_one_grammar_in_a_list_does_not_pass_for_a_batch_of_two_prompts(grammar: gd.Grammar) -> None:
    from grammar_decode.integrations.transformers import GrammarLogitsProcessor

    scores, prompts = torch.zeros((2, 300)), torch.tensor([[1, 2], [1, 3]])
    with pytest.raises(ValueError, match="1 grammars were given as a list, but the 2 rows are of more prompts"):
        GrammarLogitsProcessor([grammar], NARROW)(prompts, scores)
    for given, rows in (
        (grammar, prompts),
        ([grammar, None], prompts),
        ([grammar], torch.tensor([[1, 2], [1, 2]])),  # two samples of one prompt
        ([grammar, None], torch.tensor([[1, 2], [1, 2], [1, 3], [1, 3]])),
    ):
        assert GrammarLogitsProcessor(given, NARROW)(rows, torch.zeros((len(rows), 300))).isinf().any()


def test_logits_may_be_wider_than_the_tokens_but_not_narrower(grammar: gd.Grammar) -> None:
    from grammar_decode.integrations.transformers import GrammarLogitsProcessor

    prompt = torch.tensor([[1, 2]])
    for width in (257, 290, 300, 400):  # as many as there are tokens; in the padding; and past it
        masked = GrammarLogitsProcessor(grammar, NARROW)(prompt, torch.zeros((1, width)))
        assert torch.isfinite(masked[0]).nonzero().flatten().tolist() == [ord("{")]
    with pytest.raises(ValueError, match="256 columns, but the vocabulary has tokens up to id 256"):
        GrammarLogitsProcessor(grammar, NARROW)(prompt, torch.zeros((1, 256)))


def test_for_model_needs_only_what_generate_needs(smollm2: Any, grammar: gd.Grammar, greedy: str) -> None:
    from grammar_decode.integrations.transformers import GrammarLogitsProcessor

    processor = GrammarLogitsProcessor.for_model(grammar, smollm2.model, smollm2.tokenizer)
    assert generate(smollm2, processor) == [greedy]


#: The decoding modes of docs/integrations/transformers.md: the prompts, and the options of `generate`.
MODES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "greedy": ((BOB,), {}),
    "two prompts": ((SHORT, BOB), {}),
    "samples": ((BOB,), {"do_sample": True, "num_return_sequences": 3}),
    "beams": ((BOB,), {"num_beams": 3}),
    "beams of two prompts": ((SHORT, BOB), {"num_beams": 3, "num_return_sequences": 2}),
    "prompt lookup": ((BOB,), {"prompt_lookup_num_tokens": 3}),
    "assistant": ((BOB,), {"assistant_model": ...}),
    "prefill chunks": ((BOB,), {"prefill_chunk_size": 16}),
    "static cache": ((BOB,), {"cache_implementation": "static", "disable_compile": True}),
    "guidance": ((BOB,), {"guidance_scale": 1.5}),
}
FAIL_IN_XGRAMMAR = ("beams", "beams of two prompts", "prompt lookup", "assistant")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_xgrammars_own_processor_beside_ours(smollm2: Any, grammar: gd.Grammar, mode: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    from xgrammar.contrib.hf import LogitsProcessor

    prompts, options = MODES[mode]
    if "assistant_model" in options:
        options = {"assistant_model": smollm2.model}
    info = xgrammar.TokenizerInfo.from_huggingface(smollm2.tokenizer, vocab_size=smollm2.vocabulary.size)
    compiled = xgrammar.GrammarCompiler(info).compile_json_schema(json.dumps(SCHEMA), any_whitespace=False)
    theirs = LogitsProcessor([compiled] * len(prompts) if "num_return_sequences" not in options else compiled)
    torch.manual_seed(1)
    if mode in FAIL_IN_XGRAMMAR:
        with pytest.raises(AssertionError):
            generate(smollm2, theirs, prompts, **options)
    else:
        assert all(map(is_valid, generate(smollm2, theirs, prompts, **options)))
    assert all(map(is_valid, generate(smollm2, processor_of(smollm2, grammar), prompts, **options)))


@pytest.mark.slow
@pytest.mark.parametrize("example", example_runs.examples(), ids=lambda example: example.name)
def test_the_greedy_text_and_the_samples_of_an_example(smollm2: Any, example: example_runs.Example) -> None:
    from grammar_decode.integrations.transformers import GrammarLogitsProcessor

    limit = example_runs.MAX_TOKENS
    processor = GrammarLogitsProcessor(example.grammar(), smollm2.vocabulary, max_new_tokens=limit)
    ids = torch.tensor([example.prompt_ids])
    options = {"attention_mask": torch.ones_like(ids), "max_new_tokens": limit, "logits_processor": [processor]}

    def texts(rows: Any) -> list[str]:
        answers: list[str] = smollm2.tokenizer.batch_decode(rows[:, ids.shape[1] :], skip_special_tokens=True)
        return answers

    assert texts(smollm2.model.generate(ids, do_sample=False, **options)) == [example.greedy]
    processor.reset()
    torch.manual_seed(1)
    samples = {"do_sample": True, "top_k": 0, "num_return_sequences": example_runs.SAMPLES}
    example.judge(texts(smollm2.model.generate(ids, **samples, **options)))


def test_the_page_prints_what_it_says(smollm2: Any) -> None:
    assert run_examples("transformers.md") == 1
    assert run_examples("../chat.md") == 1
