"""``strict_mode``: a schema with objects and arrays closed that name what is in them.

XGrammar closes each schema object by itself, so that ``allOf`` of two objects allows nothing. Here a value is closed
once, by ``unevaluatedProperties`` and ``unevaluatedItems`` where its schema stands, whatever branches and references
below it name. What is only required, or asked for by an ``if``, counts as named. Drafts before 2019-09 know neither
keyword: there, objects and arrays are closed whose schema stands alone.

A closed schema accepts nothing that the given one does not. So nothing is closed where that could admit more: inside
``not``, ``if``, ``oneOf`` and ``contains``, which keep referring to the definitions as they were given. Everything else
refers to closed copies of them; the branches of a ``oneOf`` stand beside it once more, closed, as an ``anyOf``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Keywords by what they hold that speaks of the same value, and of another one.
_SAME_LIST = ("allOf", "anyOf")
_SAME_ONE = ("then", "else")
_SAME_MAP = ("dependentSchemas",)
_INNER_LIST = ("prefixItems",)
_INNER_ONE = ("additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems")
_INNER_MAP = ("properties", "patternProperties")
#: What must stay as it is given, because more restricted parts may make a less restricted whole.
_AS_GIVEN = ("not", "if", "oneOf", "contains")
_DEFINITIONS = ("$defs", "definitions")
_OLD_DRAFTS = ("draft-04", "draft-06", "draft-07")
#: Beside these, an object or array of an old draft does not stand alone.
_BESIDE = {*_SAME_LIST, *_SAME_ONE, *_AS_GIVEN, "dependencies", "$ref"}


def closed(schema: Any) -> Any:
    """The schema, closed; itself where there is nothing to close, or where its references are more than definitions."""
    if not isinstance(schema, dict):
        return schema
    closing = _Closing(schema)
    if not closing.is_possible():
        return schema
    result = closing.value(schema)
    return schema if result == schema else closing.with_copies(result)


class _Closing:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._is_old = any(draft in str(root.get("$schema")) for draft in _OLD_DRAFTS)
        self._copies: dict[tuple[str, str], dict[str, Any]] = {}  # by section and name; empty until it is made
        names = [name for section in _DEFINITIONS for name in _mapping(root, section)]
        self._suffix = "-closed"  # of the name of a copy
        while any(name.endswith(self._suffix) for name in names):
            self._suffix += "-"

    def is_possible(self) -> bool:
        """Whether what must stay as it is given refers to nothing that is closed in its place."""
        stack: list[tuple[Any, bool]] = [(self._root, False)]
        seen: set[tuple[int, bool]] = set()
        while stack:
            part, as_given = stack.pop()
            if (id(part), as_given) in seen:
                continue
            seen.add((id(part), as_given))
            if isinstance(part, list):
                stack += [(each, as_given) for each in part]
            elif isinstance(part, dict):
                if part is not self._root and ("$id" in part or "id" in part):
                    return False  # references may be relative to it
                if "$dynamicRef" in part or "$recursiveRef" in part:
                    return False
                if as_given and "$ref" in part:
                    if self._definition(part["$ref"]) is None:
                        return False
                    stack.append((self._target(part["$ref"]), True))
                stack += [
                    (inner, as_given or key in _AS_GIVEN) for key, inner in part.items() if key not in ("enum", "const")
                ]
        return True

    def with_copies(self, result: dict[str, Any]) -> dict[str, Any]:
        """The closed root with the closed definitions that are referred to, and those that they refer to."""
        while missing := [(key, copy) for key, copy in self._copies.items() if not copy]:
            for (section, name), copy in missing:
                copy["allOf"] = [self._same(self._root[section][name])]
        for (section, name), copy in self._copies.items():
            result[section] = {**result[section], name + self._suffix: copy}
        return result

    def value(self, schema: Any) -> Any:
        """A schema where a value is described: closed, and so are the values inside."""
        if not isinstance(schema, dict):
            return schema
        result = self._same(schema)
        if self._is_old:
            return _closed_alone(result)
        parts = list(self._in_place(schema))
        named = {name for part in parts for name in _mapping(part, "properties")}
        if any(key in part for part in parts for key in _INNER_MAP) and "unevaluatedProperties" not in schema:
            asked = [part for each in parts for part in self._in_place(each.get("if"))]
            names = [
                name for part in (*parts, *asked) for name in (*_list(part, "required"), *_mapping(part, "properties"))
            ]
            if extra := {name: True for name in names if isinstance(name, str) and name not in named}:
                result["properties"] = {**_mapping(result, "properties"), **extra}
            result["unevaluatedProperties"] = False
        has_first = any("prefixItems" in part or isinstance(part.get("items"), list) for part in parts)
        if has_first and "unevaluatedItems" not in schema:
            result["unevaluatedItems"] = False
        return result

    def _same(self, schema: Any) -> Any:
        """A schema that speaks of the same value as another one: the values inside are closed, and not itself."""
        if not isinstance(schema, dict):
            return schema
        result = dict(schema)
        for key, inner in schema.items():
            close = self._same if key in (*_SAME_LIST, *_SAME_ONE, *_SAME_MAP) else self.value
            if key in (*_SAME_LIST, *_INNER_LIST) or (key == "items" and isinstance(inner, list)):
                result[key] = [close(each) for each in inner] if isinstance(inner, list) else inner
            elif key in (*_SAME_MAP, *_INNER_MAP):
                result[key] = {name: close(each) for name, each in inner.items()} if isinstance(inner, dict) else inner
            elif key in (*_SAME_ONE, *_INNER_ONE):
                result[key] = close(inner)
            elif key == "$ref":
                result[key] = self._closed_reference(inner)
        branches = _list(schema, "oneOf")
        if (closed_branches := [self._same(branch) for branch in branches]) != branches:
            result["allOf"] = [*_list(result, "allOf"), {"anyOf": closed_branches}]
        return result

    def _closed_reference(self, reference: Any) -> Any:
        definition = self._definition(reference)
        if definition is None:
            return reference
        self._copies.setdefault(definition, {})
        return f"{reference}{self._suffix}"

    def _definition(self, reference: Any) -> tuple[str, str] | None:
        """Section and name where a reference leads to a whole definition of the document."""
        steps = reference.split("/") if isinstance(reference, str) else []
        if len(steps) != 3 or steps[0] != "#" or steps[1] not in _DEFINITIONS or "%" in reference or "~" in reference:
            return None
        name: str = steps[2]
        return (steps[1], name) if isinstance(_mapping(self._root, steps[1]).get(name), dict) else None

    def _in_place(self, schema: Any) -> Iterator[dict[str, Any]]:
        """All schema objects that speak of the same value; what is only asked for (``if``) left out."""
        seen: set[int] = set()
        stack: list[Any] = [schema]
        while stack:
            part = stack.pop()
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            stack += [each for key in (*_SAME_LIST, "oneOf") for each in _list(part, key)]
            stack += [part.get("then"), part.get("else")]
            stack += [each for key in _SAME_MAP for each in _mapping(part, key).values()]
            stack.append(self._target(part.get("$ref")))

    def _target(self, reference: Any) -> Any:
        """What a reference within the document leads to; None for others, which close nothing."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        target: Any = self._root
        for step in reference[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict):
                target = target.get(name)
            elif isinstance(target, list) and name.isdecimal() and int(name) < len(target):
                target = target[int(name)]
            else:
                return None
        return target


def _closed_alone(schema: dict[str, Any]) -> dict[str, Any]:
    """An object or array of an old draft, closed where it alone says what is in it."""
    if not _BESIDE.isdisjoint(schema):
        return schema
    if any(key in schema for key in _INNER_MAP) and "additionalProperties" not in schema:
        named = _mapping(schema, "properties")
        required: dict[str, Any] = {name: {} for name in _list(schema, "required") if isinstance(name, str)}
        schema = {**schema, "properties": {**named, **{k: v for k, v in required.items() if k not in named}}}
        schema["additionalProperties"] = False
    if isinstance(schema.get("items"), list) and "additionalItems" not in schema:
        schema = {**schema, "additionalItems": False}
    return schema


def _mapping(schema: dict[str, Any], key: str) -> dict[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _list(schema: dict[str, Any], key: str) -> list[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else []
