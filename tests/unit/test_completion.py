"""The way to the end: how far it is, a text that goes it, and the limit that keeps it within reach."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import grammar_decode as gd
from schema_judge import judge
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, ids_of, mask_of

COMPACT = gd.JsonOptions(whitespace="compact")
VOCABULARY = as_vocabulary(ALL_SINGLE_BYTES)

#: Schemas with the fewest bytes of a document, compact.
SHORTEST: dict[str, tuple[Any, int]] = {
    "anything": ({}, 1),
    "string": ({"type": "string"}, 2),
    "string with a minimum": ({"type": "string", "minLength": 7}, 9),
    "pattern": ({"type": "string", "pattern": "^(abc|[0-9]{2})-x+$"}, 6),
    "patterns that hold together": ({"allOf": [{"pattern": "foo"}, {"pattern": "bar"}], "type": "string"}, 8),
    "number in a range": ({"type": "integer", "minimum": 1000, "maximum": 1005}, 4),
    "multiple": ({"type": "integer", "multipleOf": 7, "minimum": 100}, 3),
    "enum": ({"enum": ["long enough", [1, 2], "abc"]}, 5),
    "format": ({"type": "string", "format": "date"}, 12),
    "required names": (
        {"type": "object", "properties": {"a": {"type": "integer"}, "bb": {"const": "x"}}, "required": ["bb", "a"]},
        len('{"bb":"x","a":0}'),
    ),
    "required and not declared": ({"type": "object", "required": ["a", "b"]}, len('{"a":0,"b":0}')),
    "optional names": ({"type": "object", "properties": {"a": {"type": "integer"}}}, 2),
    "minProperties": ({"type": "object", "minProperties": 3, "additionalProperties": {"type": "integer"}}, 18),
    "minProperties of names": (
        {
            "type": "object",
            "properties": {"aaaa": {"const": 1}, "b": {"const": 1}, "cc": {"const": 1}},
            "minProperties": 2,
            "additionalProperties": False,
        },
        len('{"b":1,"cc":1}'),
    ),
    "minItems": ({"type": "array", "items": {"type": "boolean"}, "minItems": 3}, len("[true,true,true]")),
    "prefixItems": (
        {"type": "array", "prefixItems": [{"const": 1}, {"const": "ab"}], "items": {"const": 5}, "minItems": 3},
        len('[1,"ab",5]'),
    ),
    "contains": ({"type": "array", "contains": {"const": "x"}, "minContains": 2}, len('["x","x"]')),
    "anyOf of objects": (
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"k": {"const": "a"}, "long": {"minLength": 9}},
                    "required": ["k", "long"],
                },
                {"type": "object", "properties": {"k": {"const": "bbb"}}, "required": ["k"]},
            ]
        },
        len('{"k":"bbb"}'),
    ),
    "if then else": (
        {
            "type": "object",
            "properties": {"t": {"enum": ["x", "yy"]}},
            "required": ["t"],
            "if": {"properties": {"t": {"const": "x"}}},
            "then": {"required": ["much_longer_name"]},
        },
        len('{"t":"yy"}'),
    ),
    "recursion": (
        {
            "$ref": "#/$defs/tree",
            "$defs": {
                "tree": {
                    "type": "object",
                    "properties": {"v": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
                    "required": ["v", "c"],
                    "additionalProperties": False,
                }
            },
        },
        len('{"v":0,"c":[]}'),
    ),
    "distinct items": (
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 3},
        len("[0,1,2]"),
    ),
    "distinct items that run out": (
        {"type": "array", "items": {"enum": ["a", "bbbb", "cc"]}, "uniqueItems": True, "minItems": 3},
        len('["a","bbbb","cc"]'),
    ),
    "distinct objects": (
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"a": {"enum": [1, 2]}},
                "required": ["a"],
                "additionalProperties": False,
            },
            "uniqueItems": True,
            "minItems": 2,
        },
        len('[{"a":1},{"a":2}]'),
    ),
}


@pytest.mark.parametrize("name", SHORTEST)
def test_the_shortest_document(name: str) -> None:
    schema, length = SHORTEST[name]
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, COMPACT), VOCABULARY)
    text = matcher.shortest_completion()
    assert judge(schema)(text.decode()), text
    assert (len(text), matcher.completion_bytes()) == (length, length)
    assert matcher.accept_bytes(text)
    assert matcher.is_accepting()
    assert (matcher.completion_bytes(), matcher.completion_distance(), matcher.shortest_completion()) == (0, 0, b"")


@pytest.mark.parametrize("name", SHORTEST)
def test_every_place_knows_its_distance(name: str) -> None:
    """The distance falls to 0 along the shortest document, byte by byte, and is 0 only at an end."""
    schema, length = SHORTEST[name]
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, COMPACT), VOCABULARY)
    text = matcher.shortest_completion()
    for i, byte in enumerate(text):
        assert matcher.completion_bytes() == length - i
        tokens = matcher.completion_distance()
        assert tokens is not None
        assert (tokens == 0) == matcher.is_accepting()
        assert matcher.accept_bytes(bytes([byte]))


@pytest.mark.parametrize("name", SHORTEST)
def test_the_limit_that_just_fits(name: str) -> None:
    """With as many tokens as are needed every walk ends in a document; with one less there is no matcher."""
    schema, _ = SHORTEST[name]
    grammar = gd.compile_json_schema(schema, COMPACT)
    distance = gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=1000).completion_distance()
    assert distance is not None
    with pytest.raises(gd.MatcherError, match=f"needs {distance + 1} tokens"):
        gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=distance)
    matcher = gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=distance + 1)
    rng = np.random.default_rng(5)
    for _ in range(20):
        while not matcher.is_terminated():
            ids = ids_of(mask_of(matcher))
            assert ids, matcher.text
            assert matcher.accept_token(ids[rng.integers(len(ids))])
        assert matcher.num_steps <= distance + 1
        assert judge(schema)(matcher.text.decode()), matcher.text
        matcher.reset()


def walk_to(matcher: gd.GrammarMatcher, text: str) -> gd.GrammarMatcher:
    assert matcher.accept_bytes(text.encode(), num_tokens=len(text))
    return matcher


def allowed_texts(matcher: gd.GrammarMatcher) -> set[bytes]:
    token_bytes = matcher.vocabulary.token_bytes
    return {token_bytes[i] or b"" for i in ids_of(mask_of(matcher)) if i not in matcher.vocabulary.stop_token_ids}


def test_in_the_middle_of_a_number_the_comma_closes() -> None:
    """No bracket can close anything there, and a digit leads no nearer to the end: what does is the comma."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }
    grammar = gd.compile_json_schema(schema, gd.JsonOptions(whitespace="compact", key_order="schema"))
    matcher = walk_to(gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=100, closing_budget=95), '{"a":12')
    allowed = allowed_texts(matcher)
    assert b"," in allowed
    assert b"}" not in allowed
    plain = walk_to(gd.GrammarMatcher(grammar, VOCABULARY), '{"a":12')
    assert allowed <= allowed_texts(plain)


