"""Compilation is bounded: a schema compiles, or is refused with limit and location; nothing grows with a maximum.

No test here is timed: what is not bounded does not come back (some of these took minutes, or would have taken years).
"""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import grammar_decode as gd

TOKENS = [*(bytes((b,)) for b in range(256)), None]
BYTES = gd.Vocabulary(TOKENS, stop_token_ids=[256])
MILLION = 1_000_000
JUNCTIONS = ("allOf", "anyOf", "oneOf")


def accepts(grammar: gd.Grammar, text: str) -> bool:
    matcher = gd.GrammarMatcher(grammar, BYTES)
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def compiled_or_refused(schema: Any) -> gd.Grammar | gd.SchemaError:
    try:
        return gd.compile_json_schema(schema)
    except gd.SchemaTooComplex as error:
        assert error.limit in str(gd.Limits())  # noqa: PT017
        return error
    except gd.UnsatisfiableSchema as error:
        return error


def inside_each_other(keyword: str, innermost: Any, others: list[Any], depth: int = 100) -> Any:
    """``depth`` times the keyword, each time with the last one and nine other branches."""
    schema = innermost
    for _ in range(depth):
        schema = {keyword: [schema, *others]}
    return schema


def conditions_on_objects(keyword: str) -> Any:
    schema: Any = {"type": "integer"}
    for level in range(100):
        other = {"type": "object", "required": [f"p{level}"]}
        schema = {keyword: [schema, *({**other, "properties": {f"p{level}": {"const": i}}} for i in range(9))]}
    return schema


def bounds_of_numbers(keyword: str) -> Any:
    return inside_each_other(keyword, {"minimum": 0}, [{"multipleOf": 2 + i} for i in range(9)])


def patterns_of_strings(keyword: str) -> Any:
    return inside_each_other(keyword, {"minLength": 1}, [{"pattern": f"a{i}"} for i in range(9)])


def the_same_reference(keyword: str) -> Any:
    """Each level names the next one ten times: 10^100 paths."""
    levels = {f"l{i}": {keyword: [{"$ref": f"#/$defs/l{i + 1}"}] * 10} for i in range(100)}
    return {"$ref": "#/$defs/l0", "$defs": {**levels, "l100": {"type": "object"}}}


@pytest.mark.parametrize("keyword", JUNCTIONS)
@pytest.mark.parametrize(
    "schema_of", [conditions_on_objects, bounds_of_numbers, patterns_of_strings, the_same_reference]
)
def test_a_hundred_junctions_of_ten_branches_inside_each_other(schema_of: Any, keyword: str) -> None:
    outcome = compiled_or_refused(schema_of(keyword))
    if isinstance(outcome, gd.SchemaTooComplex):
        assert keyword != "allOf"
        assert outcome.location is not None
    elif isinstance(outcome, gd.UnsatisfiableSchema):
        # All of an integer and objects; exactly one of ten times the same.
        assert (schema_of, keyword) in ((conditions_on_objects, "allOf"), (the_same_reference, "oneOf"))
    else:
        assert accepts(outcome, {conditions_on_objects: "5", bounds_of_numbers: "0"}.get(schema_of, '{"a": 1}'))


OVERLAPPING = {
    "a property of any of them": {
        "patternProperties": {f"{chr(97 + i % 26)}.{chr(97 + i // 26)}": {} for i in range(50)}
    },
    "each with its schema": {
        "patternProperties": {f"{chr(97 + i % 26)}.{chr(97 + i // 26)}": {"minimum": i} for i in range(50)}
    },
    "all of one string": {"type": "string", "allOf": [{"pattern": f"{chr(97 + i % 26)}.{i}"} for i in range(50)]},
    "none of one string": {"type": "string", "not": {"anyOf": [{"pattern": f"a.{i}"} for i in range(50)]}},
    "long, with a pattern": {"type": "string", "minLength": MILLION, "pattern": "[a-z]+-[a-z]+"},
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_fifty_overlapping_patterns(name: str) -> None:
    outcome = compiled_or_refused({"properties": {"a/b": OVERLAPPING[name]}, "required": ["a/b"]})
    if isinstance(outcome, gd.SchemaTooComplex):
        assert outcome.location == "#/properties/a~1b"
    else:
        assert isinstance(outcome, gd.Grammar)
        assert not accepts(outcome, "{}")


MAXIMA = [
    ({"type": "array", "items": {"type": "integer"}}, "maxItems", "[1, 2]"),
    ({"type": "array", "contains": {"const": 1}, "minContains": 2}, "maxContains", "[1, 1, 2]"),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, "maxProperties", '{"a": 1, "b": 2}'),
    ({"type": "string"}, "maxLength", '"abc"'),
    ({"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"}, "maxLength", '"ab-cd"'),
]


@pytest.mark.parametrize(("schema", "keyword", "text"), MAXIMA, ids=lambda value: str(value)[:40])
def test_nothing_grows_with_a_maximum(schema: dict[str, Any], keyword: str, text: str) -> None:
    sizes = []
    for maximum in (MILLION, 1_000 * MILLION):
        grammar = gd.compile_json_schema({**schema, keyword: maximum})
        # Its own vocabulary, because the tables of terminals are shared.
        matcher = gd.GrammarMatcher(grammar, gd.Vocabulary(TOKENS, stop_token_ids=[256]))
        bitmask = gd.allocate_token_bitmask(1, BYTES.size)
        for byte in text.encode():
            matcher.fill_next_token_bitmask(bitmask)
            assert matcher.accept_token(byte)
        assert matcher.is_accepting()
        sizes.append((len(grammar.to_bytes()), matcher._matcher.engine_memory_bytes()))
    small = gd.compile_json_schema({**schema, keyword: 3})
    assert abs(sizes[0][0] - len(small.to_bytes())) < 16  # the number itself
    assert abs(sizes[1][0] - sizes[0][0]) < 16
    assert sizes[0][1] == sizes[1][1] < 1_000_000


