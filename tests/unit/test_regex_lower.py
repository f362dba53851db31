"""Lowered patterns against Python's ``re`` on the constructs that both have, and rule by rule on the rest.

The oracle is ``re`` with ASCII classes; ``$`` is written ``\\Z`` there: Python's also matches before a final newline.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amounts import examples
from grammar_decode.errors import PatternError
from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import Intersection, RegexId, Repetition
from grammar_decode.json_schema.spelling import Spelling
from grammar_decode.regex import full_match_language, search_language
from grammar_decode.regex.charset import ALL, Charset, utf8
from unit.regex_oracle import matches


def raw(pattern: str, *, full: bool = False) -> tuple[Builder, RegexId]:
    builder = Builder()
    lower = full_match_language if full else search_language
    return builder, lower(builder, pattern, lambda cs: utf8(builder, cs))


def accepted(pattern: str, texts: Iterable[str], *, full: bool = False) -> list[str]:
    builder, regex = raw(pattern, full=full)
    return [text for text in texts if matches(builder, regex, text.encode())]


def words(alphabet: str, length: int) -> list[str]:
    return ["".join(w) for n in range(length + 1) for w in itertools.product(alphabet, repeat=n)]


def python(pattern: str) -> re.Pattern[str]:
    # Before Python 3.14 \B does not match in the empty string; in ECMA-262 it does.
    return re.compile(pattern.replace("$", r"\Z").replace(r"\B", r"(?!\b)"), re.ASCII)


# ---- random patterns ------------------------------------------------------------------------------------------------

atoms = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", r"\w", r"\W", r"\s", "(?:ab)", ""])
zero_width = st.sampled_from(["^", "$", r"\b", r"\B", "(?<=a)", "(?<!b)", r"(?<=\w)", "(?<!ab)", "(?<=b-)"])


def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}?", "{2,}"])
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, quantifiers),
        st.builds("(?{}{})".format, st.sampled_from("=!"), inner),
    )


patterns = st.recursive(st.one_of(atoms, atoms, zero_width), extend, max_leaves=6)
quantified = st.sampled_from(["*", "+", "{2}", "?"])
plain_patterns = st.recursive(atoms, lambda x: st.one_of(
    st.builds("{}{}".format, x, x), st.builds("(?:{}|{})".format, x, x), st.builds("(?:{}){}".format, x, quantified),
), max_leaves=8)  # fmt: skip
PROBES = [*words("ab-", 4), "\n", "a\n", "\na", "a b", " ab ", "b-b-a", "aabba", "a-b-a-b"]


def check_against_python(pattern: str, probes: list[str]) -> None:
    try:
        builder, regex = raw(pattern)
        whole_builder, whole = raw(pattern, full=True)
    except PatternError as error:
        if not error.unsupported:
            raise
        return
    compiled, compiled_whole = python(pattern), python(f"(?:{pattern})$")
    for text in probes:
        assert matches(builder, regex, text.encode()) == bool(compiled.search(text)), (pattern, text)
        full = matches(whole_builder, whole, text.encode())
        assert full == bool(compiled_whole.match(text)), (pattern, text, "full")


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(patterns, st.randoms(use_true_random=False))
def test_random_patterns_with_assertions_agree_with_python(pattern: str, random: Random) -> None:
    check_against_python(pattern, random.sample(PROBES, 40))


@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(plain_patterns, st.randoms(use_true_random=False))
def test_random_plain_patterns_agree_with_python(pattern: str, random: Random) -> None:
    check_against_python(pattern, random.sample(PROBES, 40))


# ---- shapes ---------------------------------------------------------------------------------------------------------


def test_an_anchored_class_is_one_repetition() -> None:
    builder, regex = raw("^[a-z]+$")
    assert regex == builder.repeat(builder.byte_range(ord("a"), ord("z")), 1, None)


def test_counts_stay_counts() -> None:
    builder, regex = raw("^[a-z]{2,100000}$")
    node = builder.regexes[regex]
    assert isinstance(node, Repetition)
    assert (node.minimum, node.maximum) == (2, 100000)


@pytest.mark.parametrize(
    "pattern", ["", "^", "$", ".*", "^.*", ".*$", "a*", "(?:)", "^[^]*$", r"^[\s\S]*$", "x?$|", "(?=)"]
)
def test_a_pattern_that_matches_every_string_is_all_repeated(pattern: str) -> None:
    builder, regex = raw(pattern)
    assert regex == builder.repeat(utf8(builder, ALL), 0, None)


@pytest.mark.parametrize("pattern", ["a$b", "a^", "$.", "(?!)", "[]", "^[]+$"])
def test_a_pattern_that_matches_nothing_is_empty(pattern: str) -> None:
    builder, regex = raw(pattern)
    assert regex == builder.empty


def test_an_open_end_takes_the_shortest_count() -> None:
    assert len({raw(p)[1] for p in ("^a", "^a+", "^a.*", "^a{1,5}b*")}) == 1


def test_password_lookaheads_are_one_intersection() -> None:
    builder, regex = raw(r"^(?=.*[A-Z])(?=.*\d).{8,}$")
    node = builder.regexes[regex]
    assert isinstance(node, Intersection)
    assert len(node.parts) == 3


def test_alternatives_of_fixed_text_are_one_literal_set() -> None:
    builder, regex = raw("^(?:foo|bar|quux)$")
    assert regex == builder.literals([b"foo", b"bar", b"quux"])


# ---- rules ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("^a|b$", ["a", "ax", "xb"], ["xa", "bx"]),
        ("(^|x)y", ["y", "ya", "axy"], ["ay"]),
        ("^a$", ["a"], ["a\n", "\na"]),  # 22.2.2.4: without the m flag, $ is the very end
        ("^.$", ["\u00e9", "\U0001f600"], ["\n", "\r", "\u2028", "\u2029", "ab"]),
        (r"^\s$", ["\ufeff", "\u00a0", "\u3000"], ["\u200b", "a"]),
        (r"^\d\w$", ["1_"], ["\u0661a", "1\u00e9"]),  # classes are ASCII without the i flag
        (r"\bfoo\b", ["foo", "a foo-b"], ["foobar", "a_foo"]),
        (r"^\B$", [""], ["a"]),
        ("^(?!foo$).*$", ["", "fo", "fooo"], ["foo"]),
        (r"^(?!.*\.\.)[a-z.]+$", ["a.b.c"], ["a..b", ""]),
        ("^((?!foo).)*$", ["", "fo", "barfo"], ["foo", "a foo b"]),
        ("^(?:(?!foo).){2,3}$", ["ab", "fob"], ["a", "foo", "abcd"]),
        ("^(?:(?!a)[ab])*b", ["b", "bb"], ["a", "ab"]),
        (r".*(?<!\.json)$", ["a.js", "json"], ["a.json"]),
        ("(?<=foo)bar", ["foobar", "xfoobar"], ["bar", "fobar"]),
        ("(?<=^|,)x", ["x", "a,x"], ["ax"]),
        ("(?<=a(?<!ba)b)c", ["abc", "aabc"], ["babc", "bc"]),
        ("^(?:a(?!b)|b)+$", ["aab"[:2], "ba", "bba"], ["ab", "bab"]),
        (r"^(?:\b\w+\b ?)+$", ["a bc", "ab "], ["a  b", " a"]),
        ("(?=a)*b", ["b"], ["a"]),  # Annex B: a lookahead may be quantified
        ("^(?:(?=a)){3}a$", ["a"], ["b"]),
        ("(?:^a|b)*c$", ["c", "abc", "xc"], ["a"]),
        ("a??b*?$", ["", "a", "x"], []),
        ("^(?<year>\\d{4})-(?:0[1-9]|1[0-2])$", ["2024-12"], ["2024-13"]),
        ("^(?=.{3,5}$)[a-z]+(?:-[a-z]+)*$", ["a-b", "abcde"], ["ab", "a-", "abcdef"]),
        ("^([\\da-z](?:(?!.*--)[\\da-z-]*[\\da-z])?)$", ["a", "a-b"], ["a--b", "a-"]),
    ],
)  # fmt: skip
def test_rule(pattern: str, yes: list[str], no: list[str]) -> None:
    assert accepted(pattern, yes) == yes
    assert accepted(pattern, no) == []


def test_full_match_needs_no_anchors() -> None:
    assert accepted("a|ab", ["a", "ab", "b", "aab"], full=True) == ["a", "ab"]


@pytest.mark.parametrize("pattern", ['^[^"]*$', r"^(?!.*\\).*$", "^((?!/).)*$", "\\bé", "^[\U0001f600-\U0001f64f]$"])
def test_languages_hold_every_spelling_of_a_string_or_none(pattern: str) -> None:
    compiled = python(pattern)
    for mode in ("canonical", "any"):
        builder = Builder()
        regex = search_language(builder, pattern, Spelling(builder, mode).charset)  # type: ignore[arg-type]
        for text in ["", '"', "\\", "/", "a/b", "\u00e9", "a\u00e9", "\U0001f600", "x\\y"]:
            expected = bool(compiled.search(text))
            raw_text = json.dumps(text, ensure_ascii=False)[1:-1].encode()
            assert matches(builder, regex, raw_text) == expected, (mode, text)
            if mode == "any":
                assert matches(builder, regex, json.dumps(text)[1:-1].encode()) == expected, (mode, text)


def test_a_set_is_spelled_as_the_caller_says() -> None:
    builder = Builder()
    seen: list[Charset] = []

    def spell(cs: Charset) -> RegexId:
        seen.append(cs)
        return utf8(builder, cs)

    search_language(builder, "^[a-c]$", spell)
    assert Charset.of((ord("a"), ord("c"))) in seen


# ---- bounds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "^(?:a(?!b)|b){1,100000}$",
        "(?:" * 90 + "(?=a)b" + "){16}" * 90,
        "^(?:" + "|".join(f"(?!{c}).{c}" for c in "abcdefghijklmnopqrstuvwxyz") + ")*x{700}$",
        "(?=" * 150 + "a" + ")" * 150,
    ],
)
def test_work_is_bounded_and_passing_a_bound_is_unsupported(pattern: str) -> None:
    with pytest.raises(PatternError) as caught:
        raw(pattern)
    assert caught.value.unsupported


def test_an_assertion_in_a_loop_may_have_a_hundred_states() -> None:
    pattern = "^(?:" + "|".join(f"(?!{c}).{c}" for c in "abcdefghijklmnopqrstuvwxyz") + ")*x{50}$"
    texts = ["x" * 50, "ab" + "x" * 50, "aa" + "x" * 50, "éz" + "x" * 50, "éz" + "x" * 49, ""]
    assert accepted(pattern, texts) == [texts[i] for i in (0, 1, 3)]


def test_deep_plain_groups_need_no_python_stack() -> None:
    assert accepted("^" + "(?:(" * 100 + "a|b" + ")+x?)" * 100 + "$", ["a", "bx", "c"]) == ["a", "bx"]
