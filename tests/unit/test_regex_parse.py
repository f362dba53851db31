"""The parser, construct by construct; section numbers are those of ECMA-262 (2025)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_decode.errors import PatternError
from grammar_decode.regex.charset import ALL, DIGIT, DOT, NONE, SPACE, WORD, Charset
from grammar_decode.regex.parse import Alternation, Begin, Boundary, Chars, End, Look, Repeat, Sequence, parse


def chars(text: str) -> Chars:
    return Chars(Charset.from_chars(text))


def text(letters: str) -> Sequence:
    return Sequence(tuple(chars(c) for c in letters))


@pytest.mark.parametrize(
    ("pattern", "tree"),
    [
        ("", Sequence(())),
        ("a|", Alternation((chars("a"), Sequence(())))),
        ("a|b", chars("ab")),  # alternatives of one character are a class
        ("(a)", chars("a")),
        ("(?:ab)c", Sequence((text("ab"), chars("c")))),
        ("(?<n>a)", chars("a")),
        ("(?<n>a)|(?<n>b)", chars("ab")),  # 22.2.1.1: one name may stand in several alternatives
        ("^$", Sequence((Begin(), End()))),
        (r"\b\B", Sequence((Boundary(False), Boundary(True)))),
        ("(?=a)", Look(chars("a"), False, False)),
        ("(?!a)", Look(chars("a"), False, True)),
        ("(?<=a)", Look(chars("a"), True, False)),
        ("(?<!a)", Look(chars("a"), True, True)),
        ("a*", Repeat(chars("a"), 0, None)),
        ("a+?", Repeat(chars("a"), 1, None)),
        ("a??", Repeat(chars("a"), 0, 1)),
        ("a{2}", Repeat(chars("a"), 2, 2)),
        ("a{2,}", Repeat(chars("a"), 2, None)),
        ("a{2,3}?", Repeat(chars("a"), 2, 3)),
        ("a{0}", Sequence(())),
        ("(?=a)*", Repeat(Look(chars("a"), False, False), 0, None)),  # B.1.2 QuantifiableAssertion
        ("a{", text("a{")),  # B.1.2 ExtendedPatternCharacter
        ("a{,3}", text("a{,3}")),
        ("a]}", text("a]}")),
        ("{a", text("{a")),
    ],
)
def test_tree(pattern: str, tree: object) -> None:
    assert parse(pattern) == tree


@pytest.mark.parametrize(
    ("pattern", "members"),
    [
        (".", DOT),
        (r"\d", DIGIT),
        (r"\D", DIGIT.complement()),
        (r"\w", WORD),
        (r"\W", WORD.complement()),
        (r"\s", SPACE),
        (r"\S", SPACE.complement()),
        ("[]", NONE),  # 22.2.1 CharacterClass: empty is allowed
        ("[^]", ALL),
        ("[a-c]", Charset.from_chars("abc")),
        ("[a-]", Charset.from_chars("a-")),
        ("[-a]", Charset.from_chars("a-")),
        ("[^a]", Charset.from_chars("a").complement()),
        (r"[\]\\]", Charset.from_chars("]\\")),
        (r"[\b]", Charset.from_chars("\b")),
        (r"[\w-.]", WORD.union(Charset.from_chars("-."))),  # B.1.2 NonemptyClassRanges
        (r"[+--]", Charset.from_chars("+,-")),
        (r"[\d\s]", DIGIT.union(SPACE)),
        (r"[\cA\c1\c_]", Charset.from_chars("\x01\x11\x1f")),  # B.1.2 ClassControlLetter
        (r"[\1]", Charset.from_chars("\x01")),
        ("[(?<n>]", Charset.from_chars("(?<n>")),
        (r"\t", Charset.from_chars("\t")),
        (r"\v", Charset.from_chars("\v")),
        (r"\cJ", Charset.from_chars("\n")),
        (r"\x41", Charset.from_chars("A")),
        (r"\u00e9", Charset.from_chars("\u00e9")),
        (r"\u{1F600}", Charset.from_chars("\U0001f600")),
        (r"\u{0000000041}", Charset.from_chars("A")),
        (r"\ud83d\uDE00", Charset.from_chars("\U0001f600")),  # 22.2.1 RegExpUnicodeEscapeSequence: a pair
        (r"[\ud83d\ude00-\ud83d\ude02]", Charset.from_chars("\U0001f600\U0001f601\U0001f602")),
        (r"\ud83d", NONE),  # a lone surrogate is in no string
        (r"[\ud7ff-\ue000]", Charset.from_chars("\ud7ff\ue000")),
        (r"[\u{d7ff}-\u{d800}]", Charset.from_chars("\ud7ff")),
        (r"\0", Charset.from_chars("\0")),
        (r"\101", Charset.from_chars("A")),  # B.1.2 LegacyOctalEscapeSequence
        (r"\8", Charset.from_chars("8")),
        (r"\-", Charset.from_chars("-")),  # B.1.2 IdentityEscape
        (r"\_", Charset.from_chars("_")),
        (r"\@", Charset.from_chars("@")),
        (r"\A", Charset.from_chars("A")),
        (r"\Z", Charset.from_chars("Z")),
        (r"\k", Charset.from_chars("k")),
        (r"\xg"[:2], Charset.from_chars("x")),
        (r"\u", Charset.from_chars("u")),
        (r"\p", Charset.from_chars("p")),
        (r"\/", Charset.from_chars("/")),
    ],
)
def test_set(pattern: str, members: Charset) -> None:
    assert parse(pattern) == Chars(members)


def test_a_control_escape_without_a_letter_is_a_backslash() -> None:
    assert parse(r"\c1") == text("\\c1")


@pytest.mark.parametrize(
    ("pattern", "offset"),
    [
        ("a)", 1), ("b(a", 1), ("a**", 2), ("*", 0), ("^*", 1), ("a|?", 2), ("{1}", 0), ("[b-a]", 1), ("x[a", 1),
        ("a\\", 1), ("a{3,2}", 1), ("(?<=a)*", 6), (r"\u{110000}", 0), ("(?P<n>a)", 0), ("(?>a)", 0), ("(?<1>a)", 0),
        ("(?<n>a)(?<n>b)", 7),
        (r"a\p{Nope}", 1), (r"\p{Script=latin}", 0), (r"\p{letter}", 0), (r"\p{}", 0), ("a++", 2),
    ],
)  # fmt: skip
def test_a_mistake_is_located(pattern: str, offset: int) -> None:
    with pytest.raises(PatternError) as caught:
        parse(pattern)
    assert not caught.value.unsupported
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("pattern", "offset"),
    [
        (r"(a)\1", 3), (r"\1(a)", 0), (r"(?<n>a)\k<n>", 7), ("(?i)a", 0), ("a(?i:b)", 1), ("(?s-m:b)", 0),
        ("a{99999999999}", 1), ("(" * 201 + ")" * 201, 200),
    ],
)  # fmt: skip
def test_what_is_not_supported_says_so(pattern: str, offset: int) -> None:
    with pytest.raises(PatternError) as caught:
        parse(pattern)
    assert caught.value.unsupported
    assert caught.value.offset == offset


def test_depth_is_a_parameter() -> None:
    parse("((a))", 2)
    with pytest.raises(PatternError):
        parse("(((a)))", 2)


def test_a_number_above_the_captures_is_no_backreference() -> None:
    assert parse(r"[(](?:a)\1") == Sequence((chars("("), chars("a"), chars("\x01")))


@given(st.text(st.sampled_from("ab(){}[]|*+?^$\\-,.:=!<>019kupPcxdbBw\ud800é"), max_size=12))
def test_any_text_is_parsed_or_refused_with_an_offset_inside(pattern: str) -> None:
    try:
        parse(pattern)
    except PatternError as error:
        offset = error.offset
    else:
        offset = 0
    assert 0 <= offset <= len(pattern)
