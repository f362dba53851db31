"""Forced text as tokens, and what `generate` does with it and with a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import grammar_decode as gd
from text_models import Chance, Writer
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary

COMPACT = gd.JsonOptions(whitespace="compact")
AGE = {"type": "object", "properties": {"age": {"enum": [1, 2, 3]}}, "required": ["age"], "additionalProperties": False}
NAME = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def vocabulary(*tokens: bytes) -> gd.Vocabulary:
    """All single bytes by their number, the stop token 256, and these from 257 on."""
    return gd.Vocabulary([*(bytes([byte]) for byte in range(256)), None, *tokens], stop_token_ids=[256])


def matcher(schema: Any, vocab: gd.Vocabulary, **limit: Any) -> gd.GrammarMatcher:
    return gd.GrammarMatcher(gd.compile_json_schema(schema, COMPACT), vocab, **limit)


def texts(vocab: gd.Vocabulary, ids: list[int]) -> list[bytes]:
    return [vocab.token_bytes[token_id] or b"" for token_id in ids]


def test_forced_text_is_written_in_the_fewest_tokens() -> None:
    vocab = vocabulary(b'{"', b"age", b'":', b'ge"', b"ag")
    writer = matcher(AGE, vocab)
    assert writer.forced_bytes() == b'{"age":'
    assert texts(vocab, writer.forced_tokens()) == [b'{"', b"age", b'":']
    assert writer.num_steps == 0
    assert writer.accept_tokens(writer.forced_tokens())
    assert writer.forced_tokens() == []


@pytest.mark.parametrize(
    ("longer", "kept"),
    [
        (b'":1', [b'{"', b"age"]),  # the model may want a token that begins inside of the forced text
        (b'e":1', [b'{"']),
        (b'":"', [b'{"', b"age", b'":']),  # not allowed, so it can't be wanted
        (b'e":9', [b'{"', b"age", b'":']),
    ],
)
def test_forced_tokens_end_before_a_token_that_goes_past_the_forced_text(longer: bytes, kept: list[bytes]) -> None:
    vocab = vocabulary(b'{"', b"age", b'":', longer)
    assert texts(vocab, matcher(AGE, vocab).forced_tokens()) == kept


def test_a_string_may_begin_with_what_looks_like_its_end() -> None:
    vocab = vocabulary(b'"}')
    assert texts(vocab, matcher(NAME, vocab).forced_tokens())[-1] == b":", 'the model may want {"name":"}…'


def test_the_tokenizers_own_tokens_are_taken_where_they_spell_the_text() -> None:
    vocab = vocabulary(b'{"', b"age", b'":', b'{"a', b" ")
    writer = matcher(AGE, vocab)
    own = [260, *b'ge":']
    asked = []
    assert writer.forced_tokens(lambda text: asked.append(text) or own) == own  # type: ignore[func-returns-value]
    assert asked == ['{"age":']
    fewest = [257, 258, 259]
    for other in (
        [261, *own],
        own[:-1],
        [256, *own],
        [999, *own],
        [-1, *own],
        [],
    ):  # a blank before it, a marker, nonsense
        assert writer.forced_tokens(lambda _text, other=other: other) == fewest  # type: ignore[misc]


def test_a_character_that_is_only_begun_is_left_to_the_model() -> None:
    vocab = vocabulary("é".encode())
    writer = matcher({"enum": ["xé", "xè"]}, vocab)
    assert writer.forced_bytes() == b'"x\xc3'
    assert texts(vocab, writer.forced_tokens(lambda text: list(text.encode()))) == [b'"', b"x"]


def test_forced_tokens_take_no_more_room_than_the_limit_has() -> None:
    vocab = vocabulary(b'{"age":')
    by_bytes = lambda text: list(text.encode())  # noqa: E731
    assert matcher(AGE, vocab).forced_tokens(by_bytes) == list(b'{"age":')
    assert matcher(AGE, vocab, max_tokens=10).forced_tokens(by_bytes) == list(b'{"age":')
    tight = matcher(AGE, vocab, max_tokens=4)
    assert tight.forced_tokens(by_bytes) == [], "in single bytes there would be no room for the end"
    assert tight.forced_tokens() == [257]


def test_nothing_is_forced_at_the_end() -> None:
    writer = matcher({"const": 1}, vocabulary())
    assert texts(writer.vocabulary, writer.forced_tokens()) == [b"1"]
    writer.accept_tokens([49])
    assert writer.forced_tokens() == []
    writer.accept_token(256)
    assert writer.forced_tokens() == []


def test_generate_appends_forced_tokens_in_one_call() -> None:
    vocab = vocabulary(b'{"', b"age", b'":')
    pair = {"type": "array", "items": AGE, "minItems": 2, "maxItems": 2}
    model = Writer(vocab, b'[{"age":1},{"age":2}]')
    result = gd.generate(model, None, pair, [256, 256], options=COMPACT)
    assert result.text == '[{"age":1},{"age":2}]'
    assert model.prompt == [256, 256, ord("["), 257, 258, 259], "forced text at the beginning is read with the prompt"
    assert model.calls == [[*b"1},", 257, 258, 259]], "what is drawn and what is forced behind it, at once"
    assert [step.is_forced for step in result.steps] == [True] * 4 + [False] + [True] * 5 + [False] + [True] * 3
    assert (result.num_forced, result.num_model_calls, len(result.tokens)) == (12, 2, 14)
    assert result.forced_share == pytest.approx(12 / 14)
    plain = gd.generate(model, None, pair, [256, 256], options=COMPACT, forced_text=False)
    assert (plain.tokens, plain.num_forced, plain.num_model_calls) == (result.tokens, 0, 14)


def test_several_forced_tokens_reach_a_model_that_takes_them_in_one_call_and_another_one_by_one() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "longer": {"type": "boolean"}},
        "required": ["a", "longer"],
        "additionalProperties": False,
    }
    options = gd.JsonOptions(whitespace="compact", key_order="schema")
    model = Writer(vocabulary(), b'{"a":true,"longer":false}')
    result = gd.generate(model, None, schema, "", options=options)
    assert result.text == '{"a":true,"longer":false}'
    assert model.calls == [list(b'true,"longer":')]
    assert result.num_model_calls == 2
    single = Chance(vocabulary(), seed=1)
    by_steps = gd.generate(single, None, schema, "", options=options)
    assert all(len(call) == 1 for call in single.calls)
    assert by_steps.num_model_calls == 2
    assert by_steps.value["longer"] in (True, False)


def test_a_document_that_is_forced_as_a_whole_needs_no_model() -> None:
    model = Writer(vocabulary(), b"")
    result = gd.generate(model, None, {"const": [1, 2]}, "", options=COMPACT)
    assert (result.text, result.stop_reason, result.num_model_calls, model.prompt) == ("[1,2]", "completed", 0, None)
    assert result.tokens[-1] == 256


def test_the_limit_is_kept_by_a_model_that_never_wants_to_stop() -> None:
    schema = {"type": "array", "items": {"type": "string"}, "minItems": 2}
    model = Writer(vocabulary(), b'["' + b"a" * 500)
    for max_tokens in range(8, 40):
        result = gd.generate(model, None, schema, "", max_tokens=max_tokens, options=COMPACT)
        assert (result.stop_reason, result.is_complete, result.valid) == ("completed", True, True)
        assert len(result.tokens) <= max_tokens


def test_a_document_that_does_not_fit_is_refused_and_the_need_named() -> None:
    model = Writer(vocabulary(), b"")
    with pytest.raises(gd.MatcherError, match=r"max_tokens is 7, but .* needs 8 tokens"):
        gd.generate(model, None, {"const": "12345"}, "", max_tokens=7)
    model.context_size = 10
    assert gd.generate(model, None, {"const": "12345"}, [256, 256]).text == '"12345"'
    with pytest.raises(gd.MatcherError, match=r"context has room for 7 tokens: .* needs 8 tokens"):
        gd.generate(model, None, {"const": "12345"}, [256, 256, 256])


def test_closing_budget_closes_what_is_open() -> None:
    model = Writer(vocabulary(), b"[" * 500)
    schema = {"type": "array", "items": {"$ref": "#"}}
    far = gd.generate(model, None, schema, "", max_tokens=31, options=COMPACT)
    assert far.text == "[" * 15 + "]" * 15
    soon = gd.generate(model, None, schema, "", max_tokens=31, closing_budget=20, options=COMPACT)
    assert soon.text == "[" * 11 + "]" * 11


def test_a_matcher_with_a_limit_of_its_own_keeps_it_and_one_without_is_cut_off() -> None:
    vocab = vocabulary()
    model = Writer(vocab, b'"' + b"a" * 500)
    limited = matcher({"type": "string"}, vocab, max_tokens=10)
    assert gd.generate(model, None, limited, "", max_tokens=50).text == '"aaaaaaa"'
    free = gd.generate(model, None, matcher({"type": "string"}, vocab), "", max_tokens=10)
    assert (free.stop_reason, free.is_complete, len(free.tokens)) == ("length", False, 10)


def test_the_stop_token_is_forced_by_its_number_in_the_matcher() -> None:
    vocab = vocabulary(b"x", b"y")
    own = gd.GrammarMatcher(gd.compile_json_schema({"const": 1}, COMPACT), vocab, stop_token_ids=[258])
    own.accept_bytes(b"1")
    result = gd.generate(Writer(vocab, b"1"), None, own, "")
    assert (result.text, result.tokens) == ("", (258,))


def test_steps_say_what_the_mask_did() -> None:
    class Even(Writer):
        """The same probability for every token."""

        def logits(self) -> Any:
            return np.zeros(self.vocabulary.size, np.float32)

    vocab = vocabulary(b"tr", b"true")
    model = Even(vocab, b"")
    result = gd.generate(model, None, {"enum": [True, 12, 13]}, "", seed=1, temperature=1.0, options=COMPACT)
    first = result.steps[0]
    assert (first.is_forced, first.num_legal) == (False, 4)  # t, tr, true, 1
    assert first.removed_mass == pytest.approx(1 - 4 / vocab.size)
    assert len(result.steps) == len(result.tokens)
    assert tuple(step.token_id for step in result.steps) == result.tokens
    assert sum(step.mask_seconds for step in result.steps) == pytest.approx(result.timings.mask)
    for step in result.steps:
        assert (step.num_legal is None) == step.is_forced
        assert step.model_seconds == 0 or not step.is_forced
    without = gd.generate(model, None, {"enum": [True, 12]}, "", removed_mass=False, options=COMPACT)
    assert [step.removed_mass for step in without.steps] == [None] * len(without.steps)
    free = gd.generate(model, None, None, "", unconstrained=True, max_tokens=2)
    assert [(step.num_legal, step.removed_mass) for step in free.steps] == [(vocab.size, None)] * 2


def test_an_endless_wish_for_a_forbidden_token_is_removed_as_a_whole() -> None:
    class Infinite(Writer):
        def logits(self) -> Any:
            logits = super().logits()
            logits[0] = np.inf
            return logits

    result = gd.generate(Infinite(vocabulary(), b"12"), None, {"enum": [12, 3]}, "", options=COMPACT)
    assert result.text == "12"
    assert result.steps[0].removed_mass == 1.0


def test_the_adversary_of_the_limit_on_awkward_tokens() -> None:
    vocab = as_vocabulary(ALL_SINGLE_BYTES)
    schema = {"type": "array", "items": NAME, "minItems": 1}
    distance = gd.GrammarMatcher(gd.compile_json_schema(schema), vocab).completion_distance()
    assert distance is not None
    for seed in range(10):
        for slack in range(1, 12):
            result = gd.generate(Chance(vocab, seed), None, schema, "", max_tokens=distance + slack)
            assert (result.stop_reason, result.valid) == ("completed", True)
