"""Random schemas over every keyword, compared with `jsonschema` on random values: a grammar accepts the valid ones.

Names, constants and bounds come from tiny pools, so that branches overlap, contradict and imply each other often.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from amounts import EVERYTHING
from grammar_decode.errors import SchemaTooComplex, UnsatisfiableSchema, UnsupportedSchema
from grammar_decode.json_schema import JsonOptions, compile_schema
from grammar_decode.reference import accepts

OPTIONS = JsonOptions(key_order="any")
NAMES = ["a", "b", "ab"]
SCALARS = [None, True, False, 0, 1, 2, 1.5, "", "a", "b", "ab"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
PATTERNS = ["a", "^a", "b$", "^(a|b)$", "^.$"]


class Schemas:
    """Draws schemas; ``depth`` bounds their nesting."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def schema(self, depth: int) -> Any:
        choose = self.random
        if depth == 0 or choose.random() < 0.1:
            return choose.choice([True, {}, {"type": choose.choice(TYPES)}, {"const": choose.choice(SCALARS)}, False])
        made: dict[str, Any] = {}
        for _ in range(choose.choice([1, 1, 2, 2, 3])):
            made.update(self.keyword(depth - 1))
        return made

    def keyword(self, depth: int) -> dict[str, Any]:
        choose = self.random
        kind = choose.choice(
            ["type", "enum", "number", "string", "object", "object", "array", "combine", "combine", "condition"]
        )
        return getattr(self, kind)(depth)  # type: ignore[no-any-return]

    def schemas(self, depth: int) -> list[Any]:
        return [self.schema(depth) for _ in range(self.random.choice([1, 2, 2, 3]))]

    def type(self, _depth: int) -> dict[str, Any]:
        return {"type": self.random.sample(TYPES, self.random.choice([1, 1, 2, 3]))}

    def enum(self, _depth: int) -> dict[str, Any]:
        pool = [*SCALARS, [], [0], {}, {"a": 0}, {"a": 0, "b": "a"}]
        return {"enum": self.random.sample(pool, self.random.choice([1, 2, 3]))}

    def number(self, _depth: int) -> dict[str, Any]:
        keyword = self.random.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
        return {keyword: self.random.choice([1, 2, 0.5])}

    def string(self, _depth: int) -> dict[str, Any]:
        keyword = self.random.choice(["minLength", "maxLength", "pattern"])
        return {keyword: self.random.choice(PATTERNS) if keyword == "pattern" else self.random.choice([0, 1, 2])}

    def object(self, depth: int) -> dict[str, Any]:
        choose = self.random
        keyword = choose.choice(
            (
                *("properties", "properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
                *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas"),
            )
        )
        if keyword in ("properties", "dependentSchemas"):
            names = choose.sample(NAMES, choose.choice([1, 2]))
            return {keyword: {name: self.schema(depth) for name in names}}
        if keyword == "patternProperties":
            return {keyword: {p: self.schema(depth) for p in choose.sample(PATTERNS, choose.choice([1, 2]))}}
        if keyword == "required":
            return {keyword: choose.sample(NAMES, choose.choice([1, 2]))}
        if keyword == "dependentRequired":
            return {keyword: {choose.choice(NAMES): [choose.choice(NAMES)]}}
        if keyword.endswith("Properties") and keyword.startswith(("min", "max")):
            return {keyword: choose.choice([0, 1, 2])}
        return {keyword: self.schema(depth)}

    def array(self, depth: int) -> dict[str, Any]:
        choose = self.random
        keyword = choose.choice(["items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems"])
        if keyword == "uniqueItems":
            return {keyword: True}
        if keyword == "prefixItems":
            return {keyword: self.schemas(depth)}
        if keyword == "contains":
            found: dict[str, Any] = {keyword: self.schema(depth)}
            if choose.random() < 0.5:
                found[choose.choice(["minContains", "maxContains"])] = choose.choice([0, 1, 2])
            return found
        return {keyword: self.schema(depth) if keyword == "items" else choose.choice([0, 1, 2])}

    def combine(self, depth: int) -> dict[str, Any]:
        keyword = self.random.choice(["allOf", "anyOf", "oneOf", "not"])
        return {keyword: self.schema(depth) if keyword == "not" else self.schemas(depth)}

    def condition(self, depth: int) -> dict[str, Any]:
        found = {"if": self.schema(depth), "then": self.schema(depth), "else": self.schema(depth)}
        found.pop(self.random.choice(["then", "else", "none"]), None)
        return found

    def value(self, depth: int) -> Any:
        choose = self.random
        kind = choose.choice(["scalar", "scalar", "array", "object", "object"]) if depth else "scalar"
        if kind == "scalar":
            return choose.choice(SCALARS)
        if kind == "array":
            items = [self.value(depth - 1) for _ in range(choose.choice([0, 1, 1, 2, 3]))]
            return [*items, *items[:1]] if choose.random() < 0.2 else items
        return {name: self.value(depth - 1) for name in choose.sample([*NAMES, "c"], choose.choice([0, 1, 1, 2, 3]))}


@pytest.mark.parametrize("block", range(8))
def test_accepts_what_the_validator_accepts(block: int) -> None:
    for seed in range(block * 25, block * 25 + (25 if EVERYTHING else 6)):
        drawn = Schemas(seed)
        schema = drawn.schema(3)
        validator = Draft202012Validator(schema)
        values = [drawn.value(2) for _ in range(40)] + [None, 0, "a", [], {}, {"a": 0}, {"b": "a"}, [0]]
        valid = [bool(validator.is_valid(value)) for value in values]
        try:
            grammar, _ = compile_schema(schema, OPTIONS)
        except UnsatisfiableSchema:
            assert not any(valid), (seed, schema)
            continue
        except (SchemaTooComplex, UnsupportedSchema):
            continue  # an array that must hold two equal items is refused
        for value, expected in zip(values, valid, strict=True):
            text = json.dumps(value)
            assert accepts(grammar, text.encode()) == expected, (seed, schema, text, expected)
