"""The report says what became of every keyword, and the table knows all keywords that the reader enforces."""

from __future__ import annotations

import pytest

from grammar_decode.json_schema import Entry, JsonOptions, Outcome, Report, compile_schema
from grammar_decode.json_schema.keywords import TABLE, Dialect, keywords_of
from grammar_decode.json_schema.read import _METHODS


def report_of(schema: object, **options: str | bool) -> dict[tuple[str, str], Entry]:
    _, report = compile_schema(schema, JsonOptions(**options))  # type: ignore[arg-type]
    return {(entry.location, entry.keyword): entry for entry in report.entries}


def test_every_keyword_that_was_reached_has_an_entry() -> None:
    entries = report_of(
        {
            "title": "t",
            "type": "object",
            "properties": {"a": {"type": "string", "x-hint": 1}},
            "$defs": {"b": {"type": "null"}},
        }
    )
    assert {key: entry.outcome for key, entry in entries.items()} == {
        ("#", "title"): Outcome.ANNOTATION,
        ("#", "type"): Outcome.ENFORCED,
        ("#", "properties"): Outcome.ENFORCED,
        ("#/properties/a", "type"): Outcome.ENFORCED,
        ("#/properties/a", "x-hint"): Outcome.ANNOTATION,
    }


def test_unknown_format_is_an_annotation() -> None:
    entry = report_of({"type": "string", "format": "phone"})["#", "format"]
    assert entry.outcome is Outcome.ANNOTATION
    assert "phone" in entry.detail


def test_ignored_siblings_of_a_reference_are_annotations() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "type": "string",
              "definitions": {"a": {"type": "null"}}}  # fmt: skip
    assert report_of(schema)["#", "type"].outcome is Outcome.ANNOTATION
    assert report_of(schema)["#", "$ref"].outcome is Outcome.ENFORCED


def test_a_keyword_of_another_dialect_is_an_annotation() -> None:
    entry = report_of({"$schema": "http://json-schema.org/draft-04/schema#", "const": 1})["#", "const"]
    assert entry.outcome is Outcome.ANNOTATION
    assert "dialect" in entry.detail


def test_an_unknown_dialect_is_named() -> None:
    inner = {"$id": "http://a.example/b", "$schema": "https://a.example/mine#x", "type": "null"}
    entries = report_of({"$schema": "https://a.example/mine", "properties": {"a": inner}})
    assert [entry.location for entry in entries.values() if entry.keyword == "$schema"] == ["#", "#/properties/a"]
    assert "not a known dialect" in entries["#", "$schema"].detail
    assert ("#", "$schema") not in report_of({"$schema": "http://json-schema.org/draft-07/schema#"})


@pytest.mark.parametrize(
    ("pattern", "notes"),
    [
        (r"\A[0-9]{,3}\Z", ["\\A is the letter A", "{,3} is these characters", "\\Z is the letter Z"]),
        (r"[[:alpha:]]", ["[:alpha:] is these characters"]),
        (r"\\A[\A{,3}]x{0,3}[^\]]", []),
    ],
)
def test_what_other_dialects_of_patterns_mean_is_told(pattern: str, notes: list[str]) -> None:
    for entries, keyword in (
        (report_of({"pattern": pattern}), "pattern"),
        (report_of({"patternProperties": {pattern: {}}}), "patternProperties"),
    ):
        entry = entries["#", keyword]
        assert entry.outcome is Outcome.ENFORCED
        told = entry.detail.split("; ") if entry.detail else []
        assert len(told) == len(notes)
        assert all(part.startswith(note) for part, note in zip(told, notes, strict=True))


def test_keys_are_restricted_where_every_escape_is_asked_for() -> None:
    assert report_of({"properties": {"a": {}}}, escapes="any")["#", "properties"].outcome is Outcome.RESTRICTED


def test_report_round_trips_through_json() -> None:
    _, report = compile_schema({"title": "t", "minimum": 3})
    assert Report.from_json(report.to_json()) == report


def test_constants_inside_an_enum_are_not_keywords() -> None:
    assert set(report_of({"enum": [{"type": 1}, [2]]})) == {("#", "enum")}


def test_table_and_reader_agree() -> None:
    rows = {row.name: row for row in TABLE}
    # Read together with another keyword.
    beside = {"then", "else", "minContains", "maxContains", "nullable", "discriminator"}
    assert set(_METHODS) <= rows.keys()
    acted_on = {name for name, row in rows.items() if row.outcome in ("enforced", "unsupported")}
    assert acted_on == set(_METHODS) | beside


