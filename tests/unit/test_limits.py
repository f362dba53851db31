"""Every limit: it refuses by its own name, says where and what to do, and leaves everything else as it was."""

from __future__ import annotations

import gc
import os
import pickle
import re
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import grammar_decode as gd
from adversarial_schemas import PATTERNS
from grammar_decode import _core
from grammar_decode import grammar as grammar_module
from grammar_decode.ir.encode import encode
from grammar_decode.json_schema import compile_schema
from grammar_decode.limits import Work

BYTES = gd.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_token_ids=[256])
ENDLESS = {
    "max_search": 2**50,
    "max_states": 2**31,
    "max_formula": 2**50,
    "max_picks": 2**50,
    "max_memory_bytes": 2**50,
}


def nested(depth: int) -> Any:
    schema: Any = {"type": "null"}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def either(n: int) -> Any:
    """n pairs of alternatives that look at the same property."""
    pairs = [[{"properties": {"s": {"multipleOf": 2 * i + j + 1}}} for j in range(2)] for i in range(n)]
    return {"type": "object", "required": ["s"], "allOf": [{"anyOf": pair} for pair in pairs]}


def too_many_names(n: int) -> Any:
    """One of two names, n times, and room for half of them: the search tries all the ways."""
    pairs = [[{"required": [f"a{i}"]}, {"required": [f"b{i}"]}] for i in range(n)]
    return {"type": "object", "maxProperties": n // 2, "allOf": [{"anyOf": pair} for pair in pairs]}


#: No text: its 15th character from the end would be two. Finding that out takes some millions of states.
CONTRADICTION = {"type": "string", "allOf": [{"pattern": "a.{14}$"}, {"pattern": "b.{14}$"}]}


inside: Any = {
    "anyOf": [{"not": {"anyOf": [{"not": {"anyOf": [{"minimum": 1}, {}]}}, {"maximum": 3}]}}, {"minLength": 1}]
}
COMPILING: list[tuple[str, Any, int | float, str]] = [
    ("max_schema_bytes", {"type": "string", "description": "x" * 500}, 300, "#"),
    ("max_schema_bytes", '{"type": "string", "description": "' + "x" * 500 + '"}', 300, "#"),
    ("max_depth", inside, 2, "#"),
    ("max_nesting", {"properties": {"a": nested(20)}}, 10, "#/properties/a" + "/items" * 10),
    ("max_nesting", "[" * 100_000, 1_500, "#"),
    ("max_alternatives", {"items": {"anyOf": [{"const": i} for i in range(11)]}}, 10, "#/items/anyOf"),
    ("max_enum", {"items": {"enum": list(range(11))}}, 10, "#/items/enum"),
    ("max_pattern", {"items": {"pattern": "a" * 101}}, 100, "#/items/pattern"),
    ("max_pattern", {"patternProperties": {"a" * 101: {}}}, 100, "#/patternProperties"),
    ("max_nodes", nested(20), 10, "#/items/items"),
    ("max_picks", {"items": either(12)}, 4, "#/items"),
    ("max_formula", {"items": either(12)}, 20, "#/items"),
    ("max_regex", {"items": {"pattern": PATTERNS[8](500)}}, 1_000, "#"),
    ("max_states", {"items": {"pattern": "^.*a.{40}$", "not": {"pattern": "b.{9}c"}}}, 100, "#"),
    ("max_search", {"items": too_many_names(14)}, 10, "#/items"),
    ("max_compile_seconds", {"oneOf": [{"multipleOf": i + 1} for i in range(5_000)]}, 0.01, "#"),
]


@pytest.mark.parametrize(("limit", "schema", "value", "location"), COMPILING, ids=[case[0] for case in COMPILING])
def test_a_limit_of_compiling_names_itself_and_the_place(limit: str, schema: Any, value: Any, location: str) -> None:
    with pytest.raises(gd.SchemaTooComplex) as caught:
        gd.compile_json_schema(schema, limits=gd.Limits(**{limit: value}))
    error = caught.value
    assert error.limit == limit
    assert error.location is not None
    assert error.location.startswith(location)
    assert f"raise Limits.{limit}" in str(error)
    assert error.needed is None or error.needed > value


def test_every_limit_is_tested_here() -> None:
    tested = {case[0] for case in COMPILING}
    tested |= set(re.findall(r"Limits\((\w+)=", Path(__file__).read_text(encoding="utf-8")))
    assert {field.name for field in fields(gd.Limits)} <= tested


# ---- while a document is written ------------------------------------------------------------------------------------


def refuses(matcher: gd.GrammarMatcher, data: bytes, limit: str) -> None:
    before = matcher.num_steps, matcher.allowed_bytes()
    with pytest.raises(gd.SchemaTooComplex, match=f"raise Limits.{limit}") as caught:
        matcher.accept_bytes(data)
    assert caught.value.limit == limit
    assert (matcher.num_steps, matcher.allowed_bytes()) == before


def test_a_document_deeper_than_the_limit() -> None:
    grammar = gd.compile_json_schema({}, limits=gd.Limits(max_document_depth=5))
    matcher = gd.GrammarMatcher(grammar, BYTES)
    assert matcher.accept_bytes(b'[{"a":[[')
    refuses(matcher, b"[[1", "max_document_depth")
    assert matcher.accept_bytes(b"1]]}]")
    assert matcher.is_accepting()


def test_more_ways_to_read_a_text_than_the_limit() -> None:
    schema = {
        "anyOf": [{"properties": {"a": {"type": "array", "minItems": i}}, "required": [f"b{i}"]} for i in range(9)]
    }
    grammar = gd.compile_json_schema(schema, limits=gd.Limits(max_threads=4))
    matcher = gd.GrammarMatcher(grammar, BYTES)
    assert matcher.accept_bytes(b'{"')
    refuses(matcher, b'a":', "max_threads")
    assert gd.GrammarMatcher(gd.compile_json_schema(schema), BYTES).accept_bytes(b'{"a":[1,2],"b2":1}')


def test_an_automaton_larger_than_the_limit() -> None:
    grammar = gd.compile_json_schema({"type": "object"}, limits=gd.Limits(max_memory_bytes=4 << 20))
    matcher = gd.GrammarMatcher(grammar, BYTES)
    assert matcher.accept_bytes(b'{"a":1,')
    refuses(matcher, b'"' + b"k" * 200_000, "max_memory_bytes")
    assert gd.GrammarMatcher(grammar, BYTES).accept_bytes(b'{"a":1,"b":2}')  # it has an automaton of its own


COUNTED = {"type": "array", "items": {"enum": [1, "ab"]}, "maxItems": 1_000_000}  # a state for each number of items


def repeat(matcher: gd.GrammarMatcher, data: bytes) -> None:
    while matcher.accept_bytes(data):
        pass


def fill_up(matcher: gd.GrammarMatcher, repeated: bytes) -> None:
    """Until the automaton has no room left."""
    with pytest.raises(gd.SchemaTooComplex, match="max_memory_bytes"):
        repeat(matcher, repeated)


@pytest.mark.parametrize("max_tokens", [None, 5_000])
def test_a_sequence_that_fills_the_automaton_ends_no_other(max_tokens: int | None) -> None:
    grammar = gd.compile_json_schema(COUNTED, limits=gd.Limits(max_memory_bytes=4 << 20))
    other = gd.GrammarMatcher(grammar, BYTES, max_tokens=max_tokens)
    assert other.accept_tokens(list(b"[1,"))
    greedy = gd.GrammarMatcher(grammar, BYTES)
    assert greedy.accept_bytes(b"[1,")
    fill_up(greedy, b"1,")

    calm = gd.GrammarMatcher(gd.compile_json_schema(COUNTED, cache=None), BYTES, max_tokens=max_tokens)
    assert calm.accept_tokens(list(b"[1,"))
    masks = gd.allocate_token_bitmask(3, BYTES.size)
    for token in b'"ab",1,' * 28:
        gd.fill_next_token_bitmasks([other, calm, other], masks, max_threads=2)
        assert (masks[0] == masks[1]).all()
        assert (masks[2] == masks[1]).all()
        for ask in ("forced_bytes", "allowed_bytes", "completion_distance", "describe_expected"):
            assert getattr(other, ask)() == getattr(calm, ask)()
        assert other.validate_tokens([token, 0]) == calm.validate_tokens([token, 0])
        assert other.accept_token(token)
        assert calm.accept_token(token)
    twin = other.fork()
    other.rollback(other.num_steps)
    assert other.accept_bytes(b"[1]")
    assert other.is_accepting()
    assert other.accept_token(256)
    assert twin.num_steps == 3 + 7 * 28
    assert twin.accept_bytes(b"1]")


def test_what_a_sequence_needs_by_itself_is_refused_until_it_goes_back() -> None:
    grammar = gd.compile_json_schema(COUNTED, limits=gd.Limits(max_memory_bytes=4 << 20))
    greedy = gd.GrammarMatcher(grammar, BYTES)
    assert greedy.accept_bytes(b"[1,")
    fill_up(greedy, b"1,")
    with pytest.raises(gd.SchemaTooComplex):
        greedy.accept_bytes(b"1,")
    greedy.rollback(greedy.num_steps - 1)
    assert greedy.accept_bytes(b'"ab",')
    greedy.reset()
    assert greedy.accept_bytes(b"[1,")


def test_sequences_that_crowd_each_other_out_all_end() -> None:
    """No two of them fit: they move at the same time, to automata that others fill again."""
    most = 4 << 20
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    grammar = gd.compile_json_schema(schema, limits=gd.Limits(max_memory_bytes=most))
    needed: list[int] = []

    def write(grammar: gd.Grammar, number: int) -> None:
        matcher = gd.GrammarMatcher(grammar, BYTES)
        assert matcher.accept_bytes(b"{")
        for i in range(15):
            assert matcher.accept_bytes(b'"%d%s%d":1,' % (number, b"k" * 1_000, i))
        assert matcher.accept_bytes(b'"last":1}')
        assert matcher.is_accepting()
        needed.append(matcher._matcher.engine_memory_bytes())

    write(gd.compile_json_schema(schema, cache=None), 0)
    assert most / 2 < needed.pop() < most * 0.9
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: write(grammar, number), range(6)))
    assert len(needed) == 6


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer's own memory is counted as well")
def test_the_memory_of_formulas_is_counted() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    branches = [
        {"required": [f"n{i}"], "minProperties": 5_000 + i} for i in range(400)
    ]  # each entry changes all of them
    matcher = gd.GrammarMatcher(gd.compile_json_schema({"type": "object", "anyOf": branches}), BYTES)
    assert matcher.accept_bytes(b"{")
    before, counted_before = resident(), matcher._matcher.engine_memory_bytes()
    for i in range(300):
        assert matcher.accept_bytes(b'"k%d":1,' % i)
    counted = matcher._matcher.engine_memory_bytes() - counted_before
    assert counted > 20e6
    assert resident() - before < 2 * counted


