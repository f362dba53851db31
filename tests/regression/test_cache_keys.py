"""Two states that share a cache key share a mask. These counters were once clamped in a key, and must not be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import grammar_decode as gd
from vocabularies import ALL_SINGLE_BYTES, gpt2
from walks import as_vocabulary, ids_of, mask_of

SMALL = as_vocabulary(ALL_SINGLE_BYTES)


def permitted_after(grammar: gd.Grammar, text: bytes, vocabulary: gd.Vocabulary = SMALL) -> list[int]:
    """The mask of ``grammar``, with all that it remembers, which must be that of a grammar that remembers nothing."""
    matcher = gd.GrammarMatcher(grammar, vocabulary)
    fresh = gd.GrammarMatcher(gd.Grammar.from_bytes(grammar.to_bytes()), vocabulary)
    assert matcher.accept_bytes(text)
    assert fresh.accept_bytes(text)
    mask = mask_of(matcher)
    assert np.array_equal(mask, mask_of(fresh)), f"the remembered mask after {text!r} is another one"
    return ids_of(mask)


def token(text: bytes) -> int:
    return ALL_SINGLE_BYTES.token_bytes.index(text)


@pytest.mark.parametrize("item", [b"1", b'"a"', b"[]", b"{}", b'{"a":1}'])
@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
@pytest.mark.parametrize("bounds", [(0, 3), (2, 3), (3, 3), (1, 4)])
def test_the_count_of_items_is_part_of_the_key(item: bytes, order: tuple[int, ...], bounds: tuple[int, int]) -> None:
    low, high = bounds
    grammar = gd.compile_json_schema({"type": "array", "minItems": low, "maxItems": high})
    for count in order:
        permitted = permitted_after(grammar, b"[" + b",".join([item] * count))
        assert (token(b",") in permitted) == (count < high)
        assert (token(b"]") in permitted) == (count >= low)


@pytest.mark.parametrize("schema", [{"maxProperties": 3}, {"minProperties": 2, "maxProperties": 3}])
def test_the_count_of_members_is_part_of_the_key(schema: Any) -> None:
    grammar = gd.compile_json_schema({"type": "object", **schema})
    for count in (1, 2, 3):
        permitted = permitted_after(grammar, b"{" + b",".join(b'"%c":1' % (97 + i) for i in range(count)))
        assert (token(b",") in permitted) == (count < 3)
        assert (token(b"}") in permitted) == (count >= schema.get("minProperties", 0))


@pytest.mark.parametrize("order", [(1, 2, 3, 4, 5), (5, 4, 3, 2, 1)])
def test_the_count_of_digits_is_part_of_the_key(order: tuple[int, ...]) -> None:
    grammar = gd.compile_json_schema({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99_999}})
    for count in order:
        permitted = permitted_after(grammar, b"[" + b"1" * count)
        assert (token(b"1") in permitted) == (count < 5)
        assert (token(b"12") in permitted) == (count < 4)
        assert (token(b"123") in permitted) == (count < 3)


def test_the_count_of_digits_is_part_of_the_key_up_to_the_longest_number() -> None:
    grammar = gd.compile_json_schema({"type": "integer"})
    for count in (1, 2, 3, 300, 306, 307, 308):
        permitted = permitted_after(grammar, b"7" * count)
        assert (token(b"0") in permitted) == (count < 308)
        assert (token(b"10") in permitted) == (count < 307)


@pytest.mark.parametrize("schema", [{"maxLength": 6}, {"pattern": "^[a-z]{0,6}$"}, {"minLength": 2, "maxLength": 6}])
def test_the_count_of_characters_is_part_of_the_key(schema: Any) -> None:
    grammar = gd.compile_json_schema({"type": "string", **schema})
    for vocabulary, texts in ((SMALL, ALL_SINGLE_BYTES.token_bytes), (as_vocabulary(gpt2()), gpt2().token_bytes)):
        for count in (0, 1, 2, 4, 5, 6, 3):
            permitted = set(permitted_after(grammar, b'"' + b"a" * count, vocabulary))
            for letters in (b"a", b"ab", b"abc", b"quote", b"aaaa"):
                if letters in texts:
                    assert (texts.index(letters) in permitted) == (count + len(letters) <= 6), (count, letters)
            assert (texts.index(b'"') in permitted) == (count >= schema.get("minLength", 0))


def test_the_keys_that_were_used_are_part_of_the_key() -> None:
    grammar = gd.compile_json_schema({"type": "object"}, gd.JsonOptions(key_order="any"))
    for used in ((b"a",), (b"b",), (b"a", b"b"), (b"c",)):
        members = b",".join(b'"' + name + b'":1' for name in used)
        permitted = permitted_after(grammar, b"{" + members + b",")
        assert (token(b'"a"') in permitted) == (b"a" not in used)
        assert (token(b'"b"') in permitted) == (b"b" not in used)


def test_blanks_so_far_are_part_of_the_key() -> None:
    grammar = gd.compile_json_schema({"type": "array"})
    for count in (0, 1, 2, 24, 25, 31, 32, 3):
        permitted = permitted_after(grammar, b"[" + b" " * count)
        assert (token(b" ") in permitted) == (count < 32)
        assert (token(b"  ") in permitted) == (count < 31)
        assert (token(b" " * 8) in permitted) == (count <= 24)
