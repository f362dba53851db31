"""Schema objects to expressions: a `Reader`, and what the methods of the keywords (`read_value.py`, `read_scalars.py`,
`read_containers.py`) have in common.

Nothing here looks at two schema objects at once, or at what is inside a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import TypeAlias

from grammar_decode.errors import SchemaError, SchemaTooComplex, UnsupportedSchema
from grammar_decode.json_schema import read_containers, read_scalars, read_value
from grammar_decode.json_schema.claims import (
    ALWAYS,
    ARRAY,
    BOOLEAN,
    EVERY_TYPE,
    NEVER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Has,
    Integral,
    Literal,
    OneNumber,
    Order,
    Others,
    Text,
    Truth,
)
from grammar_decode.json_schema.decimals import is_finite
from grammar_decode.json_schema.document import Document, Json, Schema, Scope, shown
from grammar_decode.json_schema.expressions import AnyOf, Apply, Expression, Reading
from grammar_decode.json_schema.formula import Formula, Formulas
from grammar_decode.json_schema.keywords import Dialect, keywords_of
from grammar_decode.json_schema.numbers import exact
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.limits import Limits

#: A minimum is less than that: the kernel takes it for the number of strings of a language that has more.
MOST_COUNTED = 2**31

_ALTERNATIVES = frozenset(("allOf", "anyOf", "oneOf"))
#: The keywords that may say of every value that it satisfies another schema; see `Reading.alias`.
_APPLYING = _ALTERNATIVES | {"$ref", "$dynamicRef", "$recursiveRef", "not", "if"}


Handler: TypeAlias = "Callable[[Reader, Schema, Json, Reading], None]"


class Reader:
    """Reads the schema objects of one document; ``origins`` says which schema and keyword a scalar claim came from."""

    def __init__(self, document: Document, formulas: Formulas, options: JsonOptions, limits: Limits) -> None:
        self.document = document
        self.limits = limits
        self.formulas = formulas
        self.options = options
        self.readings: dict[int, Reading] = {}
        self.origins: dict[Formula, tuple[Schema, str]] = {}
        self.pattern_origins: dict[str, tuple[Schema, str]] = {}
        self.integral = formulas.claim(Integral(True))
        self._unions: dict[tuple[Literal, ...], Literal] = {}
        self._scope: Scope | None = None
        self._handlers: dict[str, Handler] = {}

    def read(self, number: int) -> Reading:
        """The reading of a schema object, made once."""
        known = self.readings.get(number)
        if known is not None:
            return known
        schema = self.document.schemas[number]
        value = schema.value
        reading = Reading()
        scope = schema.scope
        if scope is not self._scope:
            self._scope, self._handlers = scope, _handlers_of(scope.dialect)
        handlers = self._handlers
        if scope.hides_siblings and "$ref" in value:
            handlers["$ref"](self, schema, value["$ref"], reading)
        else:
            for keyword, argument in value.items():
                handler = handlers.get(keyword)
                if handler is not None:
                    handler(self, schema, argument, reading)
        if reading.applies:
            reading.finish()
        self.readings[number] = reading
        return reading

    def alias(self, number: int) -> Literal | None:
        """The literal that a schema object only repeats; it is read only where it may do so."""
        known = self.readings.get(number)
        if known is None:
            if self.document.schemas[number].value.keys().isdisjoint(_APPLYING):
                return None
            known = self.read(number)
        return known.alias

    # ---- checked arguments ----

    def wrong(self, schema: Schema, keyword: str, expected: str, got: Json, hint: str | None = None) -> SchemaError:
        """The error for an argument of the wrong kind."""
        return SchemaError(f"{keyword!r} must be {expected}, not {shown(got)}", location=schema.at(keyword), hint=hint)

    def count(self, schema: Schema, keyword: str, argument: Json) -> int:
        """A non-negative integer (2.0 is one)."""
        number = isinstance(argument, (int, float, Decimal)) and not isinstance(argument, bool)
        if number and is_finite(argument) and argument >= 0 and argument == int(argument):
            if argument >= MOST_COUNTED and keyword.startswith("min"):
                amount = f"{argument:.10g}" if argument < 10**300 else "more than 1e+300"
                message = f"a minimum of {amount} is not supported: at most {MOST_COUNTED - 1:,}"
                raise UnsupportedSchema(message, location=schema.at(keyword))
            return int(argument)
        raise self.wrong(schema, keyword, "a non-negative integer", argument)

    def decimal(self, schema: Schema, keyword: str, argument: Json) -> Decimal:
        """A finite number."""
        if isinstance(argument, (int, float, Decimal)) and not isinstance(argument, bool) and is_finite(argument):
            return exact(argument)
        raise self.wrong(schema, keyword, "a number", argument)

    def mapping(self, schema: Schema, keyword: str, argument: Json) -> Mapping[str, Json]:
        """An object."""
        if isinstance(argument, dict):
            return argument
        raise self.wrong(schema, keyword, "an object", argument)

    def names(self, schema: Schema, keyword: str, argument: Json) -> Sequence[str]:
        """An array of strings."""
        if isinstance(argument, list) and all(isinstance(name, str) for name in argument):
            return argument
        raise self.wrong(schema, keyword, "an array of strings", argument)

    def schemas(self, schema: Schema, keyword: str, argument: Json) -> tuple[Literal, ...]:
        """An array of schemas."""
        self.num_schemas(schema, keyword, argument)
        if keyword in _ALTERNATIVES:
            self.check_length(schema, keyword, argument, "max_alternatives")
        return tuple(self.document.child(schema, item, keyword, i) for i, item in enumerate(argument))

    def num_schemas(self, schema: Schema, keyword: str, argument: Json) -> int:
        """The length of an array of schemas."""
        if not isinstance(argument, list):
            raise self.wrong(schema, keyword, "an array of schemas", argument)
        return len(argument)

    def check_length(self, schema: Schema, keyword: str, argument: list[Json] | str, limit: str) -> None:
        """Refuse what is longer than the limit."""
        if len(argument) > (most := getattr(self.limits, limit)):
            raise SchemaTooComplex(
                f"{keyword!r} has {len(argument)} {'characters' if isinstance(argument, str) else 'entries'}; "
                f"at most {most} are supported",
                limit=limit,
                needed=len(argument),
                location=schema.at(keyword),
            )

    def claim_at(self, schema: Schema, keyword: str, formula: Formula) -> Formula:
        """Remember where a claim came from, for messages."""
        self.origins.setdefault(formula, (schema, keyword))
        self.origins.setdefault(self.formulas.negate(formula), (schema, keyword))
        return formula

    def union(self, owner: Schema, literals: Sequence[Literal], *path: str | int) -> Literal:
        """The literal of a schema that says at least one of the literals."""
        if ALWAYS in literals:
            return ALWAYS
        parts = tuple(sorted({literal for literal in literals if literal != NEVER}))
        if len(parts) <= 1:
            return parts[0] if parts else NEVER
        known = self._unions.get(parts)
        if known is None:
            literal = self.document.made(owner, {"anyOf": list(parts)}, *path)
            reading = self.readings[literal >> 1] = Reading()
            reading.apply(EVERY_TYPE, AnyOf(tuple(map(Apply, parts))))
            reading.finish()
            known = self._unions[parts] = literal
        return known

    # ---- values as claims (enum, const) ----

    def values(self, schema: Schema, values: Sequence[Json], path: Callable[[int], tuple[str | int, ...]]) -> Reading:
        """A reading that admits exactly the values."""
        formulas = self.formulas
        types = 0
        strings: dict[str, None] = {}
        numbers: dict[Decimal, int | float | Decimal] = {}
        containers: dict[int, list[Expression]] = {BOOLEAN: [], ARRAY: [], OBJECT: []}
        for i, value in enumerate(values):
            if isinstance(value, str):
                types |= STRING
                strings[value] = None
            elif value is None:
                types |= NULL
            elif isinstance(value, bool):
                types |= BOOLEAN
                containers[BOOLEAN].append(formulas.claim(Truth(value)))
            elif isinstance(value, (int, float, Decimal)):
                types |= NUMBER
                numbers.setdefault(self.decimal(schema, str(path(i)[0]), value), value)
            elif isinstance(value, list):
                types |= ARRAY
                containers[ARRAY].append(self.array_value(schema, value, path(i)))
            elif isinstance(value, dict):
                types |= OBJECT
                containers[OBJECT].append(self.object_value(schema, value, path(i)))
            else:
                raise SchemaError(f"{value!r} is not a JSON value", location=schema.at(*path(i)))
        reading = Reading()
        reading.types = types
        if strings:
            reading.parts.append((STRING, formulas.claim(Text(tuple(strings), True))))
        if numbers:
            reading.parts.append((NUMBER, formulas.claim(OneNumber(tuple(numbers.values()), True))))
        for json_type, parts in containers.items():
            if parts:
                reading.parts.append((json_type, AnyOf(tuple(parts)) if len(parts) > 1 else parts[0]))
        return reading

    def array_value(self, schema: Schema, value: list[Json], path: tuple[str | int, ...]) -> Formula:
        """The array is exactly this one."""
        formulas, size = self.formulas, len(value)
        items = [formulas.item(i, self.document.constant(schema, v, *path, i)) for i, v in enumerate(value)]
        return formulas.conjunction([formulas.count_min(size), formulas.count_max(size), *items])

    def object_value(self, schema: Schema, value: Mapping[str, Json], path: tuple[str | int, ...]) -> Formula:
        """The object is exactly this one."""
        formulas = self.formulas
        parts = [formulas.claim(Order(tuple(value)))] if value else []
        for name, inner in value.items():
            parts.append(formulas.claim(Has(name)))
            parts.append(formulas.member(name, self.document.constant(schema, inner, *path, name)))
        parts.append(formulas.member(Others(frozenset(value), ()), NEVER))
        return formulas.conjunction(parts)


_METHODS: dict[str, Handler] = {**read_value.METHODS, **read_scalars.METHODS, **read_containers.METHODS}


@cache
def _handlers_of(dialect: Dialect) -> dict[str, Handler]:
    return {name: method for name, method in _METHODS.items() if name in keywords_of(dialect)}
