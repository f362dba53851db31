"""States found by tokens alone: the calls that engines make, replayed without an engine."""

from __future__ import annotations

import random

import pytest

import grammar_decode as gd
from grammar_decode.integrations.prefix import PrefixStates
from schemas import CURATED, Curated
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, ids_of, mask_of, tokens_of, written

VOCAB = as_vocabulary(ALL_SINGLE_BYTES)
STOP = VOCAB.stop_token_ids[0]
NUMBERS = gd.compile_json_schema({"type": "array", "items": {"enum": [1, 2, 12, 123]}, "maxItems": 3})


def ids(text: bytes) -> tuple[int, ...]:
    """One token a byte."""
    return tuple(VOCAB.token_bytes.index(bytes([byte])) for byte in text)


def test_every_way_ends_within_the_limit() -> None:
    anything = gd.compile_json_schema({"type": "array", "items": {"type": "string"}, "minItems": 1})
    limit = 12
    for seed in range(40):
        rng = random.Random(seed)
        states = PrefixStates(anything, VOCAB, capacity=3, max_tokens=limit)
        tokens: tuple[int, ...] = ()
        for _ in range(1000):
            matcher = states.at(tokens)
            assert matcher is not None
            if matcher.is_terminated():
                break
            assert len(tokens) < limit
            if tokens and rng.random() < 0.1:  # as drafts that are taken back
                tokens = tokens[: rng.randrange(len(tokens))]
                continue
            tokens = (*tokens, rng.choice(ids_of(mask_of(matcher))))
        else:
            pytest.fail(f"{tokens} goes on")
    with pytest.raises(gd.MatcherError, match="max_tokens"):
        PrefixStates(gd.compile_json_schema({"const": "a long text"}), VOCAB, max_tokens=2)


def fresh(grammar: gd.Grammar, tokens: tuple[int, ...]) -> gd.GrammarMatcher | None:
    matcher = gd.GrammarMatcher(grammar, VOCAB)
    for token_id in tokens:
        if not matcher.is_terminated() and not matcher.accept_token(token_id):
            return None
    return matcher


def check(states: PrefixStates, grammar: gd.Grammar, tokens: tuple[int, ...]) -> None:
    expected, got = fresh(grammar, tokens), states.at(tokens)
    assert (expected is None) == (got is None), tokens
    if expected is not None and got is not None:
        assert (mask_of(got) == mask_of(expected)).all()
        assert got.is_terminated() == expected.is_terminated()


@pytest.mark.parametrize("capacity", [1, 3, 64])
def test_beams_that_are_reordered_doubled_and_dropped(capacity: int) -> None:
    states = PrefixStates(NUMBERS, VOCAB, capacity=capacity)
    steps = [
        [b"", b"", b""],
        [b"[", b"[", b"{"],  # a beam of probability 0
        [b"[1", b"[ ", b"{a"],
        [b"[ 1", b"[1,", b"[12"],  # the best two change places, the first is doubled
        [b"[1, ", b"[123", b"[12,"],
        [b"[12,1", b"[12,2", b"[12,1"],
    ]
    for step in steps:
        for row in step:
            check(states, NUMBERS, ids(row))


@pytest.mark.parametrize("capacity", [1, 64])
def test_drafts_are_looked_at_and_taken_back(capacity: int) -> None:
    states = PrefixStates(NUMBERS, VOCAB, capacity=capacity)
    text = b"[12,1"
    for drafts in (b",2]", b"23]", b"}}x"):
        for length in range(4):  # the candidate generator asks behind each draft
            check(states, NUMBERS, ids(text + drafts[:length]))
        for length in range(4):  # and the verification once more
            check(states, NUMBERS, ids(text + drafts[:length]))
        text += drafts[:1] if drafts != b"}}x" else b""
        check(states, NUMBERS, ids(text))
    check(states, NUMBERS, ids(b"[1"))


def test_rows_that_have_ended_stay_ended_whatever_follows() -> None:
    states = PrefixStates(NUMBERS, VOCAB)
    ended = (*ids(b"[1]"), STOP)
    for padding in ((), (STOP,), (STOP, STOP), (*ids(b"["), VOCAB.size - 1)):
        matcher = states.at(ended + padding)
        assert matcher is not None
        assert matcher.is_terminated()
    check(states, NUMBERS, ids(b"[1]"))
    check(states, NUMBERS, ids(b"[1"))


def test_ids_outside_of_the_vocabulary_are_refused() -> None:
    states = PrefixStates(NUMBERS, VOCAB)
    assert states.at((VOCAB.size,)) is None
    assert states.at((-1,)) is None
    assert states.at((VOCAB.size, *ids(b"["))) is None


def test_asking_does_not_disturb_a_state() -> None:
    states = PrefixStates(NUMBERS, VOCAB)
    before = mask_of(states.at(ids(b"[1")))  # type: ignore[arg-type]
    states.at(ids(b"[1,2]"))
    assert (mask_of(states.at(ids(b"[1"))) == before).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("curated", CURATED, ids=str)
@pytest.mark.parametrize("capacity", [1, 4])
def test_any_order_of_questions_has_the_masks_of_fresh_matchers(curated: Curated, capacity: int) -> None:
    rng = random.Random(curated.name)
    grammar = gd.compile_json_schema(curated.schema, gd.JsonOptions(key_order="schema"))
    states = PrefixStates(grammar, VOCAB, capacity=capacity)
    texts = [written(value).encode() for value in (curated.valid or [{}, [1]])]
    walks = [(*tokens_of(text, ALL_SINGLE_BYTES, rng), STOP) for text in texts for _ in range(2)]
    for _ in range(30):
        walk = list(rng.choice(walks)[: rng.randrange(40)])
        if rng.random() < 0.3:
            walk += rng.choices(range(VOCAB.size), k=2)
        check(states, grammar, tuple(walk))
