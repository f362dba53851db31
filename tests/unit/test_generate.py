"""The loop, the sampler and the judge, on a fake model and a fake matcher over a short list of documents."""

from __future__ import annotations

import json

import numpy as np
import pytest

from grammar_decode.errors import GenerationError, ModelError
from grammar_decode.generate import generate, generate_stream
from grammar_decode.judge import judge_of
from grammar_decode.sampling import Sampler
from grammar_decode.vocabulary import Vocabulary

STOP = 256
WHOLE = 257  # one token that is a whole word
VOCABULARY = Vocabulary([*(bytes([byte]) for byte in range(256)), None, b"true"], stop_token_ids=[STOP])


class FakeMatcher:
    """Allows exactly the given documents, by comparing bytes."""

    def __init__(self, *documents: bytes) -> None:
        self.documents = documents
        self.written = b""
        self.ended = False

    def allows(self, token_id: int) -> bool:
        if token_id == STOP:
            return self.is_accepting()
        text = self.written + (VOCABULARY.token_bytes[token_id] or b"")
        return not self.ended and any(document.startswith(text) for document in self.documents)

    def fill_next_token_bitmask(self, bitmask: np.ndarray, index: int = 0) -> None:
        bitmask[index] = 0
        for token_id in filter(self.allows, range(VOCABULARY.size)):
            bitmask.view(np.uint32)[index, token_id // 32] |= np.uint32(1 << token_id % 32)

    def accept_token(self, token_id: int) -> bool:
        if not self.allows(token_id):
            return False
        self.ended = token_id == STOP
        self.written += VOCABULARY.token_bytes[token_id] or b""
        return True

    def is_accepting(self) -> bool:
        return self.written in self.documents

    def is_terminated(self) -> bool:
        return self.ended


class FakeModel:
    """Logits from a random table, the same at every step; `favourites` are pushed up in this order."""

    def __init__(self, favourites: bytes = b"", *, context_size: int | None = None, width: int = 300) -> None:
        self.vocabulary = VOCABULARY
        self.context_size = context_size
        self.favourites = favourites
        self.width = width
        self.steps: list[int] = []

    def encode(self, prompt: str) -> list[int]:
        return list(prompt.encode())

    def prefill(self, _ids: list[int]) -> np.ndarray:
        self.steps = []
        return self.logits()

    def step(self, token_id: int) -> np.ndarray:
        self.steps.append(token_id)
        return self.logits()

    def logits(self) -> np.ndarray:
        logits = np.random.default_rng(7).standard_normal(self.width).astype(np.float32)
        at = len(self.steps)
        logits[self.favourites[at] if at < len(self.favourites) else STOP] += 50
        return logits


def test_a_model_that_wants_something_else_is_held_to_the_documents() -> None:
    result = generate(FakeModel(b"no such thing"), None, FakeMatcher(b'{"a":1}', b'{"a":2}'), "hello")
    assert result.text in ('{"a":1}', '{"a":2}')
    assert result.value == json.loads(result.text)
    assert result.stop_reason == "completed"
    assert result.is_complete
    assert result.tokens[-1] == STOP
    assert result.num_prompt_tokens == 5
    assert result.valid is None, "there is no schema to judge by"


def test_tokens_past_the_vocabulary_are_never_drawn_however_likely() -> None:
    model = FakeModel(width=300)
    model.logits = lambda: np.full(300, 9.0, np.float32) * (np.arange(300) >= 258)  # type: ignore[method-assign]
    assert generate(model, None, FakeMatcher(b"12"), "x").text == "12"


def test_a_model_that_is_narrower_than_the_vocabulary_is_refused() -> None:
    with pytest.raises(ModelError, match=r"257 logits.* needs 258"):
        generate(FakeModel(width=257), None, FakeMatcher(b"12"), "x")


def test_padding_of_a_vocabulary_needs_no_logits() -> None:
    padded = Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_token_ids=[STOP], size=400)
    assert padded.needed_width == 257
    assert generate(FakeModel(b"12", width=257), padded, {"const": 12}, "x").text == "12"


