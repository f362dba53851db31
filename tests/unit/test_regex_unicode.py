"""Property escapes of ECMA-262 (22.2.1, UnicodePropertyValueExpression)."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from grammar_decode.errors import PatternError
from grammar_decode.regex.charset import ALL, Charset
from grammar_decode.regex.parse import Chars, parse
from grammar_decode.regex.unicode import PropertyError, property_set


def test_a_general_category_is_what_unicodedata_says() -> None:
    for name in ("Lu", "Nd", "Co", "Cn"):
        found = property_set(name)
        for first, last in ALL.ranges:
            for code_point in range(first, last + 1, 97):
                assert found.contains(code_point) == (unicodedata.category(chr(code_point)) == name), hex(code_point)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("L", "Letter"), ("L", "gc=L"), ("Lu", "General_Category=Uppercase_Letter"), ("P", "punct"),
        ("Script=Greek", "sc=Grek"), ("Script_Extensions=Greek", "scx=Grek"), ("Alphabetic", "Alpha"),
    ],
)  # fmt: skip
def test_aliases_name_the_same_set(one: str, other: str) -> None:
    pytest.importorskip("regex")
    assert property_set(one) == property_set(other)


def test_a_category_of_several_is_their_union() -> None:
    assert property_set("LC") == property_set("Lu").union(property_set("Ll"), property_set("Lt"))
    assert property_set("Any") == ALL
    assert property_set("Assigned") == property_set("Cn").complement()
    assert property_set("ASCII") == Charset.of((0, 0x7F))
    assert not property_set("Cs")


def test_scripts_and_their_extensions_differ() -> None:
    pytest.importorskip("regex")
    assert property_set("Script=Greek").contains(ord("\u03b1"))
    assert not property_set("Script=Greek").contains(ord("a"))
    assert property_set("Script=Katakana").is_subset(property_set("scx=Katakana"))
    assert property_set("scx=Katakana").contains(0x30FC)
    assert not property_set("Script=Katakana").contains(0x30FC)


@pytest.mark.parametrize("name", ["", "letter", "Latin", "sc=latin", "Script=Nope", "gc=Nope", "Block=Arrows", "alpha"])
def test_names_are_those_of_the_specification_and_case_sensitive(name: str) -> None:
    pytest.importorskip("regex")
    with pytest.raises(PropertyError):
        property_set(name)


def test_negation_inside_and_outside_a_class() -> None:
    assert parse(r"\P{L}") == Chars(property_set("L").complement())
    assert parse(r"[\p{L}\P{L}]") == Chars(ALL)
    assert parse(r"[\p{L}-]") == Chars(property_set("L").union(Charset.from_chars("-")))


def test_a_missing_regex_package_is_a_clear_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    with pytest.raises(PatternError, match="pip install regex") as caught:
        parse(r"\p{Script=Old_Turkic}")
    assert caught.value.unsupported
