"""Lowered patterns against Python's ``re`` on the constructs that both have, and rule by rule on the rest.

The oracle is ``re`` with ASCII classes; ``$`` is written ``\\Z`` there, because Python's also matches before a final newline.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unit.regex_oracle import matches

from grammar_decode.errors import PatternError
from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import Intersection, RegexId, Repetition
from grammar_decode.json_schema.spelling import Spelling
from grammar_decode.regex import full_match_language, search_language
from grammar_decode.regex.charset import ALL, Charset, utf8


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
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)


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
plain_patterns = st.recursive(atoms, lambda x: st.one_of(
    st.builds("{}{}".format, x, x), st.builds("(?:{}|{})".format, x, x), st.builds("(?:{}){}".format, x, st.sampled_from(["*", "+", "{2}", "?"])),
), max_leaves=8)  # fmt: skip
PROBES = words("ab-", 4) + ["\n", "a\n", "\na", "a b", " ab ", "b-b-a", "aabba", "a-b-a-b"]


def check_against_python(pattern: str, probes: list[str]) -> None:
    try:
        builder, regex = raw(pattern)
        whole_builder, whole = raw(pattern, full=True)
    except PatternError as error:
        assert error.unsupported, error
        return
    compiled, compiled_whole = python(pattern), python(f"(?:{pattern})$")
    for text in probes:
        assert matches(builder, regex, text.encode()) == bool(compiled.search(text)), (pattern, text)
        full = matches(whole_builder, whole, text.encode())
        assert full == bool(compiled_whole.match(text)), (pattern, text, "full")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(patterns, st.randoms(use_true_random=False))
def test_random_patterns_with_assertions_agree_with_python(pattern: str, random) -> None:  # type: ignore[no-untyped-def]
    check_against_python(pattern, random.sample(PROBES, 40))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(plain_patterns, st.randoms(use_true_random=False))
def test_random_plain_patterns_agree_with_python(pattern: str, random) -> None:  # type: ignore[no-untyped-def]
    check_against_python(pattern, random.sample(PROBES, 40))
