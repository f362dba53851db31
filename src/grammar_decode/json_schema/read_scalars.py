"""The keywords of numbers and strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammar_decode.errors import UnsupportedSchema
from grammar_decode.json_schema.claims import NUMBER, STRING, Bound, Format, Integral, Multiple, Pattern
from grammar_decode.json_schema.document import Json, Schema
from grammar_decode.json_schema.expressions import Reading
from grammar_decode.json_schema.formats import NUMBER_FORMATS, STRING_FORMATS, is_openapi
from grammar_decode.json_schema.keywords import Dialect

if TYPE_CHECKING:
    from grammar_decode.json_schema.read import Handler, Reader


# ---- numbers --------------------------------------------------------------------------------------------------------


def _bound(keyword: str, upper: bool) -> Handler:
    boolean = "exclusiveMaximum" if upper else "exclusiveMinimum"

    def inclusive_bound(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
        inclusive = schema.value.get(boolean) is not True
        value = reader.decimal(schema, keyword, argument)
        reading.parts.append((NUMBER, reader.formulas.claim(Bound(value, upper, inclusive))))

    return inclusive_bound


def _exclusive_bound(keyword: str, upper: bool) -> Handler:
    def exclusive_bound(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
        dialect = schema.scope.dialect
        if isinstance(argument, bool) and dialect in (Dialect.DRAFT4, Dialect.DEFAULT):
            return  # draft 4: it belongs to the bound beside it
        value = reader.decimal(schema, keyword, argument)
        reading.parts.append((NUMBER, reader.formulas.claim(Bound(value, upper, False))))

    return exclusive_bound


def _multiple_of(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    value = reader.decimal(schema, "multipleOf", argument)
    if value <= 0:
        raise reader.wrong(schema, "multipleOf", "a number above 0", argument)
    claim = reader.formulas.claim(Multiple(value, True))
    reading.parts.append((NUMBER, reader.claim_at(schema, "multipleOf", claim)))


# ---- strings --------------------------------------------------------------------------------------------------------


def _min_length(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    reading.parts.append((STRING, reader.formulas.length(reader.count(schema, "minLength", argument), None)))


def _max_length(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    reading.parts.append((STRING, reader.formulas.length(0, reader.count(schema, "maxLength", argument))))


def _pattern(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if not isinstance(argument, str):
        raise reader.wrong(schema, "pattern", "a string", argument)
    reader.check_length(schema, "pattern", argument, "max_pattern")
    claim = reader.formulas.claim(Pattern(argument, True))
    reading.parts.append((STRING, reader.claim_at(schema, "pattern", claim)))


def _format(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
    if not isinstance(argument, str):
        raise reader.wrong(schema, "format", "a string", argument)
    if reader.options.formats == "ignore":
        return
    if argument in STRING_FORMATS and (reader.options.openapi or not is_openapi(argument)):
        claim = reader.formulas.claim(Format(argument, True))
        reading.parts.append((STRING, reader.claim_at(schema, "format", claim)))
    elif argument in NUMBER_FORMATS:
        numbers = NUMBER_FORMATS[argument]
        claims: list[Integral | Bound] = [Integral(True)] if numbers.integer else []
        if numbers.limits is not None:
            claims += [Bound(numbers.limits[0], False, True), Bound(numbers.limits[1], True, True)]
        reading.parts += [(NUMBER, reader.claim_at(schema, "format", reader.formulas.claim(claim))) for claim in claims]
    elif reader.options.formats == "strict":
        raise UnsupportedSchema(
            f"the format {argument!r} is not known",
            location=schema.at("format"),
            hint="Pass openapi=True, which knows it."
            if is_openapi(argument)
            else 'Use formats="assert", which takes unknown formats as annotations.',
        )


METHODS: dict[str, Handler] = {
    "minimum": _bound("minimum", False),
    "maximum": _bound("maximum", True),
    "exclusiveMinimum": _exclusive_bound("exclusiveMinimum", False),
    "exclusiveMaximum": _exclusive_bound("exclusiveMaximum", True),
    "multipleOf": _multiple_of,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
}
