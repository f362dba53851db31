"""The backend for vLLM, driven as its engine drives it; a traced protocol, so vLLM need not be installed."""

from __future__ import annotations

import importlib
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fake_engines
import grammar_decode as gd
from vocabularies import ALL_SINGLE_BYTES, SOME_BYTES_MISSING
from walks import as_vocabulary, ids_of, mask_of, tokens_of, written

VOCAB = as_vocabulary(ALL_SINGLE_BYTES)
EOS, USER_STOP = VOCAB.stop_token_ids[:2]
SCHEMA = {"type": "array", "items": {"enum": [1, 12, 123]}, "maxItems": 2}


@pytest.fixture(scope="module")
def adapter() -> Any:
    with fake_engines.modules(fake_engines.vllm()):
        yield importlib.import_module("grammar_decode.integrations.vllm")


@pytest.fixture
def backend(adapter: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(adapter, "vocabulary_of", lambda _tokenizer, _size: VOCAB)
    return adapter.Backend(SimpleNamespace(additional_config={}), tokenizer=object(), vocab_size=VOCAB.size)


def ids(text: bytes) -> list[int]:
    return [VOCAB.token_bytes.index(bytes([byte])) for byte in text]


def request(adapter: Any, backend: Any, spec: Any = SCHEMA, stops: Any = (EOS,)) -> Any:
    return backend.compile_grammar(adapter.StructuredOutputOptions.JSON, json.dumps(spec), stop_token_ids=set(stops))


def row_of(bitmask: Any, row: int) -> Any:
    return np.asarray(bitmask)[row]


def test_a_request_step_by_step(adapter: Any, backend: Any) -> None:
    grammar = request(adapter, backend)
    bitmask = backend.allocate_token_bitmask(4)
    assert tuple(bitmask.shape) == (4, -(-VOCAB.size // 32))
    expected = gd.GrammarMatcher(gd.compile_json_schema(SCHEMA), VOCAB, stop_token_ids=[EOS])
    for token_id in [*ids(b"[12,1]"), EOS]:
        assert not grammar.is_terminated()
        grammar.fill_bitmask(bitmask, 2)
        assert (row_of(bitmask, 2) == mask_of(expected)).all()
        assert grammar.accept_tokens("r", [token_id])
        assert expected.accept_token(token_id)
    assert grammar.is_terminated()
    assert grammar.accept_tokens("r", ids(b"[["))  # what follows is ignored
    assert grammar.validate_tokens(ids(b"[")) == []


@pytest.mark.parametrize("num_accepted", range(5))
def test_the_loop_of_speculative_decoding(adapter: Any, backend: Any, num_accepted: int) -> None:
    """Traced with ngram 3: trim the drafts; fill and accept row by row; take all back; accept what was verified."""
    grammar = request(adapter, backend)
    assert grammar.accept_tokens("r", ids(b"[12"))
    drafts = grammar.validate_tokens([*ids(b",1]"), EOS, *ids(b"x")])
    assert drafts == [*ids(b",1]"), EOS]
    bitmask = backend.allocate_token_bitmask(5)
    advanced = 0
    for row, draft in enumerate(drafts):
        grammar.fill_bitmask(bitmask, row)
        assert draft in ids_of(row_of(bitmask, row))
        assert not grammar.is_terminated()
        assert grammar.accept_tokens("r", [draft])
        advanced += 1
    assert grammar.is_terminated()
    grammar.rollback(advanced)  # across the stop token
    assert not grammar.is_terminated()
    assert grammar.accept_tokens("r", drafts[:num_accepted])
    assert grammar.is_terminated() == (num_accepted == 4)
    fresh = gd.GrammarMatcher(gd.compile_json_schema(SCHEMA), VOCAB, stop_token_ids=[EOS])
    assert fresh.accept_tokens([*ids(b"[12"), *drafts[:num_accepted]])
    grammar.fill_bitmask(bitmask, 4)
    assert (row_of(bitmask, 4) == mask_of(fresh)).all()


def test_a_token_off_the_grammar_is_false_and_said(
    adapter: Any, backend: Any, caplog: pytest.LogCaptureFixture
) -> None:
    grammar = request(adapter, backend)
    with caplog.at_level(logging.ERROR):
        assert not grammar.accept_tokens("request-7", ids(b"[x"))
    assert "request-7" in caplog.text
    assert not request(adapter, backend).accept_tokens("r", [VOCAB.size])
    assert request(adapter, backend).validate_tokens([*ids(b"["), VOCAB.size]) == ids(b"[")


def test_stop_tokens_are_those_of_the_request(adapter: Any, backend: Any) -> None:
    grammar = request(adapter, backend, stops={EOS, USER_STOP, VOCAB.size + 5})
    bitmask = backend.allocate_token_bitmask(1)
    grammar.fill_bitmask(bitmask, 0)
    assert not {EOS, USER_STOP} & set(ids_of(row_of(bitmask, 0)))
    assert grammar.accept_tokens("r", ids(b"[]"))
    grammar.fill_bitmask(bitmask, 0)
    assert {EOS, USER_STOP} < set(ids_of(row_of(bitmask, 0)))  # and white space
    assert grammar.accept_tokens("r", [USER_STOP])
    assert grammar.is_terminated()


def test_threads_of_the_pool_compile_the_same_schemas(adapter: Any, backend: Any) -> None:
    schemas = [{"type": "array", "items": {"const": n}, "maxItems": 1} for n in range(20)]
    with ThreadPoolExecutor(4) as pool:
        grammars = list(pool.map(lambda n: request(adapter, backend, schemas[n % 20]), range(80)))
    assert len(backend.cache) == 20
    for number, grammar in enumerate(grammars):
        assert grammar.accept_tokens("r", ids(f"[{number % 20}]".encode()))
        assert not grammar.accept_tokens("r", ids(b","))
    backend.destroy()
    assert len(backend.cache) == 0


def test_kinds_of_requests(adapter: Any, backend: Any) -> None:
    kinds = adapter.StructuredOutputOptions
    for kind, spec, good, bad in (
        (kinds.JSON_OBJECT, "", b'{"a":[1]}', b"["),
        (kinds.REGEX, "[0-9]{2}", b"42", b"4x"),
        (kinds.CHOICE, '["yes", "no"]', b"yes", b"ye!"),
    ):
        grammar = backend.compile_grammar(kind, spec, stop_token_ids={EOS})
        assert grammar.validate_tokens([*ids(good), EOS]) == [*ids(good), EOS], kind
        assert not grammar.accept_tokens("r", ids(bad)), kind
    with pytest.raises(gd.GrammarDecodeError, match="not supported"):
        backend.compile_grammar(kinds.GRAMMAR, "root ::= x")


def test_text_options_come_from_the_additional_config(adapter: Any) -> None:
    options = adapter.options_of(SimpleNamespace(additional_config={"grammar_decode": {"whitespace": "compact"}}))
    assert options == gd.JsonOptions(whitespace="compact")
    with pytest.raises(ValueError, match="formats"):
        adapter.options_of(SimpleNamespace(additional_config={"grammar_decode": {"formats": "strict"}}))


def wanted(**given: Any) -> Any:
    empty = dict.fromkeys(("json", "json_object", "regex", "choice", "grammar", "structural_tag", "_backend"))
    return SimpleNamespace(structured_outputs=SimpleNamespace(**{**empty, **given}))


BAD = {
    "unsupported": (
        {"json": {"properties": {"a": {"type": "string", "pattern": r"(a)\1"}}}},
        "#/properties/a/pattern",
    ),
    "not a schema": ({"json": {"type": "foo"}}, "#/type"),
    "not JSON": ({"json": "{"}, "JSON"),
    "a number": ({"json": "3"}, "grammar-decode: "),
    "unsatisfiable": ({"json": {"allOf": [{"type": "null"}, {"type": "array"}]}}, "unsatisfiable"),
    "deep": ({"json": '{"items":' * 5000 + "{}" + "}" * 5000}, "grammar-decode: "),
    "backreference": ({"regex": r"(a)\1"}, "backreferences"),
    "no pattern": ({"regex": "("}, "offset"),
    "no choices": ({"choice": []}, "no choices"),
    "numbers as choices": ({"choice": [1]}, "string"),
    "EBNF": ({"grammar": "root ::= x"}, "not supported"),
    "nothing": ({}, "structured_outputs"),
    "json_object false": ({"json_object": False}, "true"),
    "other backend": ({"json": {}, "_backend": "xgrammar"}, "xgrammar"),
}


@pytest.mark.parametrize(("given", "says"), BAD.values(), ids=BAD.keys())
def test_what_cant_be_enforced_is_a_validation_error(
    adapter: Any, monkeypatch: pytest.MonkeyPatch, given: Any, says: str
) -> None:
    monkeypatch.setattr(adapter, "vocabulary_of", lambda _tokenizer, _size: VOCAB)
    model = SimpleNamespace(get_vocab_size=lambda: VOCAB.size, is_diffusion=False)
    front_end = adapter.FrontEnd()
    for _ in range(2):  # the second answer is remembered
        with pytest.raises(adapter.VLLMValidationError, match=says):
            front_end.validate(wanted(**given), model, object())


def test_what_can_be_enforced_passes_the_front_end(adapter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "vocabulary_of", lambda _tokenizer, _size: VOCAB)
    model = SimpleNamespace(get_vocab_size=lambda: VOCAB.size, is_diffusion=False)
    front_end, tokenizer = adapter.FrontEnd(), object()
    for given in ({"json": SCHEMA}, {"json": json.dumps(SCHEMA)}, {"json_object": True}, {"choice": ["a"]}):
        params = wanted(**given)
        front_end.validate(params, model, tokenizer)
        front_end.validate(params, model, tokenizer)  # parameters may be used twice
        assert params.structured_outputs._backend == "grammar-decode"
    with pytest.raises(adapter.VLLMValidationError, match="tokenizer"):
        front_end.validate(wanted(json={}), model, None)


def test_a_document_that_the_vocabulary_cant_write_is_refused_at_the_front(
    adapter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = as_vocabulary(SOME_BYTES_MISSING)
    monkeypatch.setattr(adapter, "vocabulary_of", lambda _tokenizer, _size: missing)
    model = SimpleNamespace(get_vocab_size=lambda: missing.size, is_diffusion=False)
    with pytest.raises(adapter.VLLMValidationError):
        adapter.FrontEnd().validate(wanted(json={"const": "zZ"}), model, object())
    adapter.FrontEnd().validate(wanted(json={"const": "ab"}), model, object())


def test_a_document_is_complete_within_the_request_s_max_tokens(adapter: Any, backend: Any) -> None:
    import random

    schema = json.dumps({"type": "array", "items": {"type": "string"}, "minItems": 1})
    for seed in range(30):
        rng = random.Random(seed)
        adapter._request.max_tokens = 9
        try:
            grammar = backend.compile_grammar(adapter.StructuredOutputOptions.JSON, schema, stop_token_ids={EOS})
        finally:
            adapter._request.max_tokens = None
        bitmask = backend.allocate_token_bitmask(1)
        num_tokens = 0
        while not grammar.is_terminated():
            grammar.fill_bitmask(bitmask, 0)
            assert grammar.accept_tokens("r", [rng.choice(ids_of(row_of(bitmask, 0)))])
            num_tokens += 1
        assert num_tokens <= 9


def test_the_room_of_a_request(adapter: Any) -> None:
    config = SimpleNamespace(model_config=SimpleNamespace(max_model_len=100))
    request_ = SimpleNamespace(max_tokens=60, num_prompt_tokens=30)
    plain = SimpleNamespace(vllm_config=config, reasoner_cls=None, enable_in_reasoning=False)
    assert adapter.room_of(plain, request_) == 60
    assert adapter.room_of(plain, SimpleNamespace(max_tokens=60, num_prompt_tokens=90)) == 10
    reasons = SimpleNamespace(vllm_config=config, reasoner_cls=object, enable_in_reasoning=False)
    assert adapter.room_of(reasons, request_) is None
    assert adapter.room_of(SimpleNamespace(**{**vars(reasons), "enable_in_reasoning": True}), request_) == 60


def test_a_limit_that_no_document_keeps_is_refused_at_the_front(adapter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "vocabulary_of", lambda _tokenizer, _size: VOCAB)
    model = SimpleNamespace(get_vocab_size=lambda: VOCAB.size, is_diffusion=False)
    front_end = adapter.FrontEnd()
    params = wanted(json={"const": "a long text"})
    params.max_tokens = 3
    with pytest.raises(adapter.VLLMValidationError, match="max_tokens is 3"):
        front_end.validate(params, model, object())
    params.max_tokens = 20
    front_end.validate(params, model, object())


def test_documents_of_several_requests_at_once(adapter: Any, backend: Any) -> None:
    import random

    rng = random.Random(2)
    values = [[1], [], [12, 123], [1, 1]]
    grammars = [request(adapter, backend) for _ in values]
    bitmask = backend.allocate_token_bitmask(len(values))
    walks = [[*tokens_of(written(value).encode(), ALL_SINGLE_BYTES, rng), EOS] for value in values]
    for step in range(max(map(len, walks))):
        for row, grammar in enumerate(grammars):
            if not grammar.is_terminated():
                grammar.fill_bitmask(bitmask, row)
                assert walks[row][step] in ids_of(row_of(bitmask, row))
                assert grammar.accept_tokens("r", [walks[row][step]])
    assert all(grammar.is_terminated() for grammar in grammars)


def test_masks_are_applied_by_our_kernel_on_a_cpu_and_by_vllms_elsewhere(adapter: Any) -> None:
    calls: list[Any] = []
    plain = SimpleNamespace(apply_token_bitmask_inplace=lambda *a, **o: calls.append((a, o)), __version__="0")
    masks = adapter.MasksOnCPU(plain)
    assert masks.__version__ == "0"
    elsewhere = SimpleNamespace(is_cpu=False)
    masks.apply_token_bitmask_inplace(elsewhere, "mask", indices="rows")
    assert calls == [((elsewhere, "mask"), {"indices": "rows"})]

    class Logits(np.ndarray[Any, Any]):
        is_cpu = True

    bitmask: Any = np.zeros((3, 2), dtype=np.int32)
    bitmask[1, 0] = 0b101
    logits = np.zeros((3, 40), dtype=np.float32).view(Logits)
    masks.apply_token_bitmask_inplace(logits, bitmask, indices=[1, 2])
    assert np.isfinite(logits).sum(axis=1).tolist() == [40, 2, 0]
    assert len(calls) == 1


def test_masks_on_a_cpu_are_set_up_once(adapter: Any, backend: Any) -> None:
    utils = importlib.import_module("vllm.v1.structured_output.utils")
    first = utils.xgr
    assert isinstance(first, adapter.MasksOnCPU)
    adapter.mask_on_cpu()
    assert utils.xgr is first