def test_a_mask_that_takes_too_long_is_given_up() -> None:
    names = [f"p{i}" for i in range(4_000)]
    schema = {"properties": dict.fromkeys(names, True), "additionalProperties": False, "minProperties": len(names) - 1}
    grammar = gd.compile_json_schema({"type": "object", **schema}, limits=gd.Limits(max_mask_seconds=0.02))
    keys = [f'"{name}":'.encode() for name in names]  # a token each, so that each name is asked about
    vocabulary = gd.Vocabulary([*BYTES.token_bytes, *keys], stop_token_ids=BYTES.stop_token_ids)
    matcher = gd.GrammarMatcher(grammar, vocabulary)
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    assert matcher.accept_bytes(b"{")
    before = bitmask.copy()
    with pytest.raises(gd.SchemaTooComplex) as caught:
        matcher.fill_next_token_bitmask(bitmask)
    assert caught.value.limit == "max_mask_seconds"
    assert matcher.num_steps == 1
    assert not matcher.is_accepting()
    assert (bitmask == before).all()


# ---- the deadline ---------------------------------------------------------------------------------------------------


def test_compiling_is_interrupted_inside_the_kernel() -> None:
    """Without the deadline this search would go on for longer than anybody waits."""
    grammar = _core.Grammar(encode(compile_schema(CONTRADICTION)[0]), max_states=ENDLESS["max_states"])
    with pytest.raises(gd.SchemaTooComplex) as caught:
        grammar.is_empty(seconds=0.005)
    assert caught.value.limit == "max_compile_seconds"


