"""Sets of scalar values against Python sets, and their UTF-8 against Python's encoder."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grammar_decode.ir.build import Builder
from grammar_decode.regex import charset
from grammar_decode.regex.charset import ALL, DOT, NONE, SPACE, Charset, utf8
from unit.regex_oracle import matches

EDGES = [
    0, 1, 0x1F, 0x20, 0x22, 0x2F, 0x5C, 0x7E, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF,
    0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
]  # fmt: skip
small_sets = st.frozensets(st.sampled_from([*range(8), 0xD7FE, 0xD7FF, 0xE000, 0xE001, 0x10FFFE, 0x10FFFF]))
ranges = st.lists(st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES)).map(lambda r: (min(r), max(r))), max_size=4)


def of(members: frozenset[int]) -> Charset:
    return Charset.from_chars(map(chr, members))


@given(small_sets, small_sets)
def test_operations_agree_with_python_sets(a: frozenset[int], b: frozenset[int]) -> None:
    assert of(a).union(of(b)) == of(a | b)
    assert of(a).intersection(of(b)) == of(a & b)
    assert of(a).difference(of(b)) == of(a - b)
    assert of(a).is_subset(of(b)) == (a <= b)
    assert of(a).is_disjoint(of(b)) == (not a & b)
    assert len(of(a)) == len(a)


@given(ranges)
def test_complement_is_an_involution_and_splits_all(pairs: list[tuple[int, int]]) -> None:
    cs = Charset.of(*pairs)
    assert cs.complement().complement() == cs
    assert cs.union(cs.complement()) == ALL
    assert cs.intersection(cs.complement()) == NONE


def test_surrogates_are_never_members() -> None:
    assert Charset.of((0xD700, 0xE100)) == Charset.of((0xD700, 0xD7FF), (0xE000, 0xE100))
    assert not Charset.of((0xD800, 0xDFFF))
    assert len(ALL) == 0x110000 - 0x800


def test_dot_excludes_exactly_the_four_line_terminators() -> None:
    assert Charset.from_chars("\n\r\u2028\u2029").complement() == DOT


def test_space_is_white_space_and_line_terminators_of_ecma_262() -> None:
    assert (
        Charset.from_chars(
            "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
            "\u2028\u2029\u202f\u205f\u3000\ufeff"
        )
        == SPACE
    )


@given(ranges)
def test_utf8_matches_exactly_the_members(pairs: list[tuple[int, int]]) -> None:
    cs = Charset.of(*pairs)
    builder = Builder()
    regex = utf8(builder, cs)
    for code_point in EDGES:
        assert matches(builder, regex, chr(code_point).encode()) == cs.contains(code_point), hex(code_point)


def test_utf8_of_all_is_compact_and_refuses_malformed_bytes() -> None:
    builder = Builder()
    before = len(builder.regexes)
    regex = utf8(builder, charset.ALL)
    assert len(builder.regexes) - before <= 30
    for bad in (
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf0\x80\x80\x80",
        b"\xf4\x90\x80\x80",
    ):
        assert not matches(builder, regex, bad), bad
