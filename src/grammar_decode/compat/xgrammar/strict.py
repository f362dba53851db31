"""``strict_mode``: a schema with objects and arrays closed that name what is in them.

XGrammar closes each schema object by itself, so that ``allOf`` of two objects allows nothing. Here a value is closed
once, by ``unevaluatedProperties`` and ``unevaluatedItems`` where its schema stands, whatever branches and references
below it name. What is only required, or asked for by an ``if``, counts as named. A closed schema accepts nothing that
the given one does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Keywords by what they hold that speaks of the same value, and of another one.
_SAME_LIST = ("allOf", "anyOf", "oneOf")
_SAME_ONE = ("then", "else", "if")
_SAME_MAP = ("dependentSchemas",)
_INNER_LIST = ("prefixItems",)
_INNER_ONE = ("additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems")
_INNER_MAP = ("properties", "patternProperties")
_OLD_DRAFTS = ("draft-06", "draft-07")


def closed(schema: Any) -> Any:
    """The schema, closed; itself where there is nothing to close."""
    if not isinstance(schema, dict):
        return schema
    result = _Closing(schema).value(schema)
    if result == schema:
        return schema
    if any(draft in str(result.get("$schema")) for draft in _OLD_DRAFTS):
        del result["$schema"]  # which knows no unevaluatedProperties
    return result


class _Closing:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root

    def value(self, schema: Any) -> Any:
        """A schema where a value is described: closed, and so are the values inside."""
        if not isinstance(schema, dict):
            return schema
        result = self._same(schema)
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
            elif key in ("$defs", "definitions") and isinstance(inner, dict):
                result[key] = {name: self._same(each) for name, each in inner.items()}
        return result

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
            stack += [each for key in _SAME_LIST for each in _list(part, key)]
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


def _mapping(schema: dict[str, Any], key: str) -> dict[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _list(schema: dict[str, Any], key: str) -> list[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else []
