"""Spellings of characters and strings against Python's JSON reader and writer (RFC 8259, section 7)."""

from __future__ import annotations

import itertools
import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_decode.ir.build import Builder
from grammar_decode.json_schema.spelling import Mode, Spelling, canonical_bytes
from grammar_decode.regex.charset import ALL, Charset
from unit.regex_oracle import matches

INTERESTING = [
    *range(0x80),
    0x80,
    0xE9,
    0x7FF,
    0x800,
    0x2028,
    0xD7FF,
    0xE000,
    0xFEFF,
    0xFFFF,
    0x10000,
    0x1F600,
    0x10FFFF,
]
strings = st.text(st.sampled_from('ab"\\/\n\x00\x1f\x7f\u00e9\u2028\U0001f600'), max_size=4)


def spellings(code_point: int) -> list[bytes]:
    """Every spelling of RFC 8259, found by trying: raw, short escapes, numbered escapes in four cases."""
    char = chr(code_point)
    units = char.encode("utf-16-be")
    hexes = [units[i : i + 2].hex() for i in range(0, len(units), 2)]
    found = [char.encode(), *[b"\\" + bytes([c]) for c in b'"\\/bfnrt']]
    for cased in itertools.product(*[(h.lower(), h.upper()) for h in hexes]):
        found.append(("\\u" + "\\u".join(cased)).encode())  # noqa: PERF401
    return [s for s in dict.fromkeys(found) if reads_as(s, char)]


def reads_as(spelling: bytes, text: str) -> bool:
    try:
        return bool(json.loads(b'"' + spelling + b'"') == text)
    except ValueError:
        return False


@pytest.mark.parametrize("code_point", INTERESTING)
def test_any_accepts_every_spelling_and_canonical_exactly_what_json_dumps_writes(code_point: int) -> None:
    for mode in get_args(Mode):
        builder = Builder()
        spelling = Spelling(builder, mode)
        regex = spelling.charset(Charset.from_chars(chr(code_point)))
        canonical = json.dumps(chr(code_point), ensure_ascii=False)[1:-1].encode()
        for written in spellings(code_point):
            expected = mode == "any" or written == canonical
            assert matches(builder, regex, written) == expected, (mode, written)
            assert matches(builder, spelling.charset(ALL), written) == expected, (mode, written)
            other = Charset.from_chars(chr(code_point)).complement()
            assert not matches(builder, spelling.charset(other), written), (mode, written)


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize(
    "text",
    [b"", b'"', b"\\", b"\n", b"\\u12", b"\\ud800", b"\\uD83Dx", b"\\ude00\\ud83d", b"\\x41", b"\\'", b"\xed\xa0\x80"],
)
def test_no_mode_writes_what_is_not_one_character_of_json(mode: Mode, text: bytes) -> None:
    builder = Builder()
    assert not matches(builder, Spelling(builder, mode).charset(ALL), text)


@given(strings, strings)
def test_any_text_accepts_a_spelling_of_that_string_only(text: str, other: str) -> None:
    builder = Builder()
    regex = Spelling(builder, "any").text(text)
    for written in (json.dumps(other), json.dumps(other, ensure_ascii=False)):
        assert matches(builder, regex, written[1:-1].encode()) == (text == other)


@given(st.lists(strings, max_size=6), strings)
@pytest.mark.parametrize("mode", get_args(Mode))
def test_texts_is_the_union_of_its_strings(mode: Mode, texts: list[str], probe: str) -> None:
    builder = Builder()
    regex = Spelling(builder, mode).texts(texts)
    for text in [*texts, probe]:
        assert matches(builder, regex, canonical_bytes(text)) == (text in texts)
        if mode == "any":
            assert matches(builder, regex, json.dumps(text)[1:-1].encode()) == (text in texts)


def test_any_texts_takes_many_nested_prefixes_without_recursion() -> None:
    builder = Builder()
    Spelling(builder, "any").texts(["a" * n for n in range(2000)])


@pytest.mark.parametrize("mode", get_args(Mode))
def test_lone_surrogates_raise(mode: Mode) -> None:
    with pytest.raises(UnicodeEncodeError):
        Spelling(Builder(), mode).text("a\ud800")
    with pytest.raises(UnicodeEncodeError):
        canonical_bytes("\udc00")


@pytest.mark.parametrize("mode", get_args(Mode))
def test_equal_questions_give_equal_ids(mode: Mode) -> None:
    builder = Builder()
    first, second = Spelling(builder, mode), Spelling(builder, mode)
    assert first.charset(ALL) == second.charset(ALL)
    assert first.any_text == second.any_text
