"""Steps of a matcher, forward and back: whatever was done, the mask is the one that the text so far has."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import grammar_decode as gd
from amounts import examples
from schemas import CURATED, Curated
from vocabularies import ALL_SINGLE_BYTES, SYNTHETIC, TestVocabulary
from walks import Mask, as_vocabulary, ids_of, mask_of, tokens_needed

picks = st.integers(0, 2**16)


class MatcherSteps(RuleBasedStateMachine):
    """The model is a history: the tokens accepted (None for a step of bytes), and the mask after each."""

    @initialize(
        curated=st.sampled_from(CURATED),
        key_order=st.sampled_from(("schema", "any")),
        vocabulary=st.sampled_from(SYNTHETIC),
    )
    def start(self, curated: Curated, key_order: Any, vocabulary: TestVocabulary) -> None:
        self.vocabulary = vocabulary
        self.grammar = gd.compile_json_schema(curated.schema, gd.JsonOptions(key_order=key_order))
        try:
            self.matcher = gd.GrammarMatcher(self.grammar, as_vocabulary(vocabulary))
        except gd.UnsatisfiableSchema:
            self.vocabulary = vocabulary = ALL_SINGLE_BYTES
            self.matcher = gd.GrammarMatcher(self.grammar, as_vocabulary(vocabulary))
        self.masks: list[Mask] = [mask_of(self.matcher)]
        self.steps: list[int | bytes] = []
        self.forks: list[tuple[gd.GrammarMatcher, Mask]] = []

    def _pick(self, pick: int) -> int:
        """A permitted token, mostly a busy one."""
        allowed = ids_of(self.masks[-1])
        busy = [t for t in allowed if t not in self.vocabulary.stop_token_ids and self._text(t).strip()]
        chosen = busy if busy and pick % 8 else allowed
        return chosen[pick % len(chosen)]

    def _text(self, token_id: int) -> bytes:
        texts = self.vocabulary.token_bytes
        return (texts[token_id] or b"") if token_id < len(texts) else b""

    def _done(self, *steps: int | bytes) -> None:
        self.steps += steps
        self.masks += [mask_of(self.matcher)] * len(steps)

    @property
    def is_terminated(self) -> bool:
        return bool(self.steps) and self.steps[-1] in self.vocabulary.stop_token_ids

    @precondition(lambda self: not self.is_terminated)
    @rule(pick=picks)
    def accept(self, pick: int) -> None:
        token_id = self._pick(pick)
        assert self.matcher.accept_token(token_id)
        self._done(token_id)

    @precondition(lambda self: not self.is_terminated and self.matcher.is_accepting())
    @rule(pick=picks)
    def stop(self, pick: int) -> None:
        token_id = self.vocabulary.stop_token_ids[pick % 3]
        assert self.matcher.accept_token(token_id)
        self._done(token_id)
        assert ids_of(self.masks[-1]) == sorted(self.vocabulary.stop_token_ids)

    @rule(pick=picks)
    def refuse(self, pick: int) -> None:
        allowed = ids_of(self.masks[-1]) if not self.is_terminated else []
        refused = sorted(set(range(self.vocabulary.size)).difference(allowed))
        token_id = refused[pick % len(refused)]
        assert not self.matcher.accept_token(token_id)
        assert self.matcher.validate_tokens([token_id]) == 0
        assert not self.matcher.accept_tokens([token_id])

    @precondition(lambda self: not self.is_terminated)
    @rule(chosen=st.lists(picks, min_size=1, max_size=5), refused=picks)
    def accept_all_or_none(self, chosen: list[int], refused: int) -> None:
        walker = MatcherSteps.__new__(MatcherSteps)
        walker.vocabulary, walker.matcher = self.vocabulary, self.matcher.fork()
        walker.masks, walker.steps = [self.masks[-1]], []
        for pick in chosen:
            if not walker.is_terminated:
                walker.accept(pick)
        tokens = [step for step in walker.steps if isinstance(step, int)]
        assert self.matcher.validate_tokens(tokens) == len(tokens)
        wrong = sorted(
            set(range(self.vocabulary.size)).difference(() if walker.is_terminated else ids_of(walker.masks[-1]))
        )
        tail = [wrong[refused % len(wrong)]]
        assert self.matcher.validate_tokens([*tokens, *tail, *tokens]) == len(tokens)
        assert not self.matcher.accept_tokens(tokens + tail)
        self.mask_is_that_of_the_text()
        assert self.matcher.accept_tokens(tokens)
        self.steps += tokens
        self.masks += walker.masks[1:]

    @precondition(lambda self: not self.is_terminated)
    @rule(pick=picks)
    def accept_bytes(self, pick: int) -> None:
        allowed = self.matcher.allowed_bytes()
        if allowed:
            data = allowed[pick % len(allowed) :][:1]
            assert self.matcher.count_accepted_bytes(data + b"\xff") == 1
            assert not self.matcher.accept_bytes(data + b"\xff")
            assert self.matcher.accept_bytes(data)
            self._done(data)

    @rule(pick=picks)
    def rollback(self, pick: int) -> None:
        count = pick % (len(self.steps) + 1)
        self.matcher.rollback(count)
        del self.steps[len(self.steps) - count :]
        del self.masks[len(self.masks) - count :]

    @rule(more=st.integers(1, 3))
    def rollback_too_far(self, more: int) -> None:
        with pytest.raises(gd.MatcherError):
            self.matcher.rollback(len(self.steps) + more)

    @rule(token_id=st.sampled_from((-1, 2**31)))
    def token_out_of_range(self, token_id: int) -> None:
        for ask in (self.matcher.accept_token, lambda t: self.matcher.accept_tokens([t])):
            with pytest.raises(gd.MatcherError):
                ask(token_id)
        with pytest.raises(gd.MatcherError):
            self.matcher.accept_token(self.vocabulary.size)

    @rule(swap=st.booleans())
    def fork(self, swap: bool) -> None:
        fork = self.matcher.fork()
        if swap:
            fork, self.matcher = self.matcher, fork
        self.forks.append((fork, self.masks[-1]))

    @rule()
    def reset(self) -> None:
        self.matcher.reset()
        del self.steps[:]
        del self.masks[1:]

    @rule()
    def replay(self) -> None:
        fresh = gd.GrammarMatcher(gd.Grammar.from_bytes(self.grammar.to_bytes()), as_vocabulary(self.vocabulary))
        for step in self.steps:
            assert fresh.accept_token(step) if isinstance(step, int) else fresh.accept_bytes(step)
        assert np.array_equal(mask_of(fresh), self.masks[-1])

    @invariant()
    def mask_is_that_of_the_text(self) -> None:
        if not hasattr(self, "matcher"):
            return
        assert self.matcher.num_steps == len(self.steps)
        assert self.matcher.is_terminated() == self.is_terminated
        assert np.array_equal(mask_of(self.matcher), self.masks[-1])
        stops = set(self.vocabulary.stop_token_ids)
        assert (stops <= set(ids_of(self.masks[-1]))) == (self.matcher.is_accepting() or self.is_terminated)

    @invariant()
    def forks_stay_as_they_were(self) -> None:
        for fork, mask in getattr(self, "forks", ()):
            assert np.array_equal(mask_of(fork), mask)


TestMatcherSteps = MatcherSteps.TestCase
TestMatcherSteps.settings = settings(
    max_examples=examples(60), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


# ---- within `max_tokens`: forward, back, forks and drafts, and always a way to the end ----


class LimitedSteps(MatcherSteps):
    """A limit that just fits, or has a little to spare. A step of bytes is no token, so there is none."""

    accept_bytes = None  # type: ignore[assignment]

    @initialize(
        curated=st.sampled_from(CURATED),
        key_order=st.sampled_from(("schema", "any")),
        vocabulary=st.just(ALL_SINGLE_BYTES),
        spare=st.integers(0, 12),
    )
    def start(  # type: ignore[override]
        self, curated: Curated, key_order: Any, vocabulary: TestVocabulary, spare: int
    ) -> None:
        super().start(curated, key_order, vocabulary)
        try:
            self.limit = tokens_needed(self.grammar, as_vocabulary(vocabulary)) + spare
        except gd.SchemaTooComplex:  # which is the answer to a limit where no way to the end is found in time
            super().start(CURATED[0], key_order, vocabulary)
            self.limit = tokens_needed(self.grammar, as_vocabulary(vocabulary)) + spare
        self.matcher = gd.GrammarMatcher(self.grammar, as_vocabulary(vocabulary), max_tokens=self.limit)
        self.masks: list[Mask] = [mask_of(self.matcher)]

    @rule()
    def replay(self) -> None:
        """What distances were told stays as it is, so another matcher of the grammar says the same."""
        fresh = gd.GrammarMatcher(self.grammar, as_vocabulary(self.vocabulary), max_tokens=self.limit)
        plain = gd.GrammarMatcher(self.grammar, as_vocabulary(self.vocabulary))
        for step in self.steps:
            assert isinstance(step, int)
            assert fresh.accept_token(step)
            assert plain.accept_token(step)
        assert np.array_equal(mask_of(fresh), self.masks[-1])
        assert not np.any(self.masks[-1] & ~mask_of(plain)), "a limit added a token"

    @precondition(lambda self: not self.is_terminated)
    @rule(chosen=st.lists(picks, min_size=1, max_size=4))
    def drafts(self, chosen: list[int]) -> None:
        """The rows of a chain, with a refused token at its end, are the masks step by step."""
        walker = self.matcher.fork()
        tokens: list[int] = []
        masks = [mask_of(walker)]
        for pick in chosen:
            allowed = ids_of(masks[-1])
            token_id = allowed[pick % len(allowed)]
            assert walker.accept_token(token_id)
            tokens.append(token_id)
            masks.append(mask_of(walker))
            if walker.is_terminated():
                break
        refused = sorted(set(range(self.vocabulary.size)).difference(ids_of(masks[-1])))
        wrong = refused[chosen[0] % len(refused)]
        rows = gd.allocate_token_bitmask(len(tokens) + 2, self.vocabulary.size)
        assert gd.fill_draft_bitmasks(self.matcher, [*tokens, wrong], rows) == [True] * len(tokens) + [False]
        for row, mask in zip(rows, masks, strict=False):
            assert np.array_equal(row, mask)
        assert self.matcher.validate_tokens([*tokens, wrong]) == len(tokens)

    @invariant()
    def the_end_is_within_reach(self) -> None:
        if not hasattr(self, "limit"):
            return
        assert self.matcher.tokens_left == self.limit - len(self.steps)
        if not self.is_terminated:
            distance = self.matcher.completion_distance()
            assert distance is not None
            assert distance + 1 <= self.limit - len(self.steps)
            assert ids_of(self.masks[-1])


TestLimitedSteps = LimitedSteps.TestCase
TestLimitedSteps.settings = settings(
    max_examples=examples(60), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_rollback_crosses_a_stop_token() -> None:
    stop = ALL_SINGLE_BYTES.stop_token_ids[0]
    matcher = gd.GrammarMatcher(gd.compile_json_schema({"type": "integer"}), as_vocabulary(ALL_SINGLE_BYTES))
    assert matcher.accept_bytes(b"1")
    before = mask_of(matcher)
    assert matcher.accept_token(stop)
    assert matcher.is_terminated()
    assert not matcher.accept_token(stop)
    matcher.rollback(1)
    assert not matcher.is_terminated()
    assert np.array_equal(mask_of(matcher), before)
    assert matcher.accept_token(stop)
    matcher.rollback(2)
    assert matcher.num_steps == 0
    assert not matcher.accept_token(stop)


def test_every_step_of_a_long_document_can_be_taken_back() -> None:
    rng = random.Random(5)
    matcher = gd.GrammarMatcher(gd.compile_json_schema({}), as_vocabulary(ALL_SINGLE_BYTES))
    masks = []
    for byte in b'[{"a":[1,"b\\n"],"b":{}},' * 20:
        masks.append(mask_of(matcher))
        assert matcher.accept_token(ALL_SINGLE_BYTES.token_bytes.index(bytes((byte,))))
    while masks:
        count = min(rng.randrange(1, 30), len(masks))
        matcher.rollback(count)
        del masks[len(masks) - count + 1 :]
        assert np.array_equal(mask_of(matcher), masks.pop())