def test_a_closing_budget_never_leads_away_from_the_end() -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, COMPACT), VOCABULARY, max_tokens=60, closing_budget=50)
    rng = np.random.default_rng(1)
    before = matcher.completion_distance()
    while not matcher.is_terminated():
        ids = ids_of(mask_of(matcher))
        is_closing = matcher.tokens_left is not None and matcher.tokens_left <= 50
        assert matcher.accept_token(ids[rng.integers(len(ids))])
        distance = matcher.completion_distance()
        assert before is not None
        assert distance is not None
        assert not is_closing or distance <= before
        before = distance


def test_far_from_the_limit_masks_are_the_same() -> None:
    schema = SHORTEST["required names"][0]
    grammar = gd.compile_json_schema(schema)
    limited, plain = gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=10_000), gd.GrammarMatcher(grammar, VOCABULARY)
    for byte in b'{"bb" : "x", "other": ["abc", {"d":1}], "a": 12}':
        assert np.array_equal(mask_of(limited), mask_of(plain))
        assert limited.accept_bytes(bytes([byte]), num_tokens=1)
        assert plain.accept_bytes(bytes([byte]))


def test_what_the_mask_leaves_out_is_refused() -> None:
    grammar = gd.compile_json_schema({"type": "array", "items": {"type": "string"}}, COMPACT)
    matcher = walk_to(gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=6), '["a')
    allowed = set(ids_of(mask_of(matcher)))
    plain = walk_to(gd.GrammarMatcher(grammar, VOCABULARY), '["a')
    left_out = set(ids_of(mask_of(plain))) - allowed
    assert left_out
    for token_id in left_out:
        assert not matcher.accept_token(token_id)
    assert (matcher.text, matcher.tokens_left) == (b'["a', 3)


