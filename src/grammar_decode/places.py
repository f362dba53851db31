"""Which schemas speak about a place in a document, and what they say of the value there. For messages only.

A validator's walk over the schema, along the path of the place. It never decides what is allowed: alternatives are left
out only where the text so far plainly excludes them, and a word too many does no harm.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from grammar_decode.errors import GrammarDecodeError
from grammar_decode.json_schema.claims import ALWAYS, NEVER
from grammar_decode.json_schema.document import Document, Schema
from grammar_decode.scan import Place, value_at

Alternative = tuple[Schema, ...]  # schemas that hold together

#: So many alternatives are followed side by side, and no more.
_MAX_ALTERNATIVES = 32
_MAX_DEPTH = 64
_MAX_STEPS = 2000
#: So many finished members are looked at to tell alternatives apart.
_MAX_MEMBERS = 100
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SAYS_NOTHING = {"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "title", "description", "default"}
_SAYS_NOTHING |= {"$defs", "definitions", "examples", "$comment", "$schema", "$id", "deprecated", "readOnly"}
_TYPES: dict[bytes, str] = {b"{": "object", b"[": "array", b'"': "string", b"t": "boolean", b"f": "boolean"}
_TYPES |= {b"n": "null"} | {bytes([byte]): "number" for byte in b"-0123456789"}


@dataclass(slots=True)
class Said:
    """What the schemas of a place say of its value: for each alternative, the clauses; and its constants."""

    locations: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()  # each holds; alternatives are told in one clause
    constants: list[str] | None = None  # as JSON texts, where the value is one of some
    distinct: bool = False
    missing: tuple[str, ...] = field(default=())  # required names that are not there yet


class Places:
    """The schemas of one document text. ``schema`` may hold anything: what can't be read is left out."""

    def __init__(self, schema: Any, resources: dict[str, Any]) -> None:
        self._document = Document(schema, resources, dynamic=True)

    def at(self, text: bytes, place: Place, *, inside: bool = False, kind: str | None = None) -> Said:
        """What is said of the value at a place; ``inside``: of the first item of the array there.

        ``kind``: the type of a value that has not begun, where only one is possible.
        """
        alternatives = self._alternatives(text, place)
        if inside:
            alternatives = self._child(alternatives, 0)
        else:
            kind = _kind(text, place) or kind
        if kind is not None:
            alternatives = self._fitting(alternatives, kind)
        return _said(alternatives, kind, place)

    def _alternatives(self, text: bytes, place: Place) -> list[Alternative]:
        literal = self._document.root
        found = self._expanded([(self._schemas([literal]) or ())])
        path = place.path
        for depth, container in enumerate(place.opened):
            found = self._fitting(found, "object" if container.is_object else "array")
            if container.is_object:
                found = self._by_members(found, text, container.spans)
            if depth < len(path):
                found = self._child(found, path[depth])
        kind = _kind(text, place)
        return found if kind is None else self._fitting(found, kind)

    def _schemas(self, literals: Iterable[int]) -> Alternative | None:
        """The schemas of literals that hold together; None if one of them admits nothing."""
        result: list[Schema] = []
        for literal in literals:
            if literal == NEVER:
                return None
            if literal != ALWAYS and self._document.schemas[literal >> 1] not in result:
                result.append(self._document.schemas[literal >> 1])
        return tuple(result)

    def _expanded(self, alternatives: Iterable[Alternative]) -> list[Alternative]:
        """With everything that references and combinations add; each combination is another alternative."""
        result: dict[tuple[int, ...], Alternative] = {}
        waiting = [(alternative, 0) for alternative in alternatives][::-1]
        for _ in range(_MAX_STEPS):
            if not waiting or len(result) == _MAX_ALTERNATIVES:
                break
            alternative, done = waiting.pop()
            if done == len(alternative) or done > _MAX_DEPTH:
                result.setdefault(tuple(schema.number for schema in alternative), alternative)
                continue
            for more in reversed(self._readings(alternative[done])):
                known = (*alternative, *(schema for schema in more if schema not in alternative))
                waiting.append((known, done + 1))
        return list(result.values())

    def _readings(self, schema: Schema) -> list[Alternative]:
        """What a schema adds: one entry for each way to satisfy its alternatives."""
        value = schema.value
        named = ((keyword, value.get(keyword)) for keyword in _REFERENCES)
        fixed = [self._referenced(schema, keyword, target) for keyword, target in named if isinstance(target, str)]
        if schema.scope.hides_siblings and "$ref" in value:
            first = self._schemas(fixed)
            return [] if first is None else [first]
        fixed += [self._inner(schema, inner, "allOf", i) for i, inner in enumerate(_list(value.get("allOf")))]
        ways = [fixed]
        for keyword in ("anyOf", "oneOf"):
            branches = _list(value.get(keyword))
            if branches:
                inner = [self._inner(schema, branch, keyword, i) for i, branch in enumerate(branches)]
                ways = [[*way, branch] for way in ways for branch in inner][: 2 * _MAX_ALTERNATIVES]
        if "if" in value and ("then" in value or "else" in value):
            inner = [self._inner(schema, value[k], k) for k in ("then", "else") if k in value]
            ways = [[*way, branch] for way in ways for branch in inner]
        return [found for way in ways if (found := self._schemas(way)) is not None]

    def _inner(self, schema: Schema, value: Any, *path: str | int) -> int:
        try:
            return self._document.child(schema, value, *path)
        except GrammarDecodeError:  # no schema: the compiler has never looked at it either
            return ALWAYS

    def _referenced(self, schema: Schema, keyword: str, target: str) -> int:
        try:
            if keyword == "$dynamicRef":
                return self._document.dynamic_reference(schema, target)
            if keyword == "$recursiveRef":
                return self._document.recursive_reference(schema, target)
            return self._document.reference(schema, target)
        except GrammarDecodeError:
            return ALWAYS

    def _child(self, alternatives: list[Alternative], step: str | int) -> list[Alternative]:
        children = []
        for alternative in alternatives:
            literals = [literal for schema in alternative for literal in self._entry(schema, step)]
            schemas = self._schemas(literals)
            if schemas is not None and schemas not in children:
                children.append(schemas)
        return self._expanded(children)

    def _entry(self, schema: Schema, step: str | int) -> list[int]:
        """What one schema object says of the value of a member or an item."""
        value = schema.value
        if isinstance(step, int):
            return self._item(schema, step)
        found: list[int] = []
        if step in (properties := _dict(value.get("properties"))):
            found.append(self._inner(schema, properties[step], "properties", step))
        for pattern, inner in _dict(value.get("patternProperties")).items():
            if _matches(pattern, step):
                found.append(self._inner(schema, inner, "patternProperties", pattern))
        if not found and isinstance(value.get("additionalProperties"), (dict, bool)):
            found.append(self._inner(schema, value["additionalProperties"], "additionalProperties"))
        return found

    def _item(self, schema: Schema, index: int) -> list[int]:
        value = schema.value
        items = value.get("items")
        prefix = _list(value.get("prefixItems"))
        name = "prefixItems"
        if isinstance(items, list):
            prefix, name, items = items, "items", value.get("additionalItems")
            rest = "additionalItems"
        else:
            rest = "items"
        if index < len(prefix):
            return [self._inner(schema, prefix[index], name, index)]
        return [self._inner(schema, items, rest)] if isinstance(items, (dict, bool)) else []

    # ---- alternatives that the text excludes ----

    def _fitting(self, alternatives: list[Alternative], kind: str) -> list[Alternative]:
        return [a for a in alternatives if all(_admits_type(schema, kind) for schema in a)] or alternatives

    def _by_members(
        self, alternatives: list[Alternative], text: bytes, spans: dict[str, tuple[int, int]]
    ) -> list[Alternative]:
        """Those that admit the finished scalars among the members."""
        if len(alternatives) < 2:
            return alternatives
        kept = alternatives
        for key, span in islice(spans.items(), _MAX_MEMBERS):
            if text[span[0] : span[0] + 1] in (b"{", b"["):
                continue
            value = value_at(text, span)
            kind = _TYPES.get(text[span[0] : span[0] + 1], "")

            def admits(alternative: Alternative, key: str = key, value: Any = value, kind: str = kind) -> bool:
                readings = self._child([alternative], key)
                return any(all(_admits(schema, kind, value) for schema in reading) for reading in readings)

            kept = [alternative for alternative in kept if admits(alternative)] or kept
        return kept


