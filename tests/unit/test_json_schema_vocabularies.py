"""`$vocabulary`: a metaschema of `resources=` says which keywords mean something. Core specification, section 8.1.2."""

from __future__ import annotations

from typing import Any

import pytest

from grammar_decode.errors import UnsupportedSchema
from grammar_decode.json_schema import JsonOptions, Outcome, compile_schema
from grammar_decode.json_schema.document import _metaschemas
from grammar_decode.json_schema.keywords import DIALECTS, TABLE, VOCABULARIES, keywords_of
from grammar_decode.reference import accepts

OURS = "https://example.com/metaschema"
DRAFTS = {2019: "https://json-schema.org/draft/2019-09/", 2020: "https://json-schema.org/draft/2020-12/"}


def metaschema(year: int, *names: str, **more: bool) -> dict[str, Any]:
    listed = {f"{DRAFTS[year]}vocab/{name}": True for name in names}
    return {"$id": OURS, "$schema": f"{DRAFTS[year]}schema", "$vocabulary": {**listed, **more}}


def holds(schema: dict[str, Any], text: str, meta: dict[str, Any], **options: Any) -> bool:
    schema = {"$schema": OURS, **schema}
    grammar, _ = compile_schema(schema, JsonOptions(**options), resources={OURS: meta})
    return accepts(grammar, text.encode())


@pytest.mark.parametrize("year", [2019, 2020])
def test_keywords_of_a_vocabulary_that_is_not_listed_are_annotations(year: int) -> None:
    schema = {"$schema": OURS, "properties": {"a": {"minimum": 10, "type": "string"}, "b": False}}
    meta = metaschema(year, "core", "applicator")
    assert holds(schema, '{"a": 1}', meta)
    assert not holds(schema, '{"b": 1}', meta)
    _, report = compile_schema(schema, resources={OURS: meta})
    entry = {(entry.location, entry.keyword): entry for entry in report}["#/properties/a", "minimum"]
    assert (entry.outcome, "vocabularies" in entry.detail) == (Outcome.ANNOTATION, True)
    assert not holds(schema, '{"a": 1}', metaschema(year, "core", "applicator", "validation"))


def test_a_known_vocabulary_counts_also_where_it_is_not_required() -> None:
    meta = metaschema(2020, "core", **{f"{DRAFTS[2020]}vocab/validation": False})
    assert not holds({"type": "null"}, "1", meta)


def test_an_unknown_vocabulary_is_ignored_unless_it_is_required() -> None:
    assert not holds({"type": "null"}, "1", metaschema(2020, "core", "validation", **{"https://example.com/v": False}))
    with pytest.raises(UnsupportedSchema, match=r"'https://example\.com/v', which is not known") as caught:
        holds({}, "1", metaschema(2020, "core", **{"https://example.com/v": True}))
    assert caught.value.location == "#/$schema"


def test_an_unknown_vocabulary_of_a_resource_refuses_where_that_is_used() -> None:
    meta = metaschema(2020, **{"https://example.com/v": True})
    resources = {"https://example.com/x": {"$schema": OURS}, OURS: meta}
    compile_schema({"$ref": "https://example.com/y"}, resources={**resources, "https://example.com/y": {}})
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema({"$ref": "https://example.com/x"}, resources=resources)
    assert caught.value.location == "https://example.com/x#/$schema"


def test_draft_3_is_refused_in_resources_too() -> None:
    old = {"$schema": "http://json-schema.org/draft-03/schema#", "type": "any"}
    with pytest.raises(UnsupportedSchema, match="draft 3") as caught:
        compile_schema({"$ref": "https://example.com/x"}, resources={"https://example.com/x": old})
    assert caught.value.location == "https://example.com/x#/$schema"


@pytest.mark.parametrize("name", ["format-annotation", "format-assertion"])
def test_format_needs_one_of_its_vocabularies(name: str) -> None:
    assert not holds({"format": "ipv4"}, '"soon"', metaschema(2020, "core", name))
    assert holds({"format": "ipv4"}, '"soon"', metaschema(2020, "core"))


def test_contains_does_not_read_bounds_of_a_vocabulary_that_is_not_listed() -> None:
    schema = {"contains": {"const": 1}, "minContains": 0}
    assert holds(schema, "[]", metaschema(2020, "core", "applicator", "validation"))
    assert not holds(schema, "[]", metaschema(2020, "core", "applicator"))


def test_a_metaschema_without_vocabularies_has_those_of_its_own_metaschema() -> None:
    meta = {"$id": OURS, "$schema": "http://json-schema.org/draft-04/schema#"}
    assert holds({"const": 1}, "2", meta)  # draft 4 has no const
    assert not holds({"const": 1}, "2", {"$id": OURS, "$schema": "http://json-schema.org/draft-06/schema#"})


def test_metaschemas_that_name_each_other_are_no_endless_search() -> None:
    other = "https://example.com/other"
    resources = {OURS: {"$schema": other}, other: {"$schema": OURS}}
    grammar, _ = compile_schema({"$schema": OURS, "type": "null"}, resources=resources)
    assert accepts(grammar, b"null")


def test_equal_words_in_embedded_resources_are_not_equal_schemas() -> None:
    boxes = [{"properties": {"v": {"$id": f"https://{host}.example/x", "$ref": "value"}}} for host in "ab"]
    schema = {"anyOf": [{"prefixItems": [box]} for box in boxes]}
    resources = {"https://a.example/value": {"const": 1}, "https://b.example/value": {"const": 2}}
    grammar, _ = compile_schema(schema, resources=resources)
    assert [accepts(grammar, text) for text in (b'[{"v":1}]', b'[{"v":2}]', b'[{"v":3}]')] == [True, True, False]


@pytest.mark.parametrize("year", [2019, 2020])
def test_the_vocabularies_are_those_of_the_metaschemas(year: int) -> None:
    registry = pytest.importorskip("jsonschema_specifications").REGISTRY
    standard = registry.contents(f"{DRAFTS[year]}schema")
    for name, keywords in VOCABULARIES[year].items():
        stated = set(registry.contents(f"{DRAFTS[year]}meta/{name}")["properties"])
        assert keywords - {"definitions"} == stated
    required = {uri.rpartition("/")[2] for uri in standard["$vocabulary"]}
    assert required <= VOCABULARIES[year].keys()


def test_metaschemas_are_those_of_the_package() -> None:
    registry = pytest.importorskip("jsonschema_specifications").REGISTRY
    assert _metaschemas() == {uri: registry.contents(uri) for uri in registry}


def test_vocabularies_and_table_agree() -> None:
    for dialect in DIALECTS:
        if dialect.year in VOCABULARIES:
            listed = frozenset().union(*VOCABULARIES[dialect.year].values())
            assert listed == {name for name, row in keywords_of(dialect).items() if not row.openapi}
    assert {row.name for row in TABLE} >= listed