def test_where_only_blanks_may_follow_the_document_ends() -> None:
    model = FakeModel(b'"a"' + b" " * 30)
    result = generate(model, None, {"type": "string"}, "x")
    assert (result.text, result.stop_reason, result.tokens[-1]) == ('"a"', "completed", STOP)
    longer = generate(model, None, {"type": "string"}, "x", forced_text=False)
    assert longer.text == '"a"' + " " * 30
    assert generate(FakeModel(b"12  "), None, {"type": "integer"}, "x").text == "12 ", "a number might go on"


def test_the_limit_ends_an_unfinished_document_and_the_result_says_so() -> None:
    result = generate(FakeModel(), None, FakeMatcher(b'{"a":1}'), "x", max_tokens=3)
    assert (result.text, result.value, result.is_complete, result.stop_reason) == ('{"a', None, False, "length")
    assert len(result.tokens) == 3


def test_no_model_step_is_made_after_the_last_token() -> None:
    model = FakeModel()
    generate(model, None, FakeMatcher(b'{"a":1}'), "x", max_tokens=3)
    assert len(model.steps) == 2


def test_the_models_context_is_a_limit_too() -> None:
    result = generate(FakeModel(context_size=10), None, FakeMatcher(b'{"a":1}'), "12345678")
    assert (len(result.tokens), result.stop_reason) == (2, "length")
    with pytest.raises(ModelError, match="10 tokens, and the model's context only 10"):
        generate(FakeModel(context_size=10), None, FakeMatcher(b"1"), "1234567890")


def test_pieces_are_whole_characters_and_add_up_to_the_text() -> None:
    document = '"aé€😀b"'.encode()
    stream = generate_stream(FakeModel(document), None, FakeMatcher(document), "x")
    pieces = list(stream)
    assert pieces == ['"', "a", "é", "€", "😀", "b", '"']
    assert stream.result.text == document.decode()
    assert list(stream) == []
    assert stream.result.text == document.decode(), "asking again after the end changes nothing"


def test_a_character_that_the_limit_cuts_in_two_is_shown_as_replaced() -> None:
    document = '"€"'.encode()
    assert (
        generate(FakeModel(document), None, FakeMatcher(document), "x", max_tokens=3).text
        == '"\N{REPLACEMENT CHARACTER}'
    )


def test_a_printed_result_is_one_line_however_long_the_run() -> None:
    document = b'"' + b"x" * 400 + b'"'
    result = generate(FakeModel(), None, FakeMatcher(document), "", max_tokens=500)
    assert repr(result) == f"<GenerationResult '\"{'x' * 198}…': completed, 403 tokens>"
    assert str(result) == repr(result)
    cut = generate(FakeModel(), None, FakeMatcher(document), "", max_tokens=3)
    assert repr(cut) == "<GenerationResult '\"xx': length, 3 tokens>"


def test_the_result_is_not_there_before_the_stream_has_ended() -> None:
    stream = generate_stream(FakeModel(), None, FakeMatcher(b"12"), "x")
    next(stream)
    with pytest.raises(RuntimeError, match="not finished"):
        _ = stream.result


def test_the_same_seed_gives_the_same_document_and_the_seed_is_reported() -> None:
    matcher_documents = [bytes(text, "ascii") for text in map(str, range(100, 1000))]
    runs = [
        generate(FakeModel(), None, FakeMatcher(*matcher_documents), "x", temperature=50.0, seed=seed)
        for seed in (1, 1, 2, 3, 4)
    ]
    assert runs[0].text == runs[1].text
    assert len({run.text for run in runs}) > 1
    unseeded = generate(FakeModel(), None, FakeMatcher(*matcher_documents), "x", temperature=50.0)
    again = generate(FakeModel(), None, FakeMatcher(*matcher_documents), "x", temperature=50.0, seed=unseeded.seed)
    assert again.text == unseeded.text


