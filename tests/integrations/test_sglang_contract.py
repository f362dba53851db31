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


def request(backend: Any, spec: Any = SCHEMA) -> Any:
    """A grammar as the scheduler gets it: out of the pool, or a copy of the cached one."""
    key = ("json", json.dumps(spec))
    value, is_hit = backend.get_cached_or_future_value(key, False)
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