@pytest.mark.parametrize("keyword", ["minItems", "minLength", "minProperties"])
def test_a_large_minimum_is_counted(keyword: str) -> None:
    grammar = gd.compile_json_schema({"type": ["array", "string", "object"], keyword: MILLION})
    matcher = gd.GrammarMatcher(grammar, BYTES)
    assert matcher.accept_bytes({"minItems": b"[1, 2, 3", "minLength": b'"abc', "minProperties": b'{"a": 1'}[keyword])
    assert not matcher.accept_bytes(b'"' if keyword == "minLength" else b"]" if keyword == "minItems" else b"}")


def test_an_enum_of_twenty_thousand_strings() -> None:
    grammar = gd.compile_json_schema({"enum": [f"value {i * 7919 % 20_000}" for i in range(20_000)]})
    assert accepts(grammar, '"value 19999"')
    assert not accepts(grammar, '"value 20000"')


def test_not_one_of_twenty_thousand_strings() -> None:
    grammar = gd.compile_json_schema({"type": "string", "not": {"enum": [f"v{i}" for i in range(20_000)]}})
    assert accepts(grammar, '"v20000"')
    assert not accepts(grammar, '"v19999"')


def test_ten_thousand_properties() -> None:
    names = [f"p{i}" for i in range(10_000)]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    grammar = gd.compile_json_schema(schema)
    assert accepts(grammar, '{"p9999": 1, "p0": 2, "other": "x"}')
    assert not accepts(grammar, '{"p9999": "x"}')
    everything = gd.compile_json_schema({**schema, "required": names, "additionalProperties": False})
    matcher = gd.GrammarMatcher(everything, BYTES)
    assert matcher.accept_bytes(b'{"p9999": 1')
    assert not matcher.accept_bytes(b"}")
    assert matcher.accept_bytes(b', "p0": 2')


@pytest.mark.parametrize(("size", "closed"), [(60, False), (100, True), (300, False)])
def test_one_of_many_objects_told_apart_by_one_property(size: int, closed: bool) -> None:
    def branch(i: int) -> dict[str, Any]:
        own = {f"f{i}_{j}": {"type": "string"} for j in range(3)}
        properties = {"kind": {"const": f"k{i}"}, **own, "common": {"type": "integer"}}
        more = {"additionalProperties": False} if closed else {}
        return {"type": "object", "properties": properties, "required": ["kind"], **more}

    grammar = gd.compile_json_schema({"oneOf": [branch(i) for i in range(size)]})
    assert accepts(grammar, '{"f7_0": "x", "kind": "k7", "f7_1": "x", "common": 1}')
    assert not accepts(grammar, '{"f7_0": 1, "kind": "k7"}')
    assert accepts(grammar, '{"kind": "k7", "f6_0": 1}') != closed
    assert not accepts(grammar, f'{{"kind": "k{size}"}}')
    assert not accepts(grammar, "{}")


def test_branches_that_share_a_tag_still_exclude_each_other() -> None:
    """The tag says that two branches can't both hold only where its values differ."""
    tags = [f"k{i}" for i in range(12)]
    branches = [{"properties": {"kind": {"const": tag}}, "required": ["kind"]} for tag in tags]
    again = {"properties": {"kind": {"enum": ["k3", "k4"]}, "n": {"type": "integer"}}, "required": ["kind", "n"]}
    grammar = gd.compile_json_schema({"oneOf": [*branches, again]})
    assert [accepts(grammar, text) for text in ('{"kind":"k3"}', '{"kind":"k3","n":1}', '{"kind":"k3","n":"x"}')] == [
        True, False, True
    ]  # fmt: skip
    assert accepts(grammar, '{"kind":"k5","n":1}')


HUGE = 2**31 - 1
ALIKE = {"anyOf": [{"enum": [[1]]}, {"type": "null"}]}
ONE = {"type": "array", "prefixItems": [{"const": 1}], "minItems": 1, "maxItems": 1}


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ({"items": ALIKE}, gd.UnsatisfiableSchema),  # two values for as many places
        (
            {"items": {"type": "array", "prefixItems": [{"const": 1}], "minItems": 1, "maxItems": 1}},
            gd.UnsatisfiableSchema,
        ),
        ({"prefixItems": [{"const": 1}], "items": ALIKE}, gd.UnsatisfiableSchema),
        ({"prefixItems": [{"const": 1}], "items": {"type": "integer"}}, None),
        ({"items": ALIKE, "contains": {"type": "null"}}, gd.UnsatisfiableSchema),
    ],
)
def test_the_places_of_a_huge_minimum_of_distinct_items_are_not_made_one_by_one(schema: Any, error: Any) -> None:
    schema = {"type": "array", "uniqueItems": True, "minItems": HUGE, **schema}
    limits = gd.Limits(max_memory_bytes=64 << 20)
    if error is None:
        with contextlib.suppress(gd.SchemaTooComplex):
            gd.compile_json_schema(schema, limits=limits)
    else:
        with pytest.raises((error, gd.SchemaTooComplex)):
            gd.compile_json_schema(schema, limits=limits)


def test_a_minimum_is_counted_exactly_or_refused() -> None:
    for keyword, kind in (("minItems", "array"), ("minProperties", "object"), ("minLength", "string")):
        gd.compile_json_schema({"type": kind, keyword: HUGE})
        for everyday in ({}, {"not": {"const": 1}}):
            with pytest.raises(gd.UnsupportedSchema, match="minimum"):
                gd.compile_json_schema({"type": kind, keyword: HUGE + 1, **everyday})
