"""Where the end of an unfinished JSON text is: against what `json` reads of it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from grammar_decode.scan import scan, text_of
from schemas_random import json_values
from walks import written

PLACES = [
    (b"", "value", ""),
    (b"  \n", "value", ""),
    (b"{", "first key", ""),
    (b'{"a', "in key", ""),
    (b'{"a\\"', "in key", ""),
    (b'{"a"', "colon", "/a"),
    (b'{"a" : ', "value", "/a"),
    (b'{"a":1', "scalar", "/a"),
    (b'{"a":1 ', "after", ""),
    (b'{"a":"x', "scalar", "/a"),
    (b'{"a":"x"', "after", ""),
    (b'{"a":"x",', "key", ""),
    (b'{"a/b~c":[', "first item", "/a~1b~0c"),
    (b'{"a":[1,', "value", "/a/1"),
    (b'{"a":[1,[2],{"b":nul', "scalar", "/a/2/b"),
    (b'{"a":[1,[2],{"b":null', "after", "/a/2"),
    (b'{"":{"\\u00e9":', "value", "//é"),
    (b"[[]", "after", ""),
    (b"[{},", "value", "/1"),
    (b"12", "scalar", ""),
    (b"true", "end", ""),
    (b"[] ", "end", ""),
    (b'"\\', "scalar", ""),
    (b"-", "scalar", ""),
]


@pytest.mark.parametrize(("text", "state", "pointer"), PLACES)
def test_the_place_at_the_end_of_a_text(text: bytes, state: str, pointer: str) -> None:
    place = scan(text)
    assert place is not None
    assert (place.state, place.pointer) == (state, pointer)


@pytest.mark.parametrize("text", [b"x", b"}", b"[1 2", b'{"a",', b"{1", b"1 2", b"[tru,", b'{"a":1]', b"nulx", b"\xff"])
def test_what_is_no_json(text: bytes) -> None:
    assert scan(text) is None


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"ab", "ab"),
        (b"a\\", "a"),
        (b"a\\u00", "a"),
        (b"a\xc3", "a"),
        (b"\\u00e9", "é"),
        ("日".encode()[:2], ""),
        (b"", ""),
    ],
)
def test_a_key_that_is_cut_off(raw: bytes, text: str) -> None:
    assert text_of(raw) == text


def test_the_document_may_begin_later() -> None:
    place = scan(b'call {"a": [1, ', 5)
    assert place is not None
    assert place.pointer == "/a/1"


@settings(max_examples=examples(150), deadline=None)
@given(value=json_values(3), seed=st.integers(0, 2**16), cut=st.floats(0, 1))
def test_any_prefix_leads_to_where_the_value_has_that_path(value: Any, seed: int, cut: float) -> None:
    text = written(value, random.Random(seed)).encode()
    prefix = text[: int(cut * len(text))]
    place = scan(prefix)
    assert place is not None
    inner = json.loads(text)
    for step, container in zip(place.path, place.opened, strict=False):
        assert container.is_object == isinstance(inner, dict)
        for key, (start, end) in container.spans.items():
            assert json.loads(prefix[start:end]) == inner[key]
        inner = inner[step]
    whole = scan(text)
    assert whole is not None
    assert whole.state == "end" or not isinstance(value, (dict, list))
