"""The keywords of values of any type: their types, values as they are, and schemas that look at the same value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from grammar_decode.errors import SchemaError
from grammar_decode.json_schema.claims import ARRAY, BOOLEAN, EVERY_TYPE, NULL, NUMBER, OBJECT, STRING, Has
from grammar_decode.json_schema.document import Json, Schema
from grammar_decode.json_schema.expressions import AllOf, AnyOf, Apply, Conditional, OneOf, Reading
from grammar_decode.json_schema.formula import FALSE, Formula

if TYPE_CHECKING:
    from grammar_decode.json_schema.read import Handler, Reader


#: The types that a name stands for.
TYPE_BITS = {
    "null": NULL,
    "boolean": BOOLEAN,
    "number": NUMBER,
    "integer": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
}
_HINTS = {
    "any": "Leave 'type' out to admit every type.",
    "int": "Write 'integer'.",
    "float": "Write 'number'.",
    "double": "Write 'number'.",
    "str": "Write 'string'.",
    "text": "Write 'string'.",
    "bool": "Write 'boolean'.",
    "list": "Write 'array'.",
    "dict": "Write 'object'.",
    "none": "Write 'null'.",
}


# ---- any type -------------------------------------------------------------------------------------------------------


def _type(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if isinstance(argument, str):
        bit = TYPE_BITS.get(argument)
        if bit is not None:
            reading.types &= bit | _nullable(reader, schema)
            if argument == "integer":
                reading.parts.append((NUMBER, reader.integral))
            return
    names = argument if isinstance(argument, list) else [argument]
    types = _nullable(reader, schema)
    for name in names:
        bit = TYPE_BITS.get(name) if isinstance(name, str) else None
        if bit is None:
            hint = _HINTS.get(name.lower()) if isinstance(name, str) else None
            raise reader.wrong(schema, "type", "one or several of " + ", ".join(map(repr, TYPE_BITS)), name, hint)
        types |= bit
    reading.types &= types
    if "integer" in names and "number" not in names:
        reading.parts.append((NUMBER, reader.integral))


def _nullable(reader: Reader, schema: Schema) -> int:
    """OpenAPI 3.0.3, "Schema Object": it adds null to the types, only where `type` is there; `enum` has its own say."""
    argument = schema.value.get("nullable", False) if reader.options.openapi else False
    if not isinstance(argument, bool):
        raise reader.wrong(schema, "nullable", "true or false", argument)
    return NULL if argument else 0


def _enum(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if not isinstance(argument, list):
        raise reader.wrong(schema, "enum", "an array", argument)
    reader.check_length(schema, "enum", argument, "max_enum")
    _add(reading, reader.values(schema, argument, lambda i: ("enum", i)))


def _const(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    _add(reading, reader.values(schema, [argument], lambda _: ("const",)))


def _add(reading: Reading, more: Reading) -> None:
    reading.types &= more.types
    reading.parts += more.parts


# ---- schemas that look at the same value ----------------------------------------------------------------------------


def _ref(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if not isinstance(argument, str):
        raise reader.wrong(schema, "$ref", "a string", argument)
    reading.apply(EVERY_TYPE, Apply(reader.document.reference(schema, argument)))


def _dynamic_ref(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if not isinstance(argument, str):
        raise reader.wrong(schema, "$dynamicRef", "a string", argument)
    reading.apply(EVERY_TYPE, Apply(reader.document.dynamic_reference(schema, argument)))


def _recursive_ref(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if not isinstance(argument, str):
        raise reader.wrong(schema, "$recursiveRef", "a string", argument)
    reading.apply(EVERY_TYPE, Apply(reader.document.recursive_reference(schema, argument)))


def _all_of(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    literals = reader.schemas(schema, "allOf", argument)
    for literal in literals:
        reading.apply(EVERY_TYPE, Apply(literal))


def _any_of(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    literals = reader.schemas(schema, "anyOf", argument)
    ties = _ties(reader, schema, argument)
    if ties:
        tied = tuple(AllOf((tie, Apply(literal))) for tie, literal in zip(ties, literals, strict=True))
        reading.apply(OBJECT, AnyOf(tied))
        reading.apply(EVERY_TYPE ^ OBJECT, AnyOf(tuple(Apply(literal) for literal in literals)))
    elif len(literals) == 1:
        reading.apply(EVERY_TYPE, Apply(literals[0]))
    else:
        reading.apply(EVERY_TYPE, AnyOf(tuple(Apply(literal) for literal in literals)))


def _one_of(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    literals = reader.schemas(schema, "oneOf", argument)
    ties = _ties(reader, schema, argument)
    reading.apply(EVERY_TYPE, Apply(literals[0]) if len(literals) == 1 and not ties else OneOf(literals, ties))


def _ties(reader: Reader, schema: Schema, alternatives: list[Json]) -> tuple[Formula, ...]:
    """What `discriminator` says beside each of the alternatives: the property is there, and names this one.

    OpenAPI 3.0.3, "Discriminator Object". An alternative is called by the keys of `mapping` that lead to it, or, where
    there are none, by the last segment of its reference; one that is no reference has no name, so no object can be it.
    """
    if not reader.options.openapi or "discriminator" not in schema.value:
        return ()
    argument = reader.mapping(schema, "discriminator", schema.value["discriminator"])
    name = argument.get("propertyName")
    if not isinstance(name, str):
        raise reader.wrong(schema, "discriminator", "an object with a string 'propertyName'", argument)
    mapping = reader.mapping(schema, "discriminator", argument.get("mapping", {}))
    formulas, document = reader.formulas, reader.document
    ties = []
    for names in _names(alternatives, mapping, schema.scope.base):
        if names:
            literal = document.made(schema, {"enum": names}, "discriminator")
            ties.append(formulas.conjunction([formulas.claim(Has(name)), formulas.member(name, literal)]))
        else:
            ties.append(FALSE)
    if all(tie == FALSE for tie in ties):
        raise SchemaError(
            "'discriminator' tells references apart, and none of the alternatives is one",
            location=schema.at("discriminator"),
        )
    return tuple(ties)


def _names(alternatives: list[Json], mapping: Mapping[str, Json], base: str) -> list[list[Json]]:
    """What each alternative is called; no name is given twice."""
    references = [alternative.get("$ref") if isinstance(alternative, dict) else None for alternative in alternatives]
    targets = [urljoin(base, target) if isinstance(target, str) else None for target in references]
    implicit = [target.rpartition("/")[2] if isinstance(target, str) else None for target in references]
    names: list[list[Json]] = [[] for _ in alternatives]
    for value, target in mapping.items():
        if isinstance(target, str):
            for i, called in enumerate(implicit):
                if target == called or urljoin(base, target) == targets[i]:
                    names[i].append(value)
                    break
    for i, called in enumerate(implicit):
        if not names[i] and called and called not in mapping and called not in implicit[:i]:
            names[i].append(called)
    return names


def _not(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    reading.apply(EVERY_TYPE, Apply(reader.document.child(schema, argument, "not") ^ 1))


def _if(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if "then" not in schema.value and "else" not in schema.value:
        return
    child = reader.document.child
    then = child(schema, schema.value.get("then", True), "then")
    otherwise = child(schema, schema.value.get("else", True), "else")
    reading.apply(EVERY_TYPE, Conditional(child(schema, argument, "if"), then, otherwise))


METHODS: dict[str, Handler] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "$ref": _ref,
    "$dynamicRef": _dynamic_ref,
    "$recursiveRef": _recursive_ref,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}
