"""The cache of compiled grammars: what is the same question, what is kept, and what is let go."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

import grammar_decode as gd
from grammar_decode.cache import MEASURED_EVERY, Cache, content_of, value_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "other.json"}}}
RESOURCES = {"other.json": {"enum": ["x", "y"]}}


@pytest.fixture
def cache() -> gd.GrammarCache:
    return gd.GrammarCache()


def test_equal_content_gives_the_same_grammar(cache: gd.GrammarCache) -> None:
    first = gd.compile_json_schema(SCHEMA, resources=RESOURCES, cache=cache)
    again = gd.compile_json_schema(
        copy.deepcopy(SCHEMA), gd.JsonOptions(), resources=copy.deepcopy(RESOURCES), limits=gd.Limits(), cache=cache
    )
    assert again is first
    assert (cache.hits, cache.misses, len(cache)) == (1, 1, 1)
    assert gd.compile_json_schema(json.dumps(RESOURCES["other.json"]), cache=cache) is gd.compile_json_schema(
        RESOURCES["other.json"], cache=cache
    )


def test_numbers_of_every_kind_are_known_again(cache: gd.GrammarCache) -> None:
    for value in (1, 1.5, Decimal("1.5"), True, None, float("inf")):
        schema = {"enum": [value, "a"], "default": value}
        try:
            first = gd.compile_json_schema(schema, cache=cache)
        except gd.SchemaError:
            assert value == float("inf")
            continue
        assert gd.compile_json_schema(copy.deepcopy(schema), cache=cache) is first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"const": 1}, {"const": 1.0}),
        ({"const": 1}, {"const": True}),
        ({"const": 0.0}, {"const": -0.0}),
        ({"const": Decimal("1.5")}, {"const": Decimal("1.50")}),
        ({"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}),
        ({"const": "1"}, {"const": 1}),
    ],
)
def test_what_may_differ_in_meaning_is_another_question(cache: gd.GrammarCache, one: Any, other: Any) -> None:
    first, second = gd.compile_json_schema(one, cache=cache), gd.compile_json_schema(other, cache=cache)
    assert first is not second
    assert second == gd.compile_json_schema(other, cache=None)


def test_options_resources_and_limits_are_part_of_the_question(cache: gd.GrammarCache) -> None:
    grammars = [
        gd.compile_json_schema(SCHEMA, resources=RESOURCES, cache=cache),
        gd.compile_json_schema(SCHEMA, gd.JsonOptions(whitespace="compact"), resources=RESOURCES, cache=cache),
        gd.compile_json_schema(SCHEMA, resources={"other.json": {"enum": ["x"]}}, cache=cache),
        gd.compile_json_schema(SCHEMA, resources=RESOURCES, limits=gd.Limits(max_states=1_000), cache=cache),
    ]
    assert len(set(map(id, grammars))) == len(cache) == 4


def test_a_schema_that_was_changed_is_compiled_anew_and_the_old_report_stays(cache: gd.GrammarCache) -> None:
    schema = copy.deepcopy(SCHEMA)
    before = gd.compile_json_schema(schema, resources=RESOURCES, cache=cache)
    schema["title"] = "T"
    after = gd.compile_json_schema(schema, resources=RESOURCES, cache=cache)
    assert "title" not in [entry.keyword for entry in before.report]
    assert "title" in [entry.keyword for entry in after.report]
    assert before.report == gd.compile_json_schema(SCHEMA, resources=RESOURCES, cache=None).report


def test_errors_are_not_remembered_as_grammars(cache: gd.GrammarCache) -> None:
    for _ in range(2):
        with pytest.raises(gd.SchemaError, match="type"):
            gd.compile_json_schema({"type": "text"}, cache=cache)
        with pytest.raises(gd.UnsatisfiableSchema):
            gd.compile_json_schema({"allOf": [{"type": "null"}, {"type": "string"}]}, cache=cache)
        with pytest.raises(gd.SchemaError):
            gd.compile_json_schema({"const": {1, 2}}, cache=cache)
    assert len(cache) == 0


def test_the_number_is_bounded_and_the_least_recently_used_goes() -> None:
    cache = gd.GrammarCache(max_grammars=2)
    first = gd.compile_json_schema({"const": 1}, cache=cache)
    second = gd.compile_json_schema({"const": 2}, cache=cache)
    assert gd.compile_json_schema({"const": 1}, cache=cache) is first
    gd.compile_json_schema({"const": 3}, cache=cache)
    assert len(cache) == 2
    assert gd.compile_json_schema({"const": 1}, cache=cache) is first
    assert gd.compile_json_schema({"const": 2}, cache=cache) is not second


def test_the_memory_is_bounded_by_what_grammars_have_grown_to() -> None:
    @dataclass
    class Value:
        size: int

        def memory_bytes(self) -> int:
            return self.size

    cache: Cache[Value] = Cache(max_entries=100, max_bytes=30 * MEASURED_EVERY)
    values = [Value(30) for _ in range(MEASURED_EVERY)]
    for i, value in enumerate(values):
        cache.add(i, value)
    assert len(cache) == MEASURED_EVERY
    values[1].size = 60
    for i in range(MEASURED_EVERY):
        cache.add(-1 - i, Value(1 if i else 5))
    kept = [i for i in range(MEASURED_EVERY) if cache.get(i) is not None]
    assert kept == list(range(2, MEASURED_EVERY))  # 60 and 30 bytes had to go for 20
    for i in range(MEASURED_EVERY):
        cache.add(("large", i), Value(10_000))
    assert len(cache) == 0


def test_a_grammar_grows_by_the_masks_that_it_remembers() -> None:
    grammar = gd.compile_json_schema({"type": "array", "items": {"type": "integer"}}, cache=None)
    vocab = gd.Vocabulary([bytes([b]) for b in range(256)] + [None], stop_token_ids=[256])
    before = grammar.memory_bytes()
    matcher = gd.GrammarMatcher(grammar, vocab)
    matcher.fill_next_token_bitmask(gd.allocate_token_bitmask(1, vocab.size))
    assert matcher.accept_bytes(b"[1,2")
    assert grammar.memory_bytes() > before >= len(grammar.to_bytes()) // 4


def test_clear_and_no_cache(cache: gd.GrammarCache) -> None:
    first = gd.compile_json_schema({"const": 1}, cache=cache)
    assert gd.compile_json_schema({"const": 1}, cache=None) is not first
    cache.clear()
    assert (len(cache), cache.hits, cache.misses) == (0, 0, 0)
    assert gd.compile_json_schema({"const": 1}, cache=cache) == first
    assert gd.compile_json_schema({"const": 1}) is gd.compile_json_schema({"const": 1})
    assert len(gd.grammar_cache) > 0


def test_content_is_linear_where_parts_are_shared_and_runs_no_foreign_code() -> None:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(60):
        schema = {"anyOf": [schema, schema]}
    content = content_of(schema)
    assert content is not None
    assert len(content) < 10_000
    loaded = value_of(content)
    assert loaded["anyOf"][0] is loaded["anyOf"][1]

    class Loud:
        def __reduce__(self) -> Any:
            raise AssertionError("called")

    assert content_of({"const": Loud()}) is None
    assert content_of({"const": lambda: 0}) is None
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert content_of(deep) is None


def test_threads_may_share_a_cache(cache: gd.GrammarCache) -> None:
    found: list[gd.Grammar] = []

    def work() -> None:
        found.extend(gd.compile_json_schema({"const": i % 8}, cache=cache) for i in range(40))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 160
    assert len(cache) == 8


def test_an_interpreter_that_ends_leaves_no_kernel_objects() -> None:
    code = "import grammar_decode as gd; gd.compile_json_schema({}); assert len(gd.grammar_cache) == 1"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
