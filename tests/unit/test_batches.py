"""Masks of many sequences in one call, and of many draft tokens of one sequence."""

from __future__ import annotations

import random
import threading
import time

import numpy as np
import pytest

import grammar_decode as gd
from schemas import CURATED
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, ids_of, mask_of, tokens_of, written

VOCAB = as_vocabulary(ALL_SINGLE_BYTES)
LIST = gd.compile_json_schema({"type": "array", "items": {"enum": [1, 12, 123]}, "maxItems": 2})


def token(text: bytes) -> int:
    return VOCAB.token_bytes.index(text)


def matchers_along_curated_documents(count: int) -> list[gd.GrammarMatcher]:
    """Matchers of different grammars, each somewhere in a document; one of them at its end."""
    rng = random.Random(5)
    options = gd.JsonOptions(key_order="schema")
    grammars = [(gd.compile_json_schema(c.schema, options), c.valid) for c in CURATED if c.valid]
    matchers = []
    for number in range(count):
        grammar, valid = grammars[number % len(grammars)]
        matcher = gd.GrammarMatcher(grammar, VOCAB)
        tokens = tokens_of(written(rng.choice(valid)).encode(), ALL_SINGLE_BYTES, rng)
        assert matcher.accept_tokens(tokens[: rng.randrange(len(tokens) + 1)])
        matchers.append(matcher)
    ended = gd.GrammarMatcher(LIST, VOCAB)
    assert ended.accept_tokens([token(b"[]"), VOCAB.stop_token_ids[0]])
    return [*matchers, ended]


@pytest.mark.parametrize("max_threads", [None, 1, 4])
def test_a_batch_has_the_masks_of_its_matchers_alone(max_threads: int | None) -> None:
    matchers = matchers_along_curated_documents(60)
    rows = random.Random(1).sample(range(2 * len(matchers)), len(matchers))
    bitmask = np.full((2 * len(matchers), -(-VOCAB.size // 32)), 77, dtype=np.int32)
    gd.fill_next_token_bitmasks(matchers, bitmask, rows, max_threads=max_threads)
    for matcher, row in zip(matchers, rows, strict=True):
        assert (bitmask[row] == mask_of(matcher)).all()
    untouched = sorted(set(range(len(bitmask))) - set(rows))
    assert (bitmask[untouched] == 77).all()


def test_rows_are_in_order_by_default_and_a_batch_may_be_empty() -> None:
    matchers = matchers_along_curated_documents(3)
    bitmask = gd.allocate_token_bitmask(len(matchers), VOCAB.size)
    gd.fill_next_token_bitmasks([], bitmask)
    assert (bitmask == -1).all()
    gd.fill_next_token_bitmasks(matchers, bitmask)
    assert (bitmask == np.stack([mask_of(matcher) for matcher in matchers])).all()


def test_a_bad_batch_writes_nothing() -> None:
    matchers = [gd.GrammarMatcher(LIST, VOCAB) for _ in range(2)]
    other = gd.Vocabulary([b"[", b"]", b"1", None], stop_token_ids=[3])
    bitmask = gd.allocate_token_bitmask(2, VOCAB.size)
    for rows in ([0, 2], [0, -1], [0, 0], [0]):
        with pytest.raises(gd.BitmaskError):
            gd.fill_next_token_bitmasks(matchers, bitmask, rows)
    with pytest.raises(gd.BitmaskError, match="words"):
        gd.fill_next_token_bitmasks([matchers[0], gd.GrammarMatcher(LIST, other)], bitmask)
    with pytest.raises(ValueError, match="max_threads"):
        gd.fill_next_token_bitmasks(matchers, bitmask, max_threads=0)
    assert (bitmask == -1).all()


def test_other_threads_run_while_a_batch_is_filled() -> None:
    matchers = [gd.GrammarMatcher(LIST, VOCAB)] * 200_000  # one call that takes a while
    bitmask = gd.allocate_token_bitmask(len(matchers), VOCAB.size)
    started, ended = threading.Event(), threading.Event()

    def fill() -> None:
        started.set()
        gd.fill_next_token_bitmasks(matchers, bitmask, max_threads=1)
        ended.set()

    thread = threading.Thread(target=fill)
    thread.start()
    started.wait()
    turns = 0
    while not ended.is_set():
        turns += 1
        time.sleep(0.0005)
    thread.join()
    assert turns > 5


def test_a_chain_of_drafts_has_the_masks_along_it_and_leaves_the_state() -> None:
    matcher = gd.GrammarMatcher(LIST, VOCAB)
    drafts = [token(b"["), token(b"12"), token(b","), token(b"1"), token(b"]"), VOCAB.stop_token_ids[0]]
    bitmask = gd.allocate_token_bitmask(9, VOCAB.size)
    assert gd.fill_draft_bitmasks(matcher, drafts, bitmask, 1) == [True] * 6
    assert matcher.num_steps == 0
    along = gd.GrammarMatcher(LIST, VOCAB)
    for row, draft in enumerate([*drafts, None], start=1):
        assert (bitmask[row] == mask_of(along)).all(), row
        if draft is not None:
            assert along.accept_token(draft)
    assert ids_of(bitmask[7]) == list(VOCAB.stop_token_ids)  # behind a stop token
    assert (bitmask[[0, 8]] == -1).all()


def test_behind_a_refused_draft_nothing_is_allowed_and_rows_are_free() -> None:
    matcher = gd.GrammarMatcher(LIST, VOCAB)
    bitmask = np.zeros((4, -(-VOCAB.size // 32)), dtype=np.int32)
    assert gd.fill_draft_bitmasks(matcher, [token(b"["), token(b"{"), token(b"1")], bitmask) == [True, False, False]
    assert (bitmask[2:] == -1).all()


def test_a_tree_of_drafts_has_the_mask_of_each_path() -> None:
    matcher = gd.GrammarMatcher(LIST, VOCAB)
    assert matcher.accept_token(token(b"["))
    #        1          12         ]          ,          }          1
    drafts = [token(b"1"), token(b"12"), token(b"]"), token(b","), token(b"}"), token(b"1")]
    parents = [-1, -1, 0, 1, 2, 3]
    paths = [(), (0,), (1,), (0, 2), (1, 3), None, (1, 3, 5)]
    bitmask = gd.allocate_token_bitmask(7, VOCAB.size)
    assert gd.fill_draft_bitmasks(matcher, drafts, bitmask, parents=parents) == [True, True, True, True, False, True]
    for row, path in enumerate(paths):
        if path is not None:
            fork = matcher.fork()
            assert fork.accept_tokens([drafts[i] for i in path])
            assert (bitmask[row] == mask_of(fork)).all(), path


def test_bad_drafts_write_nothing() -> None:
    matcher = gd.GrammarMatcher(LIST, VOCAB)
    bitmask = gd.allocate_token_bitmask(2, VOCAB.size)
    with pytest.raises(gd.BitmaskError, match="row 2"):
        gd.fill_draft_bitmasks(matcher, [1, 2], bitmask)
    for outside in (-1, VOCAB.size):
        with pytest.raises(gd.MatcherError, match="out of range"):
            gd.fill_draft_bitmasks(matcher, [outside], bitmask)
    with pytest.raises(gd.MatcherError, match="parent"):
        gd.fill_draft_bitmasks(matcher, [1], bitmask, parents=[0])
    with pytest.raises(gd.MatcherError, match="parents"):
        gd.fill_draft_bitmasks(matcher, [1], bitmask, parents=[])
    assert (bitmask == -1).all()
