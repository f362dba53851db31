"""The backend for SGLang, driven as its scheduler drives it; with its own `constrained` package where that is there."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fake_engines
import grammar_decode as gd
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, ids_of, mask_of

VOCAB = as_vocabulary(ALL_SINGLE_BYTES)
EOS = VOCAB.stop_token_ids[0]
SCHEMA = {"type": "array", "items": {"enum": [1, 12, 123]}, "maxItems": 2}

pytestmark = pytest.mark.filterwarnings("default")  # the real package has warnings of its own


@pytest.fixture(scope="module")
def adapter() -> Iterator[Any]:
    with fake_engines.modules(fake_engines.sglang()):
        yield importlib.import_module("grammar_decode.integrations.sglang")


@pytest.fixture
def backend(adapter: Any) -> Iterator[Any]:
    backend = adapter.Backend(VOCAB)
    yield backend
    backend.executor.shutdown()


def ids(text: bytes) -> list[int]:
    return [VOCAB.token_bytes.index(bytes([byte])) for byte in text]


def request(backend: Any, spec: Any = SCHEMA, *, does_reason: bool = False) -> Any:
    """A grammar as the scheduler gets it: out of the pool, or a copy of the cached one."""
    key = ("json", json.dumps(spec))
    value, is_hit = backend.get_cached_or_future_value(key, does_reason)
    if not is_hit:
        value = value.result()
        backend.set_cache(key, value.copy())
    return value


def row_of(mask: Any, row: int) -> Any:
    return np.asarray(mask)[row]


def test_a_request_from_the_pool_and_one_from_the_cache(backend: Any) -> None:
    for _ in range(3):
        grammar = request(backend)
        expected = gd.GrammarMatcher(gd.compile_json_schema(SCHEMA), VOCAB)
        for token_id in [*ids(b"[12,1]"), EOS]:
            mask = grammar.allocate_vocab_mask(VOCAB.size, 3, "cpu")
            grammar.fill_vocab_mask(mask, 1)
            assert (row_of(mask, 1) == mask_of(expected)).all()
            assert (row_of(mask, 0) == -1).all()
            assert not grammar.is_terminated()
            grammar.accept_token(token_id)
            assert expected.accept_token(token_id)
        assert grammar.is_terminated()
        grammar.accept_token(EOS)  # nothing happens
        grammar.rollback(1)
        assert not grammar.is_terminated()
    assert len(backend.cache) == 1


def test_a_refused_token_is_a_value_error_and_changes_nothing(backend: Any) -> None:
    grammar = request(backend)
    grammar.accept_token(ids(b"[")[0])
    for token_id in (*ids(b"x"), VOCAB.size, -1):
        with pytest.raises(ValueError, match="not allowed"):
            grammar.accept_token(token_id)
    grammar.accept_token(ids(b"]")[0])


def test_a_batch_is_filled_in_one_call_whatever_wrappers_are_in_it(backend: Any) -> None:
    grammars = [request(backend) for _ in range(4)]
    for length, grammar in enumerate(grammars):
        for token_id in ids(b"[12,"[:length]):
            grammar.accept_token(token_id)

    class Wrapper:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def fill_vocab_mask(self, mask: Any, row: int) -> None:
            self.inner.fill_vocab_mask(mask, row)

    rows = [5, 0, 3, 2]
    entries = [
        SimpleNamespace(row=row, grammar=Wrapper(grammar) if row == 3 else grammar)
        for row, grammar in zip(rows, grammars, strict=True)
    ]
    mask = grammars[0].allocate_vocab_mask(VOCAB.size, 6, "cpu")
    type(grammars[0]).fill_vocab_mask_batched(entries, mask)
    for row, grammar in zip(rows, grammars, strict=True):
        assert (row_of(mask, row) == mask_of(grammar.matcher)).all()
    assert (row_of(mask, 1) == -1).all()


def traverse(grammar: Any, drafts: list[int], child: list[int], sibling: list[int], mask: Any) -> None:
    """SGLang's walk over a tree of drafts, depth first; node 0 is the last token, accepted before."""

    def visit(node: int, parent: int) -> None:
        word = 0 if node == 0 else int(row_of(mask, parent)[drafts[node] // 32])
        if node == 0 or word >> (drafts[node] % 32) & 1:
            if node:
                grammar.accept_token(drafts[node])
            if not grammar.is_terminated():
                grammar.fill_vocab_mask(mask, node)
                if child[node] != -1:
                    visit(child[node], node)
            if node:
                grammar.rollback(1)
        if sibling[node] != -1:
            visit(sibling[node], parent)

    visit(0, -1)


@pytest.mark.parametrize("seed", range(10))
def test_the_walk_over_a_tree_of_drafts(backend: Any, seed: int) -> None:
    rng = random.Random(seed)
    grammar = request(backend)
    grammar.accept_token(ids(b"[")[0])
    before = mask_of(grammar.matcher)
    size = 12
    parents = [-1, *(rng.randrange(node) for node in range(1, size))]
    drafts = [0, *rng.choices([*ids(b"12],x"), VOCAB.token_bytes.index(b"12"), EOS], k=size - 1)]
    child, sibling = [-1] * size, [-1] * size
    for node in reversed(range(1, size)):
        sibling[node], child[parents[node]] = child[parents[node]], node
    mask = grammar.allocate_vocab_mask(VOCAB.size, size, "cpu")
    traverse(grammar, drafts, child, sibling, mask)
    assert (mask_of(grammar.matcher) == before).all()
    for node in range(size):
        path: list[int] = []
        at = node
        while at:
            path.insert(0, drafts[at])
            at = parents[at]
        matcher = gd.GrammarMatcher(gd.compile_json_schema(SCHEMA), VOCAB)
        if matcher.accept_tokens([*ids(b"["), *path]) and not matcher.is_terminated():
            assert (row_of(mask, node) == mask_of(matcher)).all(), node
        else:
            assert (row_of(mask, node) == -1).all(), node


def test_other_kinds_and_errors_come_as_invalid_grammars(adapter: Any, backend: Any) -> None:
    for kind, spec, says in (
        ("json", '{"properties": {"a": {"type": "foo"}}}', "#/properties/a/type"),
        ("json", "{", "JSON"),
        ("regex", r"(a)\1", "backreferences"),
        ("ebnf", "root ::= x", "not supported"),
        ("structural_tag", "{}", "not supported"),
    ):
        value, is_hit = backend.get_cached_or_future_value((kind, spec), False)
        invalid = value.result()
        assert not is_hit
        assert isinstance(invalid, adapter.InvalidGrammarObject)
        assert says in invalid.error_message


def test_regex_and_any_json(backend: Any) -> None:
    regex = backend.dispatch_regex("[0-9]{2}")
    for token_id in [*ids(b"42"), EOS]:
        regex.accept_token(token_id)
    assert regex.is_terminated()
    anything = backend.dispatch_json("$$ANY$$")
    for token_id in [*ids(b'{"a":[1,null]}'), EOS]:
        anything.accept_token(token_id)
    assert anything.is_terminated()


def test_the_cache_is_bounded_and_reset(adapter: Any, backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter.Backend, "max_cached", 3)
    for number in range(6):
        request(backend, {"const": number})
    assert len(backend.cache) == 3
    backend.reset()
    assert len(backend.cache) == 0
    assert len(backend.grammars) == 0


def test_masks_are_applied_to_logits(adapter: Any, backend: Any) -> None:
    grammar = request(backend)
    mask = grammar.allocate_vocab_mask(VOCAB.size, 1, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    logits: Any = np.zeros((1, VOCAB.size + 9), dtype=np.float32)
    adapter.Backend.apply_vocab_mask(logits=logits, vocab_mask=mask)
    assert np.flatnonzero(np.isfinite(logits[0])).tolist() == ids_of(row_of(mask, 0))


def test_registering_adds_the_name_once(adapter: Any) -> None:
    adapter.register()
    adapter.register()
    choices = importlib.import_module("sglang.srt.arg_groups.choices").GRAMMAR_BACKEND_CHOICES
    assert choices.count("grammar-decode") == 1
    registry = importlib.import_module("sglang.srt.constrained.base_grammar_backend").GRAMMAR_BACKEND_REGISTRY
    assert registry["grammar-decode"] is adapter.create_backend


def test_a_backend_for_a_tokenizer(adapter: Any) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    encoding = tiktoken.Encoding(
        "bytes", pat_str=".", mergeable_ranks={bytes([b]): b for b in range(256)}, special_tokens={"<|im_end|>": 256}
    )
    arguments = SimpleNamespace(constrained_json_disable_any_whitespace=True)
    backend = adapter.create_backend(arguments, encoding, 300, {256})
    assert backend.vocabulary.size == 300
    assert backend.vocabulary.stop_token_ids == (256,)
    assert backend.options.whitespace == "compact"
    backend.executor.shutdown()


# ---- behind reasoning -----------------------------------------------------------------------------------------------

THINK_END = 257


def thinking_tokenizer() -> Any:
    """Bytes, and the markers of reasoning; called as SGLang calls a tokenizer of transformers."""
    tiktoken = pytest.importorskip("tiktoken")

    class Tokenizer(tiktoken.Encoding):  # type: ignore[misc, name-defined]
        def encode(self, text: str, **_options: Any) -> list[int]:
            return list(super().encode(text, allowed_special="all"))

        def decode(self, token_ids: list[int], **_options: Any) -> str:
            return str(super().decode(token_ids))

    ranks = {bytes([byte]): byte for byte in range(256)}
    names = ("<|im_end|>", "</think>", "<think>", "<tool_call>", "</tool_call>", "<|endoftext|>")
    markers = {name: 256 + number for number, name in enumerate(names)}
    return Tokenizer("thinking", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens=markers)


@pytest.fixture
def reasoning(adapter: Any) -> Iterator[Any]:
    """The backend as it is behind `--reasoning-parser deepseek-r1`."""
    backend = adapter.create_backend(SimpleNamespace(reasoning_parser="deepseek-r1"), thinking_tokenizer(), 300, {256})
    yield backend
    backend.executor.shutdown()
    backend.grammar_backend.executor.shutdown()


def filled(grammar: Any, row: int = 0) -> Any:
    mask = grammar.allocate_vocab_mask(300, row + 1, "cpu")
    grammar.fill_vocab_mask(mask, row)
    return row_of(mask, row)


def test_nothing_is_lost_at_the_end_of_the_reasoning(reasoning: Any) -> None:
    inner = reasoning.grammar_backend
    plain = gd.GrammarMatcher(gd.compile_json_schema(SCHEMA, inner.options), inner.vocabulary)
    for _ in range(2):  # compiled, then from the cache
        grammar = request(reasoning, does_reason=True)
        plain.reset()
        for token_id in [*b'I think "[1', 258, *b"]{", THINK_END]:
            assert (filled(grammar) == -1).all()
            grammar.accept_token(token_id)
        for token_id in [*b"[12,1]", 256]:
            assert (filled(grammar) == mask_of(plain)).all()
            assert not grammar.is_terminated()
            grammar.accept_token(token_id)
            assert plain.accept_token(token_id)
        assert grammar.is_terminated()
    grammar = request(reasoning, does_reason=False)
    with pytest.raises(ValueError, match="not allowed"):
        grammar.accept_token(ord("x"))


def test_drafts_are_taken_back_across_the_end_of_the_reasoning(reasoning: Any) -> None:
    grammar = request(reasoning, does_reason=True)
    answer = [*b"so", THINK_END, *b"[1]", 256]
    for taken_back in range(1, len(answer) + 1):
        for token_id in answer:
            grammar.accept_token(token_id)
        assert grammar.is_terminated()
        grammar.rollback(taken_back)
        assert not grammar.is_terminated()
        thinks = taken_back > 4
        assert bool((filled(grammar) == -1).all()) is thinks
        grammar.rollback(len(answer) - taken_back)
        assert (filled(grammar) == -1).all()


def test_a_batch_of_rows_that_reason_that_answer_and_that_have_no_wrapper(adapter: Any, reasoning: Any) -> None:
    reasons, answers, plain = (
        request(reasoning, does_reason=True),
        request(reasoning, does_reason=False),
        request(reasoning.grammar_backend),
    )
    entries = [SimpleNamespace(row=row, grammar=each) for row, each in enumerate((reasons, answers, plain))]
    mask = reasons.allocate_vocab_mask(300, 3, "cpu")
    type(plain).fill_vocab_mask_batched(entries, mask)
    assert (row_of(mask, 0) == -1).all()
    assert (row_of(mask, 1) == row_of(mask, 2)).all()
    assert ids_of(row_of(mask, 1)) == sorted(b"\t\n\r [")
    logits: Any = np.zeros((3, 300), dtype=np.float32)
    if not isinstance(mask, np.ndarray):
        import torch

        logits = torch.from_numpy(logits)
    reasons.apply_vocab_mask(logits=logits, vocab_mask=mask)
    assert np.isfinite(np.asarray(logits)).sum(axis=1).tolist() == [300, 5, 5]


def test_errors_pass_the_wrapper(adapter: Any, reasoning: Any) -> None:
    invalid = reasoning.get_cached_or_future_value(("json", '{"type": "foo"}'), True)[0].result()
    assert isinstance(invalid, adapter.InvalidGrammarObject)
    assert "#/type" in invalid.error_message


def test_strict_thinking_forbids_the_tokens_of_tools_while_the_model_thinks(adapter: Any) -> None:
    arguments = SimpleNamespace(reasoning_parser="qwen3", enable_strict_thinking=True)
    backend = adapter.create_backend(arguments, thinking_tokenizer(), 300, {256})
    grammar = request(backend, does_reason=True)
    forbidden = set(range(300)) - set(ids_of(filled(grammar, 1)))
    assert forbidden & set(range(256, 264)) == {256, 259, 260, 261}
    assert not forbidden & {*range(256), THINK_END}
    grammar.accept_token(THINK_END)
    assert ids_of(filled(grammar)) == sorted(b"\t\n\r [")
    backend.executor.shutdown()
    backend.grammar_backend.executor.shutdown()


@pytest.mark.parametrize("resets", [True, False])
def test_a_filter_of_tokens(adapter: Any, backend: Any, resets: bool) -> None:
    rng = random.Random(5)
    for _ in range(50):
        mask = request(backend).allocate_vocab_mask(96, 2, "cpu")
        before = rng.sample(range(96), 40)
        backend.set_token_filter(mask, before, 1)
        assert set(ids_of(row_of(mask, 1))) == set(before)
        chosen, allows = rng.sample(range(96), rng.randrange(6)), rng.random() < 0.5
        backend.set_token_filter(mask, chosen, 1, is_allowed=allows, reset_vocab_mask=resets)
        kept = (set() if allows else set(range(96))) if resets else set(before)
        assert set(ids_of(row_of(mask, 1))) == (kept | set(chosen) if allows else kept - set(chosen))
        assert (row_of(mask, 0) == -1).all()
