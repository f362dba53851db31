"""Random schemas, random text options, and values that a schema may admit, for hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import grammar_decode as gd
from grammar_decode.errors import GrammarDecodeError, UnsupportedSchema
from grammar_decode.json_schema import compile_schema
from schemas import DRAFT7

NAMES = ("a", "b", "ab", "id", "kind", 'a"b', "é", "", "x-a")
SCALARS = (None, True, False, 0, 1, 3, -2, 1.5, 0.25, 100, "", "a", "b", "ab", 'a"\\', "é\n", "abcab")
PATTERNS = ("^[ab]{1,4}$", "a", "^a", "b$", "^(a|bc)*$", "^[^a]+$", "^[a-c]{2,5}[.][0-9]{1,3}$", "^(a|b|ab)$")
KEY_PATTERNS = ("^a", "b$", "^(a|b)$", "^x-", "^.$", "^(ab|id|b)$")
BOUNDS = (-10, -1, 0, 1, 2, 5, 0.5, 99.5, 100)
DIVISORS = (1, 2, 3, 10, 0.5, 0.01, 1.5)


#: Every kind of text.
text_options = st.builds(
    gd.JsonOptions,
    key_order=st.sampled_from(("schema", "any")),
    whitespace=st.sampled_from(("flexible", "compact", "spaced", "any")),
    escapes=st.sampled_from(("relaxed", "canonical", "any")),
    numbers=st.sampled_from(("canonical", "any")),
)


def json_values(depth: int = 2) -> st.SearchStrategy[Any]:
    """Small values over the names and scalars of the schemas."""
    scalars = st.sampled_from(SCALARS)
    if not depth:
        return scalars
    inner = json_values(depth - 1)
    return scalars | st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)


class _Drawing:
    """Draws one schema. ``refs`` are the definitions that it may refer to, below the value that it speaks of."""

    def __init__(self, draw: st.DrawFn, refs: tuple[str, ...], *, draft7: bool) -> None:
        self.draw = draw
        self.refs = refs
        self.draft7 = draft7

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def maybe(self) -> bool:
        return bool(self.draw(st.booleans()))

    def names(self, most: int = 3) -> list[str]:
        return self.draw(st.lists(st.sampled_from(NAMES), max_size=most, unique=True))

    def schema(self, depth: int, *, below: bool = False) -> Any:
        kinds = ["string", "integer", "number", "plain", "enum", "types"]
        if below and self.refs:
            kinds += ["ref", "ref"]
        if depth:
            kinds += [
                "object",
                "object",
                "object",
                "array",
                "array",
                "any_of",
                "one_of",
                "all_of",
                "condition",
                "negation",
            ]
        return getattr(self, self.pick(kinds))(depth, below)

    def plain(self, _depth: int, _below: bool) -> Any:
        return self.pick(({"type": "boolean"}, {"type": "null"}, {}, True, {"type": "string"}, {"type": "integer"}))

    def ref(self, _depth: int, _below: bool) -> Any:
        return {"$ref": self.pick(self.refs)}

    def types(self, _depth: int, _below: bool) -> Any:
        return {"type": self.draw(st.lists(st.sampled_from(("null", "integer", "string")), min_size=1, unique=True))}

    def enum(self, _depth: int, _below: bool) -> Any:
        if self.maybe():
            return {"const": self.draw(json_values(2))}
        return {"enum": self.draw(st.lists(json_values(1), min_size=1, max_size=4))}

    def string(self, _depth: int, _below: bool) -> Any:
        schema: dict[str, Any] = {"type": "string"}
        if self.maybe():
            schema["pattern"] = self.pick(PATTERNS)
        if self.maybe():
            schema["minLength"] = self.pick((0, 1, 2))
        if self.maybe():
            schema["maxLength"] = self.pick((2, 4, 12))
        return schema

    def integer(self, depth: int, below: bool) -> Any:
        return {**self.number(depth, below), "type": "integer"}

    def number(self, _depth: int, _below: bool) -> Any:
        schema: dict[str, Any] = {"type": "number"}
        if self.maybe():
            schema[self.pick(("minimum", "exclusiveMinimum"))] = self.pick(BOUNDS[:5])
        if self.maybe():
            schema[self.pick(("maximum", "exclusiveMaximum"))] = self.pick(BOUNDS[4:])
        if self.maybe():
            schema["multipleOf"] = self.pick(DIVISORS)
        return schema

    def object(self, depth: int, _below: bool) -> Any:
        names = self.names()
        schema: dict[str, Any] = {"type": "object"} if self.maybe() else {}
        if names:
            schema["properties"] = {name: self.schema(depth - 1, below=True) for name in names}
            schema["required"] = [name for name in names if self.maybe()] + self.names(1)
            schema["required"] = list(dict.fromkeys(schema["required"]))
            if not schema["required"]:
                del schema["required"]
        extras = self.draw(
            st.sets(st.sampled_from(("additional", "patterns", "count", "key", "dependent")), max_size=2)
        )
        if "additional" in extras:
            schema["additionalProperties"] = False if self.maybe() else self.schema(depth - 1, below=True)
        if "patterns" in extras:
            patterns = self.draw(st.lists(st.sampled_from(KEY_PATTERNS), min_size=1, max_size=2, unique=True))
            schema["patternProperties"] = {p: self.schema(depth - 1, below=True) for p in patterns}
        if "count" in extras:
            schema[self.pick(("minProperties", "maxProperties"))] = self.pick((0, 1, 2, 3))
        if "key" in extras:
            schema["propertyNames"] = self.pick(({"pattern": "^[ab]"}, {"maxLength": 2}, {"enum": ["a", "b", "id"]}))
        if "dependent" in extras:
            by_schema = self.maybe()
            dependent = {self.pick(NAMES): self.schema(depth - 1) if by_schema else self.names(2)}
            schema["dependencies" if self.draft7 else "dependentSchemas" if by_schema else "dependentRequired"] = (
                dependent
            )
        return schema

    def array(self, depth: int, _below: bool) -> Any:
        schema: dict[str, Any] = {"type": "array"} if self.maybe() else {}
        if self.maybe():
            prefix = [self.schema(depth - 1, below=True) for _ in range(self.pick((1, 2)))]
            schema["items" if self.draft7 else "prefixItems"] = prefix
        if self.maybe():
            rest = "additionalItems" if self.draft7 and "items" in schema else "items"
            schema[rest] = self.schema(depth - 1, below=True)
        if self.maybe():
            schema["contains"] = self.schema(depth - 1, below=True)
            if self.maybe() and not self.draft7:
                schema[self.pick(("minContains", "maxContains"))] = self.pick((1, 2))
        if self.maybe():
            schema["minItems"] = self.pick((0, 1, 2))
        if self.maybe():
            schema["maxItems"] = self.pick((1, 2, 3))
        if self.pick((True, False, False)):
            schema["uniqueItems"] = True
        return schema

    def branches(self, depth: int, below: bool) -> list[Any]:
        return [self.schema(depth - 1, below=below) for _ in range(self.pick((1, 2, 2, 3)))]

    def any_of(self, depth: int, below: bool) -> Any:
        return {"anyOf": self.branches(depth, below)}

    def one_of(self, depth: int, below: bool) -> Any:
        return {"oneOf": self.branches(depth, below)}

    def all_of(self, depth: int, below: bool) -> Any:
        schema = self.pick((self.object, self.array, self.string, self.number))(depth, below)
        return {**schema, "allOf": self.branches(depth, below)[:2]}

    def negation(self, depth: int, below: bool) -> Any:
        return {"not": self.schema(depth - 1, below=below)}

    def condition(self, depth: int, below: bool) -> Any:
        schema = self.object(depth, below)
        name = self.pick(NAMES)
        schema["if"] = {"properties": {name: {"const": self.pick(SCALARS)}}, "required": [name]}
        if self.maybe():
            schema["if"] = self.schema(depth - 1, below=below)
        if self.maybe():
            schema["then"] = self.schema(depth - 1, below=below)
        if self.maybe():
            schema["else"] = self.schema(depth - 1, below=below)
        return schema


@st.composite
def random_schemas(draw: st.DrawFn, depth: int = 3, *, refs: bool = True, draft7: bool = False) -> Any:
    """Schemas over every keyword that is enforced; half of them with two definitions that may refer to each other."""
    definitions = "definitions" if draft7 else "$defs"
    locations = (f"#/{definitions}/n", f"#/{definitions}/m/anyOf/0") if refs and draw(st.booleans()) else ()
    drawing = _Drawing(draw, locations, draft7=draft7)
    schema = drawing.schema(depth)
    if locations and isinstance(schema, dict):
        schema[definitions] = {
            "n": drawing.object(depth - 1, False),
            "m": {"anyOf": [drawing.array(depth - 1, False)]},
        }
    if draft7 and isinstance(schema, dict):
        schema = {"$schema": DRAFT7, **schema}
    return schema if _is_supported(schema) else _without_unique(schema)


def _is_supported(schema: Any) -> bool:
    """False where some `uniqueItems` is negated; anything else that can't be compiled is for the tests to find."""
    try:
        compile_schema(schema)
    except UnsupportedSchema as error:
        return not (error.location or "").endswith("/uniqueItems")
    except GrammarDecodeError:
        pass
    return True


