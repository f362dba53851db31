"""The keywords of objects and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grammar_decode.json_schema.claims import (
    ALWAYS,
    ARRAY,
    NEVER,
    OBJECT,
    Has,
    Lacks,
    Literal,
    Matching,
    Order,
    Others,
    Spelled,
    Unique,
)
from grammar_decode.json_schema.document import Json, Schema
from grammar_decode.json_schema.expressions import AnyOf, Apply, Reading, Unevaluated
from grammar_decode.json_schema.keywords import keywords_of

if TYPE_CHECKING:
    from grammar_decode.json_schema.read import Handler, Reader


# ---- objects --------------------------------------------------------------------------------------------------------


def _properties(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    formulas, child = reader.formulas, reader.document.child
    declared = reader.mapping(schema, "properties", argument)
    if not declared:
        return
    parts = reading.parts
    parts.append((OBJECT, formulas.claim(Order(tuple(declared)))))
    for name, inner in declared.items():
        parts.append((OBJECT, formulas.member(name, child(schema, inner, "properties", name))))


def _pattern_properties(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    for pattern, inner in reader.mapping(schema, "patternProperties", argument).items():
        reader.check_length(schema, "patternProperties", pattern, "max_pattern")
        reader.pattern_origins.setdefault(pattern, (schema, "patternProperties"))
        literal = reader.document.child(schema, inner, "patternProperties", pattern)
        reading.parts.append((OBJECT, reader.formulas.member(Matching(pattern), literal)))


def _additional_properties(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    literal = reader.document.child(schema, argument, "additionalProperties")
    if literal == ALWAYS:
        return
    declared = reader.mapping(schema, "properties", schema.value.get("properties", {}))
    patterns = reader.mapping(schema, "patternProperties", schema.value.get("patternProperties", {}))
    keys = Others(frozenset(declared), tuple(sorted(patterns)))
    reading.parts.append((OBJECT, reader.formulas.member(keys, literal)))


def _property_names(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    literal = reader.document.child(schema, argument, "propertyNames")
    if literal != ALWAYS:
        reading.parts.append((OBJECT, reader.formulas.member(Spelled(literal ^ 1), NEVER)))


def _required(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if isinstance(argument, bool):
        raise reader.wrong(
            schema, "required", "an array of strings", argument, "A boolean 'required' is draft 3; list the names."
        )
    claim = reader.formulas.claim
    reading.parts += [(OBJECT, claim(Has(name))) for name in reader.names(schema, "required", argument)]


def _min_properties(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    reading.parts.append((OBJECT, reader.formulas.count_min(reader.count(schema, "minProperties", argument))))


def _max_properties(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    reading.parts.append((OBJECT, reader.formulas.count_max(reader.count(schema, "maxProperties", argument))))


def _depends(reader: Reader, name: str, needed: Sequence[str], reading: Reading) -> None:
    formulas = reader.formulas
    needs = formulas.conjunction([formulas.claim(Has(other)) for other in needed])
    reading.parts.append((OBJECT, formulas.disjunction([formulas.claim(Lacks(name)), needs])))


def _depends_on_schema(reader: Reader, name: str, literal: Literal, reading: Reading) -> None:
    lacks = reader.formulas.claim(Lacks(name))
    reading.apply(OBJECT, AnyOf((lacks, Apply(literal))))


def _dependent_required(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    for name, needed in reader.mapping(schema, "dependentRequired", argument).items():
        _depends(reader, name, reader.names(schema, "dependentRequired", needed), reading)


def _dependent_schemas(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    for name, inner in reader.mapping(schema, "dependentSchemas", argument).items():
        literal = reader.document.child(schema, inner, "dependentSchemas", name)
        _depends_on_schema(reader, name, literal, reading)


def _dependencies(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    for name, inner in reader.mapping(schema, "dependencies", argument).items():
        if isinstance(inner, list):
            _depends(reader, name, reader.names(schema, "dependencies", inner), reading)
        else:
            literal = reader.document.child(schema, inner, "dependencies", name)
            _depends_on_schema(reader, name, literal, reading)


def _unevaluated(keyword: str, json_type: int) -> Handler:
    def unevaluated(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
        literal = reader.document.child(schema, argument, keyword)
        if literal != ALWAYS:
            reading.apply(json_type, Unevaluated(schema.number, literal))

    return unevaluated


# ---- arrays ---------------------------------------------------------------------------------------------------------


def _positions(reader: Reader, schema: Schema, keyword: str, argument: Json, reading: Reading) -> None:
    for i, literal in enumerate(reader.schemas(schema, keyword, argument)):
        reading.parts.append((ARRAY, reader.formulas.item(i, literal)))


def _items(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if isinstance(argument, list) and schema.scope.dialect.year != 2020:
        _positions(reader, schema, "items", argument, reading)
        return
    prefix = schema.value.get("prefixItems", []) if schema.scope.dialect.year >= 2020 else []
    from_index = reader.num_schemas(schema, "prefixItems", prefix)
    literal = reader.document.child(schema, argument, "items")
    reading.parts.append((ARRAY, reader.formulas.rest(from_index, literal)))


def _prefix_items(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    _positions(reader, schema, "prefixItems", argument, reading)


def _additional_items(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    items = schema.value.get("items")
    literal = reader.document.child(schema, argument, "additionalItems")
    if isinstance(items, list):
        reading.parts.append((ARRAY, reader.formulas.rest(len(items), literal)))


def _min_items(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    reading.parts.append((ARRAY, reader.formulas.count_min(reader.count(schema, "minItems", argument))))


def _max_items(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    reading.parts.append((ARRAY, reader.formulas.count_max(reader.count(schema, "maxItems", argument))))


def _contains(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    formulas, value = reader.formulas, schema.value
    literal = reader.document.child(schema, argument, "contains")
    bounded = "minContains" in keywords_of(schema.scope.dialect)
    least = reader.count(schema, "minContains", value["minContains"]) if bounded and "minContains" in value else 1
    reading.parts.append((ARRAY, formulas.some_item(0, literal, least)))
    if bounded and "maxContains" in value:
        most = reader.count(schema, "maxContains", value["maxContains"])
        reading.parts.append((ARRAY, formulas.most_item(0, literal ^ 1, most)))


def _unique_items(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if not isinstance(argument, bool):
        raise reader.wrong(schema, "uniqueItems", "true or false", argument)
    if argument:
        reading.parts.append((ARRAY, reader.claim_at(schema, "uniqueItems", reader.formulas.claim(Unique(True)))))


METHODS: dict[str, Handler] = {
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "required": _required,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "dependencies": _dependencies,
    "unevaluatedProperties": _unevaluated("unevaluatedProperties", OBJECT),
    "items": _items,
    "prefixItems": _prefix_items,
    "additionalItems": _additional_items,
    "minItems": _min_items,
    "maxItems": _max_items,
    "contains": _contains,
    "uniqueItems": _unique_items,
    "unevaluatedItems": _unevaluated("unevaluatedItems", ARRAY),
}
