"""What is kept and sent: grammars as bytes, pickles of grammars and vocabularies, and the child of a fork."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading
from typing import Any

import pytest

import grammar_decode as gd
from schemas import CURATED, Curated
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, mask_of, tokens_of, written

SCHEMA = {"type": "object", "properties": {"a\x00é": {"enum": [1, "x"]}, "b": {"pattern": "^a+$"}}, "required": ["b"]}
BYTES = gd.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_token_ids=[256])
HEADER = 32  # bytes before the grammar itself


def masks(grammar: gd.Grammar, vocabulary: gd.Vocabulary, text: bytes) -> list[bytes]:
    matcher = gd.GrammarMatcher(grammar, vocabulary)
    result = []
    for byte in text:
        result.append(mask_of(matcher).tobytes())
        assert matcher.accept_bytes(bytes([byte]))
    return [*result, mask_of(matcher).tobytes()]


# ---- bytes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_a_grammar_comes_back_with_all_that_it_was(curated: Curated) -> None:
    options = gd.JsonOptions(key_order="schema", whitespace="compact")
    grammar = gd.compile_json_schema(curated.schema, options, limits=gd.Limits(max_states=77_777))
    again = gd.Grammar.from_bytes(grammar.to_bytes())
    assert again == grammar
    assert hash(again) == hash(grammar)
    assert again.options == options
    assert again.limits == gd.Limits(max_states=77_777)
    assert again.origins == grammar.origins
    assert list(again.report) == list(grammar.report)
    assert again.ir == grammar.ir
    text = written(curated.valid[0], random.Random(1)) if options.whitespace == "flexible" else None
    compact = (text or json.dumps(curated.valid[0], separators=(",", ":"), ensure_ascii=False)).encode()
    assert masks(again, BYTES, compact) == masks(grammar, BYTES, compact)


def test_a_grammar_of_no_schema_has_no_options() -> None:
    grammar = gd.compile_regex("[ab]+")
    assert grammar.options is None
    assert gd.Grammar.from_bytes(grammar.to_bytes()) == grammar


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_kind_of_bytes_can_be_read(kind: Any) -> None:
    grammar = gd.compile_json_schema(SCHEMA)
    assert gd.Grammar.from_bytes(kind(grammar.to_bytes())) == grammar
    with pytest.raises(TypeError, match="not str"):
        gd.Grammar.from_bytes("GDGR")  # type: ignore[arg-type]


def test_every_byte_that_is_changed_and_every_cut_is_noticed() -> None:
    data = gd.compile_json_schema(SCHEMA).to_bytes()
    places = {*range(64), *range(64, len(data), 37), len(data) - 1}
    for place in sorted(places):
        damaged = bytearray(data)
        damaged[place] ^= 0x10
        with pytest.raises(gd.SerializationError):
            gd.Grammar.from_bytes(damaged)
        with pytest.raises(gd.SerializationError):
            gd.Grammar.from_bytes(data[:place])


@pytest.mark.parametrize("version", [0, 2, 4, 2**32 - 1])
def test_another_version_is_refused_by_its_number(version: int) -> None:
    data = gd.compile_json_schema(SCHEMA).to_bytes()
    other = data[:4] + version.to_bytes(4, "little") + data[8:]
    with pytest.raises(gd.SerializationError, match=f"format {version}.*Compile the schema again"):
        gd.Grammar.from_bytes(other)


def repacked(data: bytes, change: Any) -> bytes:
    """The same with another description of itself, and a checksum that fits."""
    import hashlib

    ir_size = int.from_bytes(data[8:12], "little")
    rest = change(json.loads(data[HEADER + ir_size :].decode("utf-8", "surrogatepass")))
    body = data[HEADER : HEADER + ir_size] + json.dumps(rest).encode()
    sizes = ir_size.to_bytes(4, "little") + (len(body) - ir_size).to_bytes(4, "little")
    return data[:8] + sizes + hashlib.blake2b(body, digest_size=16).digest() + body


@pytest.mark.parametrize(
    "change",
    [
        lambda _: [],
        lambda _: {},
        lambda parts: {**parts, "limits": {"max_states": 0}},
        lambda parts: {**parts, "limits": {"max_nothing": 1}},
        lambda parts: {**parts, "options": {"whitespace": "wide"}},
        lambda parts: {**parts, "options": 3},
        lambda parts: {**parts, "origins": [1]},
        lambda parts: {**parts, "schema": [3, {}]},
        lambda parts: {**parts, "schema": [{}, []]},
        lambda parts: {**parts, "schema": [{}]},
        lambda parts: {**parts, "report": 7},
        lambda parts: {**parts, "report": [{}]},
    ],
)
def test_a_wrong_description_with_a_right_checksum_is_refused(change: Any) -> None:
    data = gd.compile_json_schema(SCHEMA).to_bytes()
    assert gd.Grammar.from_bytes(repacked(data, lambda parts: parts)).to_bytes()[:4] == data[:4]
    with pytest.raises(gd.SerializationError):
        gd.Grammar.from_bytes(repacked(data, change))


# ---- pickles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    grammar = gd.compile_json_schema(SCHEMA, gd.JsonOptions(whitespace="compact"))
    assert pickle.loads(pickle.dumps(grammar, protocol)) == grammar
    vocabulary = as_vocabulary(ALL_SINGLE_BYTES)
    copy = pickle.loads(pickle.dumps(vocabulary, protocol))
    assert copy is not vocabulary
    assert copy.content_hash == vocabulary.content_hash
    assert (copy.token_bytes, copy.size) == (vocabulary.token_bytes, vocabulary.size)
    text = b'{"b":"aa"}'
    assert masks(grammar, copy, text) == masks(grammar, vocabulary, text)


def test_a_pickle_does_not_grow_with_use() -> None:
    grammar, vocabulary = gd.compile_json_schema(SCHEMA, cache=None), as_vocabulary(ALL_SINGLE_BYTES)
    before = len(pickle.dumps(grammar)), len(pickle.dumps(vocabulary))
    masks(grammar, vocabulary, b'{"b": "aaa"}')
    assert (len(pickle.dumps(grammar)), len(pickle.dumps(vocabulary))) == before


def test_another_process_reads_a_pickle() -> None:
    grammar = gd.compile_json_schema(SCHEMA)
    code = "import pickle, sys; print(hash(pickle.load(sys.stdin.buffer).to_bytes()) != 0)"
    result = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(grammar), capture_output=True, check=True, timeout=60
    )
    assert result.stdout.strip() == b"True"


# ---- fork -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_goes_on_with_grammars_vocabularies_and_matchers() -> None:
    grammar, vocabulary = gd.compile_json_schema(SCHEMA, cache=None), as_vocabulary(ALL_SINGLE_BYTES)
    text = b'{"b":"aa"}'
    matcher = gd.GrammarMatcher(grammar, vocabulary)
    assert matcher.accept_bytes(text[:5])
    expected = masks(grammar, vocabulary, text), mask_of(matcher).tobytes()
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)

    def child() -> None:
        fresh = gd.compile_json_schema({**SCHEMA, "title": "in the child"})
        again = gd.compile_json_schema(SCHEMA, cache=None)
        gd.grammar_cache.clear()
        same = masks(grammar, vocabulary, text), mask_of(matcher).tobytes()
        writing.send((same == expected, masks(again, vocabulary, text) == expected[0], fresh is not None))

    process = context.Process(target=child)
    process.start()
    assert reading.poll(60), "the child is stuck"
    assert reading.recv() == (True, True, True)
    process.join(60)
    assert process.exitcode == 0
    assert masks(grammar, vocabulary, text) == expected[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_is_forked_while_other_threads_compute_masks_is_not_stuck() -> None:
    """A lock that another thread holds at the fork would be held in the child for ever."""
    grammar, vocabulary = gd.compile_json_schema(SCHEMA, cache=None), as_vocabulary(ALL_SINGLE_BYTES)
    text = b'{"b":"aa"}'
    expected = masks(grammar, vocabulary, text)
    done = threading.Event()

    def busy() -> None:
        tokens = tokens_of(text, ALL_SINGLE_BYTES, random.Random(1))
        while not done.is_set():
            gd.compile_json_schema({"title": str(random.random()), **SCHEMA})
            matcher = gd.GrammarMatcher(grammar, vocabulary)
            matcher._matcher.set_memo_limit(0)
            for token in tokens:
                mask_of(matcher)
                matcher.accept_token(token)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    context = multiprocessing.get_context("fork")
    try:
        for _ in range(8):
            reading, writing = context.Pipe(duplex=False)

            def child(out: Any = writing) -> None:
                gd.compile_json_schema({"title": "in the child", **SCHEMA})
                out.send(masks(grammar, vocabulary, text) == expected)

            process = context.Process(target=child)
            process.start()
            stuck = not reading.poll(30)
            if stuck:
                process.kill()
            process.join(30)
            assert not stuck
            assert reading.recv()
    finally:
        done.set()
        for thread in threads:
            thread.join()