def _without_unique(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_unique(each) for each in schema]
    if isinstance(schema, dict):
        return {keyword: _without_unique(value) for keyword, value in schema.items() if keyword != "uniqueItems"}
    return schema


#: A bounded metaschema, for hypothesis-jsonschema to write schemas: it can't unfold the recursive ones.
def _meta(depth: int) -> dict[str, Any]:
    count = {"enum": [0, 1, 2, 3]}
    name = {"enum": list(NAMES)}
    inner: Any = _meta(depth - 1) if depth else {"enum": [True, {}, {"type": "null"}, {"type": "integer"}]}
    names = {"type": "array", "items": name, "maxItems": 2, "uniqueItems": True}
    keywords: dict[str, Any] = {
        "type": {"enum": ["object", "array", "string", "number", "integer", ["object", "null"], ["array", "boolean"]]},
        "properties": {"type": "object", "propertyNames": name, "additionalProperties": inner, "maxProperties": 2},
        "additionalProperties": inner,
        "required": names,
        "minProperties": count,
        "maxProperties": count,
        "items": inner,
        "minItems": count,
        "maxItems": count,
        "uniqueItems": {"enum": [True, False]},
        "contains": inner,
        "minLength": count,
        "maxLength": {"enum": [2, 6]},
        "pattern": {"enum": list(PATTERNS)},
        "minimum": {"enum": list(BOUNDS[:4])},
        "maximum": {"enum": list(BOUNDS[4:])},
        "multipleOf": {"enum": list(DIVISORS)},
        "anyOf": {"type": "array", "items": inner, "minItems": 1, "maxItems": 2},
        "enum": {"type": "array", "items": {"enum": list(SCALARS)}, "minItems": 1, "maxItems": 4},
    }
    return {"type": "object", "properties": keywords, "additionalProperties": False, "maxProperties": 5}


