"""What an attack on the package found: one test each."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import grammar_decode as gd

BYTES = gd.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_token_ids=[256])


@pytest.mark.parametrize("keyword", ["minimum", "maximum", "exclusiveMinimum", "multipleOf", "const"])
def test_an_integer_too_large_for_a_float_is_a_number(keyword: str) -> None:
    # A multiple of 10**400 is 0 alone; a constant or lower bound beyond every double leaves nothing to write.
    schema = {"type": "number", keyword: 10**400}
    try:
        grammar = gd.compile_json_schema(schema)
    except (gd.UnsatisfiableSchema, gd.SchemaTooComplex):
        return
    assert gd.GrammarMatcher(grammar, BYTES).accept_bytes(b"0")


def test_many_patterns_that_hold_together_are_not_met_in_all_orders() -> None:
    schema = {"type": "string", "allOf": [{"pattern": f"a{i}"} for i in range(20)]}
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema), BYTES)
    assert matcher.accept_bytes(b'"' + b"".join(b"a%d" % i for i in range(20)) + b'"')


def test_a_limit_passed_on_the_way_leaves_the_matcher_as_it_was() -> None:
    grammar = gd.compile_json_schema({"type": "string", "maxLength": 30000}, limits=gd.Limits(max_states=1024))
    matcher = gd.GrammarMatcher(grammar, BYTES)
    tokens = [ord('"'), *[ord("a")] * 5000]
    with pytest.raises(gd.SchemaTooComplex):
        matcher.validate_tokens(tokens)
    assert matcher.num_steps == 0
    with pytest.raises(gd.SchemaTooComplex):
        matcher.accept_tokens(tokens)
    assert matcher.num_steps == 0
    assert matcher.accept_token(ord('"'))


def test_a_full_engine_is_replaced_for_new_sequences() -> None:
    grammar = gd.compile_json_schema({"type": "string", "maxLength": 30000}, limits=gd.Limits(max_states=1024))
    first = gd.GrammarMatcher(grammar, BYTES)
    with pytest.raises(gd.SchemaTooComplex):
        first.accept_bytes(b'"' + b"a" * 5000)
    second = gd.GrammarMatcher(grammar, BYTES)
    assert second.accept_bytes(b'"aaa\xc3\xa9"')
    first.reset()
    assert first.accept_bytes(b'"aaa\xc3\xa9"')


def test_a_stop_token_with_text_does_not_strand_the_sequence() -> None:
    const = gd.compile_json_schema({"const": "a"})
    with pytest.raises(gd.UnsatisfiableSchema):  # "a" can't be written when it is the stop token
        gd.GrammarMatcher(const, BYTES, stop_token_ids=[ord("a")])
    matcher = gd.GrammarMatcher(gd.compile_json_schema({"enum": ["a", "b"]}), BYTES, stop_token_ids=[ord("a")])
    bitmask = gd.allocate_token_bitmask(1, BYTES.size)
    assert matcher.accept_bytes(b'"')
    matcher.fill_next_token_bitmask(bitmask)
    assert np.flatnonzero(np.unpackbits(bitmask.view(np.uint8), bitorder="little")).tolist() == [ord("b")]


def test_a_bitmask_whose_memory_is_temporary_is_written_before_it_is_freed() -> None:
    class Temporary:
        def __dlpack__(self, **_: object) -> object:
            return np.full((400_000, 9), 7, np.int32).__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    matcher = gd.GrammarMatcher(gd.compile_json_schema({"type": "string"}), BYTES)
    matcher.fill_next_token_bitmask(Temporary(), 399_999)  # crashed
    assert matcher.accept_token(ord('"'))


def test_memory_of_an_engine_stays_bounded_over_many_documents() -> None:
    matcher = gd.GrammarMatcher(gd.compile_json_schema({"type": "object"}), BYTES)
    for document in range(3000):
        matcher.reset()
        keys = ",".join(f'"key {document} {i} {"x" * 20}":1' for i in range(8))
        assert matcher.accept_bytes(b"{" + keys.encode() + b"}")
    assert matcher._matcher.engine_memory_bytes() < 200 << 20


@pytest.mark.parametrize("keyword", ["items", "not", "const"])
def test_a_schema_nested_too_deep_is_refused_at_once(keyword: str) -> None:
    schema: object = {"type": "null"}
    for _ in range(5000):
        schema = {keyword: schema} if keyword != "const" else [schema]
    with pytest.raises(gd.SchemaTooComplex) as caught:
        gd.compile_json_schema({"const": schema} if keyword == "const" else schema)
    assert caught.value.limit in ("max_depth", "max_nesting")


@pytest.mark.parametrize(
    "damage",
    [
        {"added_tokens": [{"id": 1, "special": True}]},
        {"added_tokens": [{"id": "x", "content": "</s>"}]},
        {"added_tokens": [{"id": float("inf"), "content": "</s>"}]},
        {"added_tokens": [{"id": 1, "content": 7}]},
        {"model": {"type": "BPE", "vocab": [["a", 0.5], [1, 2]]}},
        {"model": {"type": "BPE", "vocab": {"a": "\ud800"}}},
        {"model": {"type": "BPE", "vocab": {"a": [0]}}},
    ],
)
def test_a_damaged_tokenizer_file_is_a_vocabulary_error(damage: dict[str, Any]) -> None:
    added = [{"id": 1, "content": "</s>", "special": True}]
    model = {"type": "BPE", "vocab": {"a": 0, "</s>": 1}}
    whole = {"model": model, "added_tokens": added, "decoder": {"type": "ByteLevel"}}
    assert gd.Vocabulary.from_tokenizer_json(whole).stop_token_ids == (1,)
    with pytest.raises(gd.VocabularyError):
        gd.Vocabulary.from_tokenizer_json(json.dumps({**whole, **damage}))


def test_distinct_items_that_displace_each_other_need_no_stack() -> None:
    """Each item has two values, and the last one takes the first value of the first one: all of them move on by one."""
    code = """if True:
        import threading
        import grammar_decode as gd
        n = 12_000
        items = [*({"enum": [i, i + 1]} for i in range(n - 1)), {"const": 0}]
        schema = {"type": "array", "uniqueItems": True, "minItems": n, "prefixItems": items, "items": False}
        threading.stack_size(1 << 19)
        limits = gd.Limits(max_compile_seconds=60, max_states=2**30)
        thread = threading.Thread(target=lambda: print(gd.compile_json_schema(schema, limits=limits)))
        thread.start()
        thread.join()
    """
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    assert "Grammar" in result.stdout, result.stderr