def test_other_threads_run_while_the_kernel_compiles() -> None:
    limits = gd.Limits(max_compile_seconds=0.15, **ENDLESS)
    outcome: list[BaseException] = []

    def compile_long() -> None:
        try:
            gd.compile_json_schema(CONTRADICTION, limits=limits, cache=None)
        except gd.SchemaTooComplex as error:
            outcome.append(error)

    thread = threading.Thread(target=compile_long)
    thread.start()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    assert len(outcome) == 1
    assert turns > 20  # with the interpreter locked for those 0.15 seconds it would be a few


def test_few_long_steps_are_noticed_as_many_short_ones_are() -> None:
    """A web of references took half a second between two looks at the clock, in steps of a millisecond each."""
    work = Work(gd.Limits(max_compile_seconds=0.000001))
    for _ in range(49):
        work.tick()
    with pytest.raises(gd.SchemaTooComplex):
        work.tick(2)


def test_the_hint_of_an_unsatisfiable_schema_has_what_is_left_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def told(content: Any, options: Any, limits: gd.Limits) -> Any:
        given.append(limits.max_compile_seconds)
        return compile_schema(content[0], options, content[1], limits)

    monkeypatch.setattr(grammar_module, "_told", told)
    with pytest.raises(gd.UnsatisfiableSchema, match="#/properties/a"):
        gd.compile_json_schema(
            {"type": "object", "properties": {"a": {"type": "string", "enum": [1]}}, "required": ["a"]}
        )
    assert len(given) == 1
    assert 0 < given[0] < gd.Limits().max_compile_seconds