def test_tokens_are_counted_through_forks_and_rollbacks() -> None:
    grammar = gd.compile_json_schema({"type": "array", "items": {"type": "integer"}}, COMPACT)
    matcher = gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=30)
    stop = next(iter(VOCABULARY.stop_token_ids))
    ids = [VOCABULARY.token_bytes.index(piece) for piece in (b"[", b"1", b"]")]
    assert matcher.accept_tokens([*ids, stop])
    assert (matcher.tokens_left, matcher.is_terminated()) == (26, True)
    twin = matcher.fork()
    matcher.rollback(3)
    assert (matcher.tokens_left, matcher.text) == (29, b"[")
    assert (twin.tokens_left, twin.text) == (26, b"[1]")
    matcher.reset()
    assert matcher.tokens_left == 30


def test_the_stop_token_counts_only_if_asked() -> None:
    grammar = gd.compile_json_schema({"const": 7}, COMPACT)
    assert gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=1, count_stop_token=False).tokens_left == 1
    with pytest.raises(gd.MatcherError, match="needs 2 tokens, the stop token included"):
        gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=1)


def test_a_negative_limit_is_an_error() -> None:
    grammar = gd.compile_json_schema({}, COMPACT)
    with pytest.raises(gd.MatcherError, match="max_tokens must not be negative"):
        gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=-1)


def test_ten_million_items_are_a_sum() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 10_000_000}
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, COMPACT), VOCABULARY)
    assert matcher.completion_bytes() == 20_000_001
    with pytest.raises(gd.MatcherError, match="has 20000001 more bytes; max_bytes is 1048576"):
        matcher.shortest_completion()


def test_a_deep_document_has_a_distance() -> None:
    matcher = gd.GrammarMatcher(gd.compile_json_schema({}, gd.JsonOptions(whitespace="compact")), VOCABULARY)
    assert matcher.accept_bytes(b"[" * 5000)
    assert matcher.completion_bytes() == 5000


def forced(matcher: gd.GrammarMatcher) -> bytes:
    return matcher.forced_bytes()


def test_forced_text_is_what_every_document_goes_on_with() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["apple", "apricot"]}, "n": {"type": "integer"}},
        "required": ["kind", "n"],
        "additionalProperties": False,
    }
    grammar = gd.compile_json_schema(schema, gd.JsonOptions(whitespace="compact", key_order="schema"))
    matcher = gd.GrammarMatcher(grammar, VOCABULARY)
    assert forced(matcher) == b'{"kind":"ap'
    assert matcher.text == b""
    assert matcher.accept_bytes(forced(matcher) + b"r")
    assert forced(matcher) == b'icot","n":'
    assert matcher.accept_bytes(forced(matcher) + b"1")
    assert forced(matcher) == b""
    assert matcher.accept_bytes(b"}")
    assert forced(matcher) == b""


def test_a_language_of_texts_has_a_way_to_its_end() -> None:
    matcher = gd.GrammarMatcher(gd.compile_regex("(abc)+x"), VOCABULARY, max_tokens=20)
    assert (matcher.shortest_completion(), matcher.completion_bytes()) == (b"abcx", 4)


def test_what_reaches_behind_a_forgotten_item_is_tried_with_the_true_text() -> None:
    """Behind `[1,"a` the token `","` begins another item; that it can't be "a" again costs a token more."""
    schema = {"type": "array", "items": {"enum": ["a", "ab", 1, None, "b", [1]]}, "uniqueItems": True, "minItems": 2}
    grammar = gd.compile_json_schema(schema)
    for limit in range(6, 16):
        matcher = gd.GrammarMatcher(grammar, VOCABULARY, max_tokens=limit)
        assert matcher.accept_bytes(b'[1,"a', num_tokens=3)
        allowed = ids_of(mask_of(matcher))
        assert allowed
        for token_id in allowed:
            assert matcher.fork().accept_token(token_id), VOCABULARY.token_bytes[token_id]


@pytest.mark.parametrize("contains", [{"type": "object"}, {"const": None}], ids=str)
def test_distinct_items_of_which_one_is_asked_for_have_a_distance(contains: Any) -> None:
    """What an array may hold is looked at before all of it is known to have an end."""
    schema = {"type": "array", "items": {"uniqueItems": True}, "contains": contains, "uniqueItems": True}
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, COMPACT), VOCABULARY)
    text = matcher.shortest_completion()
    assert judge(schema)(text.decode()), text
    assert matcher.completion_bytes() == len(text) == len(json.dumps([{} if "type" in contains else None]))