def test_unconstrained_follows_the_model_and_still_judges() -> None:
    result = generate(FakeModel(b'{"a": "x"}'), None, {"required": ["b"]}, "x", unconstrained=True)
    assert (result.text, result.stop_reason, result.is_complete) == ('{"a": "x"}', "stop", True)
    assert result.valid is False
    babble = generate(FakeModel(b"Sure!"), None, {"required": ["b"]}, "x", unconstrained=True)
    assert (babble.is_complete, babble.value, babble.valid) == (False, None, False)


def test_a_matcher_that_refuses_its_own_mask_is_a_bug_and_raises() -> None:
    matcher = FakeMatcher(b"1")
    matcher.accept_token = lambda _token_id: False  # type: ignore[method-assign]
    with pytest.raises(GenerationError, match="allowed and then refused"):
        generate(FakeModel(), None, matcher, "x")


def test_an_empty_mask_is_a_bug_and_raises() -> None:
    with pytest.raises(GenerationError, match="no token is allowed"):
        generate(FakeModel(), None, FakeMatcher(), "x")


@pytest.mark.parametrize("setting", [{"max_tokens": 0}, {"temperature": -1.0}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_settings_out_of_range_are_refused_at_once(setting: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        generate_stream(FakeModel(), None, FakeMatcher(b"1"), "x", **setting)  # type: ignore[arg-type]


def test_something_that_is_no_model_is_named() -> None:
    with pytest.raises(TypeError, match="prefill"):
        generate(object(), object(), {}, "x")


def test_times_add_up() -> None:
    result = generate(FakeModel(), None, FakeMatcher(b"[1,2,3]"), "x")
    timings = result.timings
    assert timings.steps == timings.model + timings.mask + timings.sample > 0
    assert 0 < result.mask_share < 1
    assert result.tokens_per_second == pytest.approx(len(result.tokens) / timings.steps)


@pytest.mark.parametrize("top_p", [1.0, 0.5, 1e-9])
def test_a_forbidden_token_is_never_drawn(top_p: float) -> None:
    logits = np.full(1000, -np.inf, np.float32)
    logits[[3, 500, 999]] = [1.0, 1.5, -2.0]
    sampler = Sampler(temperature=3.0, top_p=top_p, seed=0)
    drawn = {sampler.sample(logits) for _ in range(400)}
    assert drawn == ({3, 500, 999} if top_p == 1 else {3, 500} if top_p == 0.5 else {500})


def test_draws_follow_the_softmax() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    sampler = Sampler(temperature=1.0, seed=0)
    counts = np.bincount([sampler.sample(logits) for _ in range(20_000)])
    assert counts / 20_000 == pytest.approx([0.5, 0.3, 0.2], abs=0.015)


def test_top_p_keeps_the_fewest_tokens_that_reach_it() -> None:
    logits = np.log(np.array([0.1, 0.5, 0.15, 0.25], np.float32))
    sampler = Sampler(temperature=1.0, top_p=0.7, seed=0)
    assert {sampler.sample(logits) for _ in range(300)} == {1, 3}


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
def test_logits_that_are_no_numbers_are_the_models_fault(value: float) -> None:
    with pytest.raises(ModelError, match="no usable logits"):
        Sampler().sample(np.full(10, value, np.float32))


def test_the_judge_compares_numbers_as_they_are_written() -> None:
    judge = judge_of({"multipleOf": 0.1, "maximum": 2.3})
    assert judge is not None
    assert judge("0.3")
    assert judge("2.3")
    assert not judge("0.35")
    assert not judge("2.4")


def test_the_judge_takes_one_point_zero_for_an_integer_and_nan_for_nothing() -> None:
    judge = judge_of('{"type": "integer"}')
    assert judge is not None
    assert judge("1.0")
    assert judge("1e2")
    assert not judge("1.5")
    assert not judge("NaN")
    assert not judge("1 2")