def test_a_refused_schema_leaves_other_grammars_as_they_were() -> None:
    grammar = gd.compile_json_schema({"pattern": "^ab*$", "type": "string"}, cache=None)
    matcher = gd.GrammarMatcher(grammar, BYTES)
    assert matcher.accept_bytes(b'"ab')
    before = matcher.allowed_bytes()
    for limit, schema, value, _ in COMPILING:
        with pytest.raises(gd.SchemaTooComplex):
            gd.compile_json_schema(schema, limits=gd.Limits(**{limit: value}))
    assert matcher.allowed_bytes() == before
    again = gd.compile_json_schema({"pattern": "^ab*$", "type": "string"}, cache=None)
    assert again == grammar


# ---- the numbers themselves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3", None, 2**70, float("nan")])
def test_a_limit_must_be_a_positive_number(value: Any) -> None:
    with pytest.raises(gd.GrammarDecodeError, match="max_states"):
        gd.Limits(max_states=value)


def test_seconds_may_be_fractions() -> None:
    assert gd.Limits(max_compile_seconds=0.5, max_mask_seconds=2).max_compile_seconds == 0.5
    with pytest.raises(gd.GrammarDecodeError, match="max_mask_seconds"):
        gd.Limits(max_mask_seconds=float("nan"))


def test_errors_pickle() -> None:
    errors: list[gd.GrammarDecodeError] = []
    for schema in ({"pattern": "("}, {"type": "x"}, False, {"enum": list(range(20))}):
        with pytest.raises(gd.GrammarDecodeError) as caught:
            gd.compile_json_schema(schema, limits=gd.Limits(max_enum=10))
        errors.append(caught.value)
    with pytest.raises(gd.PatternError) as pattern:
        gd.compile_regex("(")
    for error in (*errors, pattern.value):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert copy.__dict__ == error.__dict__


def test_what_the_process_remembers_of_long_patterns_and_texts_is_bounded() -> None:
    from grammar_decode.limits import FEW, LONG, remembered

    class Answer:
        pass

    @remembered(1_000)
    def answer(question: str) -> Answer:
        return Answer()

    kept = [weakref.ref(answer("x" * (LONG + 1 + i))) for i in range(50)]
    gc.collect()
    assert sum(ref() is not None for ref in kept) == FEW
    assert answer("short") is answer("short")