METASCHEMA = _meta(1)

# ---- values that a schema may admit ---------------------------------------------------------------------------------

TEXTS = ("", "a", "b", "ab", "abab", "bcbc", "abc.12", "ca", "éé1", 'a"\\', "\n", "x-b", "aaaaaaaaaaaa")
NUMBERS = (0, 1, 2, 3, 6, 30, -1, -3, 0.5, 1.5, 0.25, 0.01, 4.5, 99.5, 99, 100, 100.5, -10, -9.99, 1e22)


@st.composite
def likely_values(draw: st.DrawFn, schema: Any, root: Any) -> Any:
    """A value made along the schema; often valid, but nothing is promised. ``root`` is where references lead."""
    schema = _one_way(draw, schema, root)
    if not schema or draw(st.integers(0, 9)) == 0:
        return draw(json_values())
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kinds = schema.get("type") or next((kind for word, kind in _KINDS.items() if word in schema), "string")
    kind = draw(st.sampled_from(kinds)) if isinstance(kinds, list) else kinds
    if kind == "object":
        names = dict.fromkeys(
            (*schema.get("required", ()), *schema.get("properties", {}), draw(st.sampled_from(NAMES)))
        )
        kept = [name for name in names if name in schema.get("required", ()) or draw(st.booleans())]
        additional = schema.get("additionalProperties", {})
        known = schema.get("properties", {})
        return {name: draw(likely_values(known.get(name, additional), root)) for name in kept}
    if kind == "array":
        items = schema.get("items", {})
        prefix = items if isinstance(items, list) else schema.get("prefixItems", [])
        rest = schema.get("additionalItems", {}) if isinstance(items, list) else items
        rest = draw(st.sampled_from((rest, schema.get("contains", rest))))
        low, high = schema.get("minItems", 1) - 1, schema.get("maxItems", 3) + 1
        length = draw(st.integers(max(low, 0), high)) if low < high else 0
        drawn = [draw(likely_values(prefix[i] if i < len(prefix) else rest, root)) for i in range(length)]
        if schema.get("uniqueItems") and draw(st.booleans()):
            drawn = [item for i, item in enumerate(drawn) if item not in drawn[:i]]
        return drawn
    choices = {"null": (None,), "boolean": (True, False), "string": TEXTS, "integer": NUMBERS[:7], "number": NUMBERS}
    return draw(st.sampled_from(choices[kind]))


_KINDS = {
    "properties": "object",
    "required": "object",
    "propertyNames": "object",
    "prefixItems": "array",
    "items": "array",
}


def _one_way(draw: st.DrawFn, schema: Any, root: Any) -> dict[str, Any]:
    """The schema with its references and alternatives settled: one branch, merged by overwriting."""
    merged: dict[str, Any] = {}
    while isinstance(schema, dict):
        merged = {**merged, **schema}
        if "$ref" in schema:
            schema = root
            for part in merged.pop("$ref").removeprefix("#/").split("/"):
                schema = schema[int(part) if part.isdigit() else part]
            continue
        branches = next((schema[word] for word in ("anyOf", "oneOf", "allOf") if word in schema), ())
        schema = draw(st.sampled_from(branches)) if branches else None
    return merged
