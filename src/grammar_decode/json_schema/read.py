"""Schema objects to expressions: one method for each keyword.

An *expression* is a formula whose leaves may also be other schemas that look at the same value (`allOf`, `$ref` ...).
Each part of a reading says for which JSON types it holds, because a keyword speaks of values of its own type only.
Nothing here looks at two schema objects at once, or at what is inside a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple, TypeAlias
from urllib.parse import urljoin

from grammar_decode.errors import SchemaError, SchemaTooComplex, UnsupportedSchema
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
    Bound,
    Format,
    Has,
    Integral,
    Lacks,
    Literal,
    Matching,
    Multiple,
    OneNumber,
    Order,
    Others,
    Pattern,
    Spelled,
    Text,
    Truth,
    Unique,
)
from grammar_decode.json_schema.decimals import is_finite
from grammar_decode.json_schema.document import Document, Json, Schema, Scope, shown
from grammar_decode.json_schema.formats import NUMBER_FORMATS, STRING_FORMATS, is_openapi
from grammar_decode.json_schema.formula import FALSE, Formula, Formulas
from grammar_decode.json_schema.keywords import Dialect, keywords_of
from grammar_decode.json_schema.numbers import exact
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.limits import Limits

#: A minimum is less than that: the kernel takes it for the number of strings of a language that has more.
MOST_COUNTED = 2**31

# ---- expressions ----------------------------------------------------------------------------------------------------


class Apply(NamedTuple):
    """The same value satisfies the literal."""

    literal: Literal


class AllOf(NamedTuple):
    """All of the parts."""

    parts: tuple[Expression, ...]


class AnyOf(NamedTuple):
    """At least one of the parts."""

    parts: tuple[Expression, ...]


class OneOf(NamedTuple):
    """Exactly one of the literals. ``ties``: what else holds of an object that satisfies it, one for each literal."""

    literals: tuple[Literal, ...]
    ties: tuple[Formula, ...] = ()


class Conditional(NamedTuple):
    """``then`` where the condition holds, else ``otherwise``."""

    condition: Literal
    then: Literal
    otherwise: Literal


class Unevaluated(NamedTuple):
    """The keys or items that the schema object of this number does not evaluate satisfy the literal."""

    number: int
    literal: Literal


# A formula is an int, see `formula.py`.
Expression: TypeAlias = Formula | Apply | AllOf | AnyOf | OneOf | Conditional | Unevaluated


class Reading:
    """What one schema object says: the types it admits, and what holds for values of which types.

    ``parts`` are in the order in which keys are written: document order, what always holds before alternatives.
    ``applies`` tells whether one of them is more than a formula. ``alias`` is the literal that a reading which is
    complete only repeats, as a lone ``$ref`` does.
    """

    __slots__ = ("alias", "alternatives", "applies", "parts", "types")

    def __init__(self) -> None:
        self.types = EVERY_TYPE
        self.parts: list[tuple[int, Expression]] = []
        self.alternatives: list[tuple[int, Expression]] = []  # until the schema object is read
        self.applies = False
        self.alias: Literal | None = None

    def of_type(self, json_type: int) -> list[Expression]:
        """What holds for values of the type."""
        return [part for types, part in self.parts if types & json_type]

    def finish(self) -> None:
        """All keywords are read."""
        if self.alternatives:
            self.parts += self.alternatives
        if self.applies and len(self.parts) == 1 and self.types == EVERY_TYPE:
            types, part = self.parts[0]
            if types == EVERY_TYPE and isinstance(part, Apply):
                self.alias = part.literal

    def apply(self, types: int, expression: Expression) -> None:
        """Add what is said through other schemas."""
        several = isinstance(expression, (AnyOf, OneOf, Conditional, Unevaluated))
        (self.alternatives if several else self.parts).append((types, expression))
        self.applies = True


_ALTERNATIVES = frozenset(("allOf", "anyOf", "oneOf"))
#: The keywords that may say of every value that it satisfies another schema; see `Reading.alias`.
_APPLYING = _ALTERNATIVES | {"$ref", "$dynamicRef", "$recursiveRef", "not", "if"}
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
        self._handlers: dict[str, _Handler] = {}

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
            _ref(self, schema, value["$ref"], reading)
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


_Handler: TypeAlias = Callable[[Reader, Schema, Json, Reading], None]

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


# ---- numbers --------------------------------------------------------------------------------------------------------


def _bound(keyword: str, upper: bool) -> _Handler:
    boolean = "exclusiveMaximum" if upper else "exclusiveMinimum"

    def inclusive_bound(reader: Reader, schema: Schema, argument: Json, reading: Reading) -> None:
        inclusive = schema.value.get(boolean) is not True
        value = reader.decimal(schema, keyword, argument)
        reading.parts.append((NUMBER, reader.formulas.claim(Bound(value, upper, inclusive))))

    return inclusive_bound


def _exclusive_bound(keyword: str, upper: bool) -> _Handler:
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


def _unevaluated(keyword: str, json_type: int) -> _Handler:
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


_METHODS: dict[str, _Handler] = {
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
    "minimum": _bound("minimum", False),
    "maximum": _bound("maximum", True),
    "exclusiveMinimum": _exclusive_bound("exclusiveMinimum", False),
    "exclusiveMaximum": _exclusive_bound("exclusiveMaximum", True),
    "multipleOf": _multiple_of,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
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


@cache
def _handlers_of(dialect: Dialect) -> dict[str, _Handler]:
    return {name: method for name, method in _METHODS.items() if name in keywords_of(dialect)}
