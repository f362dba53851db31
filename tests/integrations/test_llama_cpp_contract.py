"""The processor for llama-cpp-python in the loop of its `generate`, drafts included, without llama.cpp."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import grammar_decode as gd
from grammar_decode.integrations.llama_cpp import GrammarLogitsProcessor
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, ids_of, mask_of, text_of

VOCAB = as_vocabulary(ALL_SINGLE_BYTES)
GRAMMAR = gd.compile_json_schema({"type": "array", "items": {"enum": [1, 12, 123]}, "maxItems": 3})
RECORDS = np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)])


def records(seed: int) -> Any:
    """llama.cpp's array of tokens, in the order of the ids."""
    data = np.zeros(VOCAB.size, dtype=RECORDS).view(np.recarray)
    data["id"] = np.arange(VOCAB.size)
    data["logit"] = np.random.default_rng(seed).normal(size=VOCAB.size)
    data["p"] = 7
    return data


def generate(processor: Any, prompt: list[int], num_drafts: int, wishes: random.Random) -> list[int]:
    """Llama.generate: evaluate, sample at every evaluated place as long as the drafts are met, draft again."""
    evaluated: list[int] = []
    tokens, sampled = list(prompt), []
    at = len(prompt) - 1
    while len(sampled) < 200:
        evaluated += tokens
        while at < len(evaluated):
            data = records(wishes.randrange(1 << 30))
            data.logit[:] = processor(np.array(evaluated, dtype=np.intc), data.logit)
            assert (data["p"] == 7).all()
            token_id = int(data["logit"].argmax())
            sampled.append(token_id)
            at += 1
            if token_id in VOCAB.stop_token_ids:
                return sampled
            tokens = [token_id]
            if at < len(evaluated) and token_id != evaluated[at]:
                evaluated = evaluated[:at]
                break
        drafts = [VOCAB.token_bytes.index(text) for text in (b"1", b",", b"]", b"12", b"x")]
        tokens += wishes.choices(drafts, k=num_drafts)
    raise AssertionError("no end")


@pytest.mark.parametrize("num_drafts", [0, 1, 4])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_is_a_document(num_drafts: int, seed: int) -> None:
    processor = GrammarLogitsProcessor(GRAMMAR, VOCAB)
    tokens = generate(processor, [3, 1, 4, 1, 5], num_drafts, random.Random(seed))
    assert processor.error is None
    matcher = gd.GrammarMatcher(GRAMMAR, VOCAB)
    assert matcher.accept_tokens(tokens), text_of(ALL_SINGLE_BYTES, tokens)
    assert matcher.is_terminated()


def test_drafts_do_not_count_before_they_are_drawn() -> None:
    """The same ids come for each draft that is verified."""
    processor = GrammarLogitsProcessor(GRAMMAR, VOCAB)
    one, two = (VOCAB.token_bytes.index(text) for text in (b"[", b"12"))
    prompt, wrong = [3, 1, 4], 5
    expected = gd.GrammarMatcher(GRAMMAR, VOCAB)
    for evaluated in ([], [one, two, wrong], [one, two, wrong], [one, two, wrong]):
        scores: npt.NDArray[np.single] = np.zeros(VOCAB.size, dtype=np.single)
        processor(np.array(prompt + evaluated, dtype=np.intc), scores)
        assert np.flatnonzero(np.isfinite(scores)).tolist() == ids_of(mask_of(expected))
        drawn = [one, two, None, None][expected.num_steps]
        if drawn is None:
            break
        assert expected.accept_token(drawn)
    assert processor.error is None


def test_nothing_is_raised_and_only_stop_tokens_are_left_where_the_mask_cant_be_had() -> None:
    processor = GrammarLogitsProcessor(GRAMMAR, VOCAB)
    for ids in ([1, 2, 3], [1, 2, 3, 0]):  # 0 is no text
        scores: npt.NDArray[np.single] = np.zeros(VOCAB.size, dtype=np.single)
        processor(np.array(ids, dtype=np.intc), scores)
    assert np.flatnonzero(np.isfinite(scores)).tolist() == list(VOCAB.stop_token_ids)
    assert processor.error is not None
    assert "reset" in processor.error
    processor.reset()
    scores = np.zeros(VOCAB.size, dtype=np.single)
    processor(np.array([9] * 7, dtype=np.intc), scores)
    assert processor.error is None
    assert np.isfinite(scores).sum() == len(ids_of(mask_of(gd.GrammarMatcher(GRAMMAR, VOCAB))))


def test_a_shorter_text_than_was_drawn_is_another_completion() -> None:
    processor = GrammarLogitsProcessor(GRAMMAR, VOCAB)
    for _ in range(2):
        scores: npt.NDArray[np.single] = np.zeros(VOCAB.size, dtype=np.single)
        processor(np.array([1, 2, 3], dtype=np.intc), scores)
    assert processor.error is not None
    assert np.flatnonzero(np.isfinite(scores)).tolist() == list(VOCAB.stop_token_ids)
