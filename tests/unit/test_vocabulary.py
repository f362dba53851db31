"""`Vocabulary` from raw bytes: what it says, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from grammar_decode.errors import VocabularyError
from grammar_decode.vocabulary import Vocabulary


def test_it_tells_what_it_was_given():
    vocabulary = Vocabulary([b"{", b"}", None, b"{"], stop_token_ids=[2, 5, 2], size=8)
    assert vocabulary.size == 8
    assert vocabulary.token_bytes == (b"{", b"}", None, b"{")
    assert vocabulary.stop_token_ids == (2, 5)
    assert vocabulary.num_tokens == 3
    assert "3 tokens" in repr(vocabulary)


def test_the_size_is_the_number_of_ids_by_default():
    assert Vocabulary([b"a", None], stop_token_ids=[1]).size == 2


def test_the_bytes_of_a_stop_token_are_never_text():
    assert Vocabulary([b"a", b"</s>"], stop_token_ids=[1]).token_bytes == (b"a", None)


def test_a_token_without_bytes_is_not_text():
    assert Vocabulary([b"a", b"", None], stop_token_ids=[2]).token_bytes == (b"a", None, None)


def test_numpy_integers_are_ids():
    assert Vocabulary([b"a", None], stop_token_ids=np.array([1])).stop_token_ids == (1,)


def test_later_changes_of_the_list_do_not_reach_it():
    tokens = [b"a", None]
    vocabulary = Vocabulary(tokens, stop_token_ids=[1])
    tokens[0] = b"b"
    assert vocabulary.token_bytes[0] == b"a"


@pytest.mark.parametrize(
    "other",
    [
        Vocabulary([b"a", b"bc", None, None], stop_token_ids=[2]),
        Vocabulary([b"ab", b"c", None], stop_token_ids=[2]),
        Vocabulary([b"a", b"bc", None], stop_token_ids=[2], size=9),
        Vocabulary([b"a", b"bc", None, None], stop_token_ids=[3]),
        Vocabulary([b"a", None, b"bc"], stop_token_ids=[1]),
    ],
)
def test_the_hash_tells_vocabularies_apart(other):
    vocabulary = Vocabulary([b"a", b"bc", None], stop_token_ids=[2])
    assert vocabulary.content_hash == Vocabulary([b"a", b"bc", b"x"], stop_token_ids=[2]).content_hash
    assert vocabulary.content_hash != other.content_hash
    assert vocabulary != other


def test_equal_vocabularies_are_one_key():
    vocabulary, other = (Vocabulary([b"a", b"bc", None], stop_token_ids=[2]) for _ in range(2))
    assert vocabulary == other == pickle.loads(pickle.dumps(vocabulary))
    assert {vocabulary: 1}[other] == 1
    assert vocabulary != "another thing"


@pytest.mark.parametrize(
    ("tokens", "stops", "message"),
    [(None, [1], "token_bytes is None"), (5, [1], "token_bytes is 5"), ([b"a"], None, "stop_token_ids is None")],
)
def test_what_is_no_list_is_named(tokens, stops, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(tokens, stop_token_ids=stops)


def test_a_pickled_copy_is_the_same_vocabulary():
    vocabulary = Vocabulary([b"a", b"bc", None], stop_token_ids=[2], size=9)
    assert pickle.loads(pickle.dumps(vocabulary)).content_hash == vocabulary.content_hash


@pytest.mark.parametrize(
    ("tokens", "options", "message"),
    [
        ([], {"stop_token_ids": [0]}, "vocabulary is empty"),
        ([None, b""], {"stop_token_ids": [0]}, "None of the 2 tokens has bytes"),
        ([b"a"], {"stop_token_ids": [0]}, "None of the 1 tokens has bytes"),
        ([b"a", "b"], {"stop_token_ids": [0]}, r"Token 1 is a str \('b'\), but must be bytes.*Encode"),
        ([b"a", 7], {"stop_token_ids": [0]}, r"Token 1 is a int \(7\)"),
        ([b"a" * 65536, None], {"stop_token_ids": [1]}, "Token 0 has 65536 bytes; at most 65535"),
        (b"abc", {"stop_token_ids": [0]}, "token_bytes is a bytes"),
        ({"a": 0}, {"stop_token_ids": [0]}, "token_bytes is a dict"),
        ([b"a", None], {"stop_token_ids": []}, "no stop token"),
        ([b"a", None], {"stop_token_ids": 1}, r"stop_token_ids is the number 1; pass a list: \[1\]"),
        ([b"a", None], {"stop_token_ids": [2]}, "stop token 2 is out of range: ids run from 0 to 1"),
        ([b"a", None], {"stop_token_ids": [-1]}, "stop token -1 is out of range"),
        ([b"a", None], {"stop_token_ids": ["</s>"]}, "'</s>' is a str, but must be a token id"),
        ([b"a", None], {"stop_token_ids": [1], "size": 1}, "size is 1, but the vocabulary has 2 ids"),
        ([b"a", None], {"stop_token_ids": [1], "size": 2.5}, "size is 2.5, but must be a whole number"),
        ([b"a", None], {"stop_token_ids": [1], "size": 2**40}, "size is"),
    ],
)
def test_what_can_not_work_is_refused_with_what_to_do(tokens, options, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(tokens, **options)
