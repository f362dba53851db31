"""What one sequence, or many, leave behind: counted, not timed. `make bench` has the times."""

from __future__ import annotations

import pytest

import grammar_decode as gd
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary

ITEM = b'{"a": 1, "name": "x"}'
OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def fill_and_accept(matcher, data):
    """Byte by byte, which are tokens by themselves, with the mask before each."""
    vocabulary = matcher.vocabulary
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    ids = {token: token_id for token_id, token in enumerate(vocabulary.token_bytes) if token and len(token) == 1}
    for byte in data:
        matcher.fill_next_token_bitmask(bitmask)
        assert matcher.accept_token(ids[bytes([byte])])


def matcher_of(schema):
    return gd.GrammarMatcher(gd.compile_json_schema(schema), as_vocabulary(ALL_SINGLE_BYTES))


@pytest.mark.parametrize(
    ("schema", "begin", "repeated"),
    [
        ({"type": "array", "items": OBJECT}, b"[", ITEM + b", "),
        ({"type": "array", "items": OBJECT, "minItems": 5}, b"[", ITEM + b", "),
        ({"type": "string"}, b'"', b"text \\n "),
        ({"type": "string", "pattern": "foo.*bar"}, b'"', b"foo bar "),
    ],
)
def test_states_do_not_grow_with_the_document(schema, begin, repeated):
    matcher = matcher_of(schema)
    fill_and_accept(matcher, begin + repeated * 50)
    after_some = matcher._matcher.engine_memory_bytes()
    fill_and_accept(matcher, repeated * (10_000 // len(repeated)))
    assert matcher._matcher.engine_memory_bytes() == after_some


def test_states_do_not_grow_with_the_number_of_requests():
    matcher = matcher_of(OBJECT)
    fill_and_accept(matcher, ITEM)
    after_one = matcher._matcher.engine_memory_bytes()
    for _ in range(1_000):
        again = gd.GrammarMatcher(matcher.grammar, matcher.vocabulary)
        fill_and_accept(again, ITEM)
    assert again._matcher.engine_memory_bytes() == after_one


@pytest.mark.parametrize(
    ("keyword", "begin", "repeated"),
    [("maxLength", b'"', b"text "), ("maxItems", b"[", b"1,")],
)
def test_states_do_not_grow_with_a_bound(keyword, begin, repeated):
    sizes = []
    for most in (1_000, 1_000_000):
        kind = "string" if keyword == "maxLength" else "array"
        matcher = matcher_of({"type": kind, keyword: most})
        fill_and_accept(matcher, begin + repeated * 20)
        sizes.append(matcher._matcher.engine_memory_bytes())
    assert sizes[1] <= sizes[0] * 1.01


def test_a_mask_asks_about_no_more_names_of_a_union_than_it_takes():
    sizes = {}
    for count in (40, 80):
        branches = [
            {"type": "object", "properties": {"a": {"type": "integer"}, f"n{i:03}": {}}, "required": ["a", f"n{i:03}"]}
            for i in range(count)
        ]
        matcher = matcher_of({"anyOf": branches})
        fill_and_accept(matcher, b'{"a": 1, "n')
        sizes[count] = matcher._matcher.engine_memory_bytes()
    assert sizes[80] <= 1.15 * sizes[40]  # of names that begin alike, the first one that may come decides