def _said(alternatives: list[Alternative], kind: str | None, place: Place) -> Said:
    locations: dict[str, None] = {}
    for alternative in alternatives:
        telling = [schema for schema in alternative if not _SAYS_NOTHING.issuperset(schema.value)]
        locations |= dict.fromkeys(schema.location for schema in telling or alternative)
    ways = [_clauses(alternative, kind) for alternative in alternatives]
    ways = [way for i, way in enumerate(ways) if way not in ways[:i]]
    constants: list[str] | None = []
    for alternative in alternatives:
        listed = _constants(alternative)
        if listed is None or constants is None:
            constants = None
        else:
            constants += [text for text in listed if text not in constants]
    missing: dict[str, None] = {}
    if place.opened and place.opened[-1].is_object and len(alternatives) == 1:
        for schema in alternatives[0]:
            missing |= dict.fromkeys(name for name in _list(schema.value.get("required")) if isinstance(name, str))
    return Said(
        tuple(locations),
        _joined(ways),
        constants or None,
        any(schema.value.get("uniqueItems") is True for a in alternatives for schema in a),
        tuple(name for name in missing if name not in place.opened[-1].spans),
    )


def _joined(ways: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The clauses of all alternatives; where they differ, one clause that says "or". None where one says nothing."""
    if not ways or () in ways:
        return ()
    common = tuple(clause for clause in ways[0] if all(clause in way for way in ways))
    rests = [" and ".join(clause for clause in way if clause not in common) for way in ways]
    if "" in rests or len(rests) > 4:
        return common
    return (*common, " or ".join(dict.fromkeys(rests)))


_NUMBERS: dict[str, str] = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
}


def _clauses(alternative: Alternative, kind: str | None) -> tuple[str, ...]:
    """What the schemas say of a value of that type, in the words of their keywords."""
    found: dict[str, None] = {}
    for schema in alternative:
        value = schema.value
        if kind == "string":
            found |= dict.fromkeys(_string_clauses(value))
        elif kind == "number":
            found |= dict.fromkeys(_number_clauses(value))
        elif kind == "array":
            found |= dict.fromkeys(_count_clauses(value, "minItems", "maxItems", "item"))
            if value.get("uniqueItems") is True:
                found["the items must be distinct"] = None
        elif kind == "object":
            found |= dict.fromkeys(_count_clauses(value, "minProperties", "maxProperties", "property"))
    return tuple(found)


def _string_clauses(value: Any) -> list[str]:
    found = []
    if isinstance(value.get("pattern"), str):
        found.append(f"the string must match {value['pattern']}")
    if isinstance(value.get("format"), str):
        found.append(f"the string must have the format {value['format']}")
    least, most = value.get("minLength"), value.get("maxLength")
    if least:
        found.append(f"the string must have at least {_counted(least, 'character')}")
    if most is not None:
        found.append(f"the string must have at most {_counted(most, 'character')}")
    return found


def _number_clauses(value: Any) -> list[str]:
    found = []
    for keyword, words in _NUMBERS.items():
        limit = value.get(keyword)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool):
            if value.get(_exclusive_of(keyword)) is True:  # draft 4
                words = _NUMBERS[_exclusive_of(keyword)]
            found.append(f"the number must be {words.format(limit)}")
    if value.get("type") == "integer":
        found.append("the number must be an integer")
    return found


def _exclusive_of(keyword: str) -> str:
    return {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}.get(keyword, "")


def _count_clauses(value: Any, least: str, most: str, what: str) -> list[str]:
    found = []
    if value.get(least):
        found.append(f"at least {_counted(value[least], what)} must be there")
    if value.get(most) is not None:
        found.append(f"at most {_counted(value[most], what)} may be there")
    return found


def _counted(number: Any, what: str) -> str:
    many = what[:-1] + "ies" if what.endswith("y") else what + "s"
    return f"{number} {what if number == 1 else many}"


def _constants(alternative: Alternative) -> list[str] | None:
    """The values that the schemas list, as JSON texts; None where they list none."""
    found: list[str] | None = None
    for schema in alternative:
        for listed in ([schema.value["const"]] if "const" in schema.value else None, schema.value.get("enum")):
            if isinstance(listed, list):
                texts = [json.dumps(value, ensure_ascii=False) for value in listed]
                found = texts if found is None else [text for text in found if text in texts]
    return found


def _kind(text: bytes, place: Place) -> str | None:
    """The type of the value at a place, where it has begun."""
    if place.state == "scalar":
        return _TYPES.get(text[place.start : place.start + 1])
    if place.state in ("first item", "first key", "key", "in key", "after"):
        return "object" if place.opened[-1].is_object else "array"
    return None


def _admits_type(schema: Schema, kind: str) -> bool:
    types = schema.value.get("type")
    if types is None:
        listed = schema.value.get("enum")
        values = [schema.value["const"]] if "const" in schema.value else listed if isinstance(listed, list) else None
        return values is None or any(_type_of(value) == kind for value in values)
    names = types if isinstance(types, list) else [types]
    return kind in names or (kind == "number" and "integer" in names) or schema.value.get("nullable") is True


def _admits(schema: Schema, kind: str, value: Any) -> bool:
    if not _admits_type(schema, kind):
        return False
    if "const" in schema.value and not _equal(schema.value["const"], value):
        return False
    listed = schema.value.get("enum")
    return not isinstance(listed, list) or any(_equal(one, value) for one in listed)


def _equal(one: Any, other: Any) -> bool:
    return _type_of(one) == _type_of(other) and bool(one == other)


def _type_of(value: Any) -> str:
    kinds: list[tuple[Callable[[Any], bool], str]] = [
        (lambda v: v is None, "null"),
        (lambda v: isinstance(v, bool), "boolean"),
        (lambda v: isinstance(v, str), "string"),
        (lambda v: isinstance(v, dict), "object"),
        (lambda v: isinstance(v, list), "array"),
    ]
    return next((name for test, name in kinds if test(value)), "number")


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return True  # a pattern that is none of Python's: its schema may speak about the place


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
