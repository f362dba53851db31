"""The factory for TensorRT-LLM in the loop of its GuidedDecoder; the engine itself is not run by this project."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fake_engines
import grammar_decode as gd
from fake_engines import GuidedDecodingParams
from walks import ids_of

SCHEMA = {"type": "array", "items": {"enum": [1, 12]}, "maxItems": 2}
CHARACTERS = '[]1, 2{}":a'
TOKENIZER = {
    "model": {"type": "BPE", "vocab": {("\u0120" if c == " " else c): i for i, c in enumerate(CHARACTERS)}},
    "decoder": {"type": "ByteLevel"},
    "added_tokens": [{"id": len(CHARACTERS), "content": "<|im_end|>", "special": True}],
}
EOS = len(CHARACTERS)
WIDTH = 40
KIND = GuidedDecodingParams.GuideType


@pytest.fixture(scope="module")
def adapter() -> Iterator[Any]:
    with fake_engines.modules(fake_engines.tensorrt_llm()):
        yield importlib.import_module("grammar_decode.integrations.tensorrt_llm")


@pytest.fixture
def factory(adapter: Any) -> Any:
    config = SimpleNamespace(tokenizer_str=json.dumps(TOKENIZER), stop_token_ids=[EOS])
    return adapter.MatcherFactory(config, WIDTH, max_num_draft_tokens=3)


def ids(text: str) -> list[int]:
    return [CHARACTERS.index(character) for character in text]


def step(matcher: Any, new_token: int | None, drafts: list[int], bitmask: Any) -> int:
    """GuidedDecoder._build: the new token, then the drafts as far as they go; returns how many were accepted."""
    if new_token is not None:
        if matcher.is_terminated():
            return 0
        assert matcher.accept_token(new_token)
    advanced = 1
    if matcher.is_terminated():
        return advanced
    matcher.fill_next_token_bitmask(bitmask, 0)
    for row, draft in enumerate(drafts, 1):
        if not matcher.accept_token(draft):
            break
        advanced += 1
        if matcher.is_terminated():
            break
        matcher.fill_next_token_bitmask(bitmask, row)
    return advanced


@pytest.mark.parametrize("drafts", ["", "1]", "2,1", "xx", "1,12"])
def test_a_request_with_drafts_that_are_taken_back(factory: Any, drafts: str) -> None:
    matcher = factory.create(GuidedDecodingParams(KIND.JSON_SCHEMA, json.dumps(SCHEMA)))
    bitmask = np.full((4, 2), -1, dtype=np.int32)
    wrong = [WIDTH + 5 if character == "x" else CHARACTERS.index(character) for character in drafts][:3]
    new_token = None
    for token_id in [*ids("[12,1]"), EOS]:
        advanced = step(matcher, new_token, wrong, bitmask)
        assert token_id in ids_of(bitmask[0])
        assert all(bit < WIDTH for bit in ids_of(bitmask[0]))
        matcher.rollback(advanced - 1)  # none of the drafts was verified
        new_token = token_id
    assert step(matcher, new_token, wrong, bitmask) == 1
    assert matcher.is_terminated()
    assert not matcher.accept_token(EOS)


def test_kinds(factory: Any) -> None:
    for kind, guide, text in (
        (KIND.JSON, None, '{"a":1}'),
        (KIND.REGEX, "[12]{2}", "21"),
        (KIND.JSON_SCHEMA, json.dumps(SCHEMA), "[]"),
    ):
        matcher = factory.create(GuidedDecodingParams(kind, guide))
        assert all(map(matcher.accept_token, [*ids(text), EOS]))
        assert matcher.is_terminated()
    with pytest.raises(ValueError, match="EBNF"):
        factory.create(GuidedDecodingParams(KIND.EBNF_GRAMMAR, "root ::= x"))
    with pytest.raises(gd.SchemaError, match="#/type"):
        factory.create(GuidedDecodingParams(KIND.JSON_SCHEMA, '{"type": "foo"}'))


def test_registering_takes_the_place_of_llguidance(adapter: Any) -> None:
    adapter.register()
    decoder = importlib.import_module("tensorrt_llm._torch.pyexecutor").guided_decoder
    assert decoder.LLGuidanceMatcherFactory is adapter.MatcherFactory
