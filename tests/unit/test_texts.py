"""Grammars of plain texts: regular expressions and choices."""

from __future__ import annotations

import re

import numpy as np
import pytest

import grammar_decode as gd
from grammar_decode.reference import ReferenceMatcher
from vocabularies import SYNTHETIC, TestVocabulary
from walks import as_vocabulary, ids_of, mask_of

GRAMMARS = {
    "leading blank": gd.compile_regex(" a|b"),
    "blanks all around": gd.compile_regex(r"\s*[a-c]{2,3}\s+"),
    "may be empty": gd.compile_regex("(ab)*"),
    "braces": gd.compile_regex(r'[{"]a*[}"]:?'),
    "not ASCII": gd.compile_regex("é?(日本)+.?"),
    "choice": gd.compile_choice(["yes", " no", "no ", "née", '"', "{}", "nn"]),
}


@pytest.mark.parametrize("vocabulary", SYNTHETIC, ids=lambda v: v.name)
@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_those_of_the_reference(name: str, vocabulary: TestVocabulary) -> None:
    grammar = GRAMMARS[name]
    rng = np.random.default_rng(4)
    for _ in range(6):
        matcher = gd.GrammarMatcher(grammar, as_vocabulary(vocabulary))
        reference = ReferenceMatcher(
            grammar.ir, vocabulary.token_bytes, vocabulary.stop_token_ids, vocabulary.size
        )  # fmt: skip
        while not matcher.is_terminated():
            mask = mask_of(matcher)
            assert (mask == reference.bitmask()).all()
            token_id = int(rng.choice(ids_of(mask)))
            assert matcher.accept_token(token_id)
            assert reference.accept_token(token_id)


def accepts(grammar: gd.Grammar, text: str) -> bool:
    matcher = gd.GrammarMatcher(grammar, as_vocabulary(SYNTHETIC[0]))
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize("pattern", ["a|b", r"\d{3}-\d{4}", "^x+$", "(?!aa)a.?", r"\s?[ab]*", "[^a]b?"])
def test_a_regex_matches_whole_texts_but_never_the_empty_one(pattern: str) -> None:
    grammar = gd.compile_regex(pattern)
    for text in ("a", "b", "ab", "aa", "555-1234", "555-12345", "x", "xxx", "xa", " ", " a", "é", "éb", "\n", "b "):
        assert accepts(grammar, text) == bool(re.fullmatch(pattern, text)), text
    assert not gd.GrammarMatcher(grammar, as_vocabulary(SYNTHETIC[0])).is_accepting()


def test_a_choice_is_one_of_the_texts_as_it_stands() -> None:
    for text in ("yes", " no", "no ", "née", '"', "{}", "nn"):
        assert accepts(GRAMMARS["choice"], text)
    for text in ("no", "ye", "yes ", '"yes"', " yes"):
        assert not accepts(GRAMMARS["choice"], text)


def test_a_text_grammar_survives_its_byte_format() -> None:
    grammar = GRAMMARS["choice"]
    assert gd.Grammar.from_bytes(grammar.to_bytes()) == grammar
    assert len(grammar.report) == 0


def test_errors() -> None:
    with pytest.raises(gd.PatternError) as backreference:
        gd.compile_regex(r"(a)\1")
    assert backreference.value.unsupported
    for pattern in ("(", "", "()*", r"(?=b)a"):
        with pytest.raises(gd.PatternError):
            gd.compile_regex(pattern)
    for choices in ([], ["a", ""], ["\ud800"]):
        with pytest.raises(gd.UnsatisfiableSchema):
            gd.compile_choice(choices)
    with pytest.raises(TypeError):
        gd.compile_regex(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        gd.compile_choice([1])  # type: ignore[list-item]
