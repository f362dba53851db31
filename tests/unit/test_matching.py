"""Patterns against written-out strings: by positions, by the tree, and by Python's ``re``."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from grammar_decode.json_schema.matching import _machine, _Run, matches
from grammar_decode.regex.parse import parse

ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", "(?:)", "ab"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = inner.map("(?:{})".format)
    return (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format)
        | st.tuples(group, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "*?"])).map("".join)
    )


PATTERNS = st.recursive(ATOMS, _grown, max_leaves=8)
ANCHORED = st.tuples(st.sampled_from(["", "^"]), PATTERNS, st.sampled_from(["", "$"])).map("".join)
SEVERAL = st.lists(ANCHORED, min_size=1, max_size=2).map("|".join)
TEXTS = st.text("ab1\n", max_size=6)


@settings(max_examples=examples(400), deadline=None)
@given(SEVERAL, TEXTS)
def test_positions_tree_and_re_agree(pattern: str, text: str) -> None:
    machine, tree, run = _machine(pattern), parse(pattern), _Run(text)
    assert machine is not None
    found = any(run.ends(tree, start) for start in range(len(text) + 1))
    assert machine.accepts(text) == found == matches(pattern, text)
    if "." not in pattern:  # a line break is not in "." here, carriage returns and two more are not either
        assert found == bool(re.search(pattern.replace("$", r"\Z"), text, re.ASCII))


@pytest.mark.parametrize("pattern", [r"\ba", r"a(?=b)", r"(?<!b)a", "a^b", "a{1001}", "(?:a{50}){50}"])
def test_what_positions_can_not_do_is_matched_by_the_tree(pattern: str) -> None:
    assert _machine(pattern) is None
    text = "a" * 2500 if "{" in pattern else "ab"
    assert matches(pattern, text) == bool(re.search(pattern, text))


@pytest.mark.parametrize(
    "pattern", ["^(?:a+)+$", "^(?:a|aa)*$", "^(?:a*)*b?$", "(?:(?:(?:){1000}){1000}){1000}c", "(?:x+x+)+y"]
)
def test_no_pattern_takes_long(pattern: str) -> None:
    start = time.process_time()
    assert not matches(pattern, "a" * 60 + "d")
    assert time.process_time() - start < 20  # a thousandth of that, or years