def test_each_dialect_knows_its_own_keywords() -> None:
    assert "const" not in keywords_of(Dialect.DRAFT4)
    assert "const" in keywords_of(Dialect.DRAFT6)
    assert "if" not in keywords_of(Dialect.DRAFT6)
    assert "prefixItems" not in keywords_of(Dialect.DRAFT2019)
    assert "additionalItems" not in keywords_of(Dialect.DRAFT2020)
    assert {"prefixItems", "additionalItems", "dependencies", "if"} <= keywords_of(Dialect.DEFAULT).keys()


def test_a_property_that_nothing_satisfies_is_reported() -> None:
    never = {"type": "string", "minLength": 3, "maxLength": 2}
    schema = {"properties": {"a": {}, "b": never, "c": {"$ref": "#/$defs/n"}}, "$defs": {"n": never}}
    entry = report_of(schema)["#", "properties"]
    assert (entry.outcome, entry.detail) == (
        Outcome.ENFORCED,
        "no value satisfies #/properties/b, #/properties/c",
    )


def test_an_array_whose_items_nothing_satisfies_is_reported() -> None:
    assert "#/items" in report_of({"items": {"type": "null", "const": 1}})["#", "items"].detail


def test_what_the_schema_forbids_in_so_many_words_is_not_reported() -> None:
    schema = {"properties": {"a": False}, "additionalProperties": False, "items": False}
    assert {entry.detail for entry in report_of(schema).values()} == {""}


def test_an_alternative_that_nothing_satisfies_leaves_the_property_possible() -> None:
    never = {"type": "string", "minLength": 3, "maxLength": 2}
    schema = {"anyOf": [{"properties": {"a": never}}, {"properties": {"a": {"type": "null"}}}]}
    assert report_of(schema)["#/anyOf/1", "properties"].detail == ""


def test_every_occurrence_of_every_keyword_has_an_entry() -> None:
    """Also where two schemas say the same, and inside keywords that say nothing here."""
    same = {"type": "string", "minLength": 2, "title": "t"}
    schema = {
        "allOf": [{"properties": {"a": same, "b": dict(same)}}, {"not": {"required": ["c"]}}],
        "if": {"properties": {"a": {"const": "xy"}}},
        "then": {"patternProperties": {"^x": {"format": "date"}}, "propertyNames": {"maxLength": 9}},
        "else": {"dependentSchemas": {"a": {"unevaluatedProperties": {"contains": {"minimum": 3}}}}},
        "items": {"prefixItems": [{"multipleOf": 2}], "items": {"enum": [1]}},
    }

    def occurrences(value: object, location: str) -> set[tuple[str, str]]:
        found = set()
        if isinstance(value, dict):
            found = {(location, keyword) for keyword in value}
            for keyword, inner in value.items():
                at = f"{location}/{keyword}"
                if keyword in ("properties", "patternProperties", "dependentSchemas"):
                    for name, each in inner.items():
                        found |= occurrences(each, f"{at}/{name}")
                elif isinstance(inner, list):
                    for i, each in enumerate(inner):
                        found |= occurrences(each, f"{at}/{i}")
                else:
                    found |= occurrences(inner, at)
        return found

    assert set(report_of(schema)) == occurrences(schema, "#")


def test_a_schema_that_is_like_another_one_is_reported_where_only_a_reference_leads_to_it() -> None:
    number = {"type": "integer", "minimum": 3}
    alternatives = [{"properties": {"a": {"$ref": "#/$defs/one"}}}, {"properties": {"b": {"$ref": "#/$defs/two"}}}]
    entries = report_of({"type": "object", "anyOf": alternatives, "$defs": {"one": number, "two": dict(number)}})
    assert ("#/$defs/one", "minimum") in entries
    assert ("#/$defs/two", "minimum") in entries


def test_a_printed_report_has_one_line_for_each_keyword_with_its_pointer() -> None:
    _, report = compile_schema({"properties": {"a/b": {"type": "string", "minLenght": 3}}})
    assert str(report).splitlines() == [
        "#/properties: enforced",
        "#/properties/a~1b/type: enforced",
        "#/properties/a~1b/minLenght: annotation (not a keyword of this dialect)",
    ]
    assert str(Report(())) == "no keywords"
