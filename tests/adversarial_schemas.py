"""The families of `adversarial.py`: what makes a schema cost as much as it can, each made from a number."""

# ruff: noqa: E501 (a schema in a line each)

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

NUMBER_OF_SCHEMAS = 1_000

Family = Callable[[int, random.Random], Any]
FAMILIES: dict[str, Family] = {}


def family(make: Family) -> Family:
    FAMILIES[make.__name__] = make
    return make


def size(k: int, *sizes: int) -> int:
    """One of the sizes, by the number of the schema; the last ones are the hardest."""
    return sizes[k % len(sizes)]


def inside(depth: int, innermost: Any, wrap: Callable[[Any, int], Any]) -> Any:
    schema = innermost
    for level in range(depth):
        schema = wrap(schema, level)
    return schema


# ---- nesting --------------------------------------------------------------------------------------------------------

WRAPS: list[Callable[[Any, int], Any]] = [
    lambda s, _: {"items": s},
    lambda s, _: {"properties": {"a": s}, "required": ["a"]},
    lambda s, _: {"not": s},
    lambda s, _: {"allOf": [s]},
    lambda s, _: {"anyOf": [s, {"type": "null"}]},
    lambda s, _: {"oneOf": [s, {"type": "null"}]},
    lambda s, _: {"if": s, "then": s},
    lambda s, _: {"additionalProperties": s},
    lambda s, _: {"contains": s},
    lambda s, _: {"prefixItems": [s]},
    lambda s, _: {"dependentSchemas": {"a": s}},
    lambda s, _: {"propertyNames": s},
    lambda s, i: {"$defs": {f"d{i}": s}, "$ref": f"#/$defs/d{i}"},
    lambda s, i: {"patternProperties": {f"^{i % 10}": s}},
    lambda s, _: {"unevaluatedProperties": s},
    lambda s, _: {"$id": "x", "items": s},
    lambda s, _: {"enum": [[s]]} if not isinstance(s, dict) or "enum" not in s else {"enum": [[s["enum"][0]]]},
]


@family
def nested_objects(k: int, rng: random.Random) -> Any:
    return inside(size(k // len(WRAPS), 100, 1_000, 100_000), {"type": "null"}, WRAPS[k % len(WRAPS)])


@family
def nested_text(k: int, rng: random.Random) -> Any:
    depth = size(k, 1_000, 10_000, 100_000)
    opening, closing = (("[", "]"), ('{"a":', "}"), ('{"items":', "}"), ('{"not":', "}"), ('{"enum":[', "]}"))[k % 5]
    core = "1" if opening == "[" else "{}"
    text = opening * depth + core + closing * depth
    return text if opening != "[" else '{"const":' + text + "}"


@family
def nested_mixed(k: int, rng: random.Random) -> Any:
    def wrap(schema: Any, level: int) -> Any:
        return rng.choice(WRAPS[:14])(schema, level)

    return inside(size(k, 50, 150, 400, 1_400), {"type": "integer"}, wrap)


# ---- references -----------------------------------------------------------------------------------------------------


@family
def reference_ladder(k: int, rng: random.Random) -> Any:
    """Each rung names the next one twice or more: 2^n paths."""
    keyword = ("allOf", "anyOf", "oneOf", "properties", "prefixItems")[k % 5]
    n, width = size(k, 20, 60, 200, 1_000), 2 + k % 3
    rungs: dict[str, Any] = {}
    for i in range(n):
        refs = [{"$ref": f"#/$defs/r{i + 1}"}] * width
        rungs[f"r{i}"] = {keyword: {f"p{j}": r for j, r in enumerate(refs)} if keyword == "properties" else refs}
    return {"$ref": "#/$defs/r0", "$defs": {**rungs, f"r{n}": {"type": ["integer", "object"]}}}


@family
def reference_chain(k: int, rng: random.Random) -> Any:
    """Schemas that are nothing but a reference to the next one, and many that look at each of them."""
    n = size(k, 100, 5_000, 40_000)
    links: list[Any] = [{"$ref": f"#/$defs/l{i + 1}"} for i in range(n)]
    if k % 4 == 1:
        links = [{"allOf": [link]} for link in links]
    elif k % 4 == 2:
        links = [{"anyOf": [link, False]} for link in links]
    last = {"$ref": "#/$defs/l0"} if k % 5 == 4 else {"type": "string"}
    return {"properties": {f"p{i}": link for i, link in enumerate(links)}, "$defs": {**{f"l{i}": link for i, link in enumerate(links)}, f"l{n}": last}}  # fmt: skip


@family
def reference_cycle(k: int, rng: random.Random) -> Any:
    n = size(k, 1, 2, 50, 3_000)
    through = (
        lambda r: r,
        lambda r: {"items": r},
        lambda r: {"properties": {"a": r}, "required": ["a"]},
        lambda r: {"not": r},
    )[k % 4]
    return {"$ref": "#/$defs/c0", "$defs": {f"c{i}": through({"$ref": f"#/$defs/c{(i + 1) % n}"}) for i in range(n)}}


@family
def reference_web(k: int, rng: random.Random) -> Any:
    n = size(k, 10, 40, 120)
    defs = {}
    for i in range(n):
        refs = [{"$ref": f"#/$defs/w{rng.randrange(n)}"} for _ in range(3)]
        keyword = rng.choice(["anyOf", "oneOf", "allOf"])
        defs[f"w{i}"] = {
            "type": "object",
            "properties": {"a": {keyword: refs}, f"b{i}": refs[0]},
            "required": rng.sample(["a", f"b{i}"], rng.randrange(3)),
        }
    return {"$ref": "#/$defs/w0", "$defs": defs}


@family
def dynamic_references(k: int, rng: random.Random) -> Any:
    n = size(k, 5, 30, 120)
    defs = {
        f"d{i}": {
            "$id": f"http://x/{i}",
            "$dynamicAnchor": "node",
            "properties": {"a": {"$ref": f"http://x/{(i * 7 + 1) % n}"}, "b": {"$dynamicRef": "#node"}},
        }
        for i in range(n)
    }
    return {"$id": "http://x/root", "$dynamicAnchor": "node", "$ref": "http://x/0", "$defs": defs}


@family
def meta_schemas(k: int, rng: random.Random) -> Any:
    uri = (
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-04/schema#",
        "https://json-schema.org/draft/2019-09/schema",
    )[k % 4]
    schema: Any = {"$ref": uri}
    if k >= 4:
        schema = {("anyOf", "oneOf", "allOf")[k % 3]: [schema, {"not": {"$ref": uri}}, {"minProperties": k}]}
    return schema


# ---- alternatives ---------------------------------------------------------------------------------------------------


@family
def exponential_any_of(k: int, rng: random.Random) -> Any:
    """allOf of n choices between two claims: 2^n combinations."""
    n, keyword = size(k, 8, 16, 64, 400), ("anyOf", "oneOf")[k % 2]

    def claim(i: int, j: int) -> Any:
        return (
            {"properties": {f"p{i}": {"const": j}}, "required": [f"p{i}"]},
            {"required": [f"p{i}{j}"]},
            {"minProperties": i + j},
            {"contains": {"const": i * 2 + j}},
            {"properties": {"shared": {"multipleOf": 2 * i + j + 1}}},
            {"additionalProperties": {"minimum": i * 2 + j}},
            {"patternProperties": {f"^{i}{j}": {"type": "string"}}},
        )[k // 2 % 7]

    return {"type": ["object", "array"], "allOf": [{keyword: [claim(i, 0), claim(i, 1)]} for i in range(n)]}


@family
def nested_any_of(k: int, rng: random.Random) -> Any:
    depth, width, keyword = size(k, 3, 5, 8), 3 + k % 4, ("anyOf", "oneOf")[k % 2]

    def make(level: int, path: str) -> Any:
        if level == 0:
            return {"properties": {path[:1] or "a": {"const": path}}, "required": [path[-1:] or "b"]}
        if width**level > 3_000:
            return make(level - 1, path + "z")
        return {keyword: [make(level - 1, path + chr(97 + i)) for i in range(width)]}

    return make(depth, "")


@family
def many_branches(k: int, rng: random.Random) -> Any:
    n, keyword = size(k, 50, 300, 2_000, 10_000), ("anyOf", "oneOf")[k % 2]
    makes: list[Callable[[int], Any]] = [
        lambda i: {"type": "object", "properties": {f"f{i}": {"type": "string"}}, "required": [f"f{i}"]},
        lambda i: {"type": "object", "properties": {"a": {"minimum": i}, "b": {"maximum": i}}},
        lambda i: {"type": "object", "properties": {"kind": {"const": f"k{i}"}, "v": {"type": "integer"}}, "required": ["kind"]},
        lambda i: {"type": "array", "items": {"const": i}, "minItems": i % 7},
        lambda i: {"pattern": f"a{{{i}}}"},
        lambda i: {"multipleOf": i + 1},
        lambda i: {"minLength": i, "maxLength": 2 * i},
    ]  # fmt: skip
    return {keyword: [makes[k // 2 % len(makes)](i) for i in range(n)]}


@family
def conditionals(k: int, rng: random.Random) -> Any:
    n = size(k, 5, 20, 100, 300)

    def part(i: int) -> Any:
        condition = {"properties": {f"a{i % 9}": {"const": i}}, "required": [f"a{i % 9}"]}
        return {"if": condition, "then": {"required": [f"b{i}"]}, "else": {"properties": {f"c{i}": False}}}

    if k % 2:
        return {"allOf": [part(i) for i in range(n)]}
    return inside(n, {}, lambda s, i: {**part(i), "then": s})


@family
def negations(k: int, rng: random.Random) -> Any:
    n = size(k, 5, 30, 200)
    part = (
        {"required": ["a", "b"]},
        {"properties": {"a": {"type": "string"}}},
        {"items": {"type": "integer"}},
        {"pattern": "a.b"},
        {"multipleOf": 3},
    )[k % 5]
    if k % 2:
        return {"allOf": [{"not": {**part, "title": str(i), "minProperties": i, "maxLength": i}} for i in range(n)]}
    return inside(n, part, lambda s, i: {"not": {"anyOf": [s, {"minLength": i}, {"required": [f"r{i}"]}]}})


# ---- patterns -------------------------------------------------------------------------------------------------------

PATTERNS: list[Callable[[int], str]] = [
    lambda _: "^(a+)+$",
    lambda n: f"^((a|a)*){{{n}}}b$",
    lambda n: "(x+x+)+y" * min(n, 20),
    lambda n: f"^.*a.{{{n}}}$",
    lambda n: f"a.{{{n}}}b.{{{n}}}c",
    lambda n: "".join(f"(?=.*{chr(97 + i % 26)}{i})" for i in range(min(n, 60))) + ".*",
    lambda n: "".join(f"(?!.*{chr(97 + i % 26)}{i})" for i in range(min(n, 60))) + ".*",
    lambda n: "(" * n + "a" + ")*" * n,
    lambda n: "|".join(f"a{i}.*b{i}" for i in range(n)),
    lambda n: f"(?:[a-z]{{1,{n}}}-){{1,{n}}}",
    lambda n: f"(((a{{{n}}}){{{n}}}){{{n}}}){{{n}}}",
    lambda n: r"\p{L}*\p{N}*" * min(n, 200),
    lambda n: "[" + "".join(chr(0x4E00 + 2 * i) for i in range(n)) + "]{5}",
    lambda n: ".?" * n + "." * n,
    lambda n: f"^(?:{'|'.join('ab' * i for i in range(1, min(n, 300)))})*$",
    lambda n: r"\b" + r"\w+\b\W*" * min(n, 60),
    lambda n: f"(a?){{{n}}}a{{{n}}}",
    lambda n: "(?:" * min(n, 3000) + "a" + ")" * min(n, 3000),
    lambda n: f"a{{{n * 1000}}}",
    lambda n: f"(?=.{{{n}}}a)(?=.{{{n + 1}}}b)(?!.{{{n + 2}}}c).*",
    lambda n: "(?<=a.*)" * min(n, 10) + "b",
    lambda n: f"^(?!.*(.).{{0,{n}}}x).*$",
]  # fmt: skip


@family
def catastrophic_pattern(k: int, rng: random.Random) -> Any:
    return {"type": "string", "pattern": PATTERNS[k % len(PATTERNS)](size(k // len(PATTERNS), 10, 100, 1_000, 10_000))}


@family
def patterns_together(k: int, rng: random.Random) -> Any:
    n = size(k, 4, 12, 40)
    patterns = [PATTERNS[rng.randrange(len(PATTERNS))](size(i, 3, 10, 30)) for i in range(n)]
    if k % 3 == 0:
        return {"type": "string", "allOf": [{"pattern": p} for p in patterns], "minLength": k, "maxLength": 10 * k}
    if k % 3 == 1:
        return {"type": "string", "pattern": patterns[0], "not": {"anyOf": [{"pattern": p} for p in patterns[1:]]}}
    return {"type": "string", "oneOf": [{"pattern": p} for p in patterns]}


@family
def pattern_properties(k: int, rng: random.Random) -> Any:
    n = size(k, 5, 10, 20, 50, 200)
    shape = ("^.*{}", "{}.*$", "{}.", "^[a-{}]+$", "(?=.*{}).*z")[k % 5]
    letters = [chr(97 + i % 26) + (str(i) if i >= 26 and k % 5 != 3 else "") for i in range(n)]
    value = ({"type": "string"}, {"minimum": 1}, True)[k % 3]
    schema: dict[str, Any] = {
        "type": "object",
        "patternProperties": {shape.format(c): value if k % 2 else {"minimum": i} for i, c in enumerate(letters)},
    }
    if k % 4 == 0:
        schema["additionalProperties"] = False
    if k % 4 == 1:
        schema |= {"minProperties": n, "propertyNames": {"pattern": "a.*b"}}
    return schema


@family
def property_names(k: int, rng: random.Random) -> Any:
    n = size(k, 3, 20, 200)
    return {
        "type": "object",
        "propertyNames": {"anyOf": [{"pattern": f"^[a-m]{{{i}}}.*{i}$"} for i in range(n)], "maxLength": 3 * n},
        "minProperties": n,
        "patternProperties": {".*x.*": {"type": "null"}},
        "required": [f"a{'b' * i}1" for i in range(n % 20)],
    }


# ---- counts ---------------------------------------------------------------------------------------------------------


@family
def huge_counts(k: int, rng: random.Random) -> Any:
    huge = (10**4, 10**6, 2**31, 2**32 - 2, 2**32, 2**63, 10**30, 10**400, 1e300)[k % 9]
    return (
        {"type": "array", "minItems": huge},
        {"type": "array", "maxItems": huge, "items": {"type": "integer"}, "uniqueItems": True},
        {"type": "string", "minLength": huge},
        {"type": "string", "maxLength": huge, "pattern": "^(ab)*$"},
        {"type": "object", "minProperties": huge},
        {"type": "object", "maxProperties": huge, "patternProperties": {"^a": {}}},
        {"type": "array", "contains": {"const": 1}, "minContains": huge},
        {"type": "array", "contains": {"const": 1}, "maxContains": huge, "minContains": 3},
        {"type": "integer", "minimum": -huge, "maximum": huge},
        {"type": "number", "multipleOf": huge},
        {"type": "string", "pattern": f"^a{{{int(min(huge, 10**20))}}}$"},
    )[k // 9 % 11]


@family
def counts_against_each_other(k: int, rng: random.Random) -> Any:
    n = size(k, 10, 100, 1_000, 20_000)
    return (
        {"type": "object", "properties": {f"p{i}": {} for i in range(n)}, "additionalProperties": False, "minProperties": n - 1},
        {"type": "array", "prefixItems": [{"const": i} for i in range(n)], "items": False, "minItems": n},
        {"type": "array", "uniqueItems": True, "items": {"enum": list(range(min(n, 2_000)))}, "minItems": min(n, 2_000)},
        {"type": "array", "allOf": [{"contains": {"const": i}} for i in range(min(n, 200))], "maxItems": min(n, 200)},
        {"type": "object", "dependentRequired": {f"p{i}": [f"p{i + 1}"] for i in range(n)}, "required": ["p0"], "maxProperties": n + 1},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": n},
        {"type": "array", "uniqueItems": True, "items": {"type": "array", "uniqueItems": True, "items": {"enum": [1, 2, 3, 4, 5]}}, "minItems": min(n, 300)},
    )[k // 4 % 7]  # fmt: skip


@family
def numbers(k: int, rng: random.Random) -> Any:
    digits = size(k, 10, 100, 400, 3_000)
    low = int("".join(rng.choices("123456789", k=digits)))
    return (
        {"type": "integer", "minimum": low, "maximum": low * 3},
        {"type": "integer", "multipleOf": low},
        {"type": "number", "multipleOf": 10.0**-min(digits, 300)},
        {"type": "integer", "allOf": [{"multipleOf": p} for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)[: 3 + k % 8]]},
        {"type": "integer", "not": {"multipleOf": 9_973}, "multipleOf": 97, "minimum": low},
        {"type": "number", "exclusiveMinimum": 10.0**-min(digits, 300), "maximum": 1e-3},
        {"const": low},
        {"enum": [low + i for i in range(1_000)]},
        {"type": "integer", "multipleOf": 2 ** min(digits, 40), "minimum": 1},
        {"type": "number", "anyOf": [{"minimum": i, "maximum": i + 0.5, "multipleOf": 0.001 * (i + 1)} for i in range(digits % 90)]},
    )[k // 4 % 10]  # fmt: skip


# ---- sizes ----------------------------------------------------------------------------------------------------------


@family
def wide(k: int, rng: random.Random) -> Any:
    n = size(k, 1_000, 10_000, 60_000)
    return (
        {"type": "object", "properties": {f"property {i}": {"type": "integer"} for i in range(n)}},
        {"enum": [f"value {i}" for i in range(n)]},
        {"enum": list(range(n))},
        {"enum": [{"a": i, "b": [i]} for i in range(n // 10)]},
        {"type": "array", "prefixItems": [{"type": "integer"}] * n},
        {"type": "object", "required": [f"r{i}" for i in range(n)]},
        {"type": "object", "properties": {f"p{i}": {"enum": [f"{i}{j}" for j in range(10)]} for i in range(n // 10)}, "required": [f"p{i}" for i in range(0, n // 10, 2)]},
        {"type": "object", "properties": {f"p{i}": {"$ref": f"#/$defs/p{i}"} for i in range(n // 10)}, "$defs": {f"p{i}": {"type": "array", "items": {"maximum": i}} for i in range(n // 10)}},
        {"not": {"enum": [f"v{i}" for i in range(n)]}},
        {"allOf": [{"not": {"const": f"v{i}"}} for i in range(n // 10)]},
    )[k // 3 % 10]  # fmt: skip


@family
def long_texts(k: int, rng: random.Random) -> Any:
    n = size(k, 1_000, 100_000, 3_000_000)
    text = ("a" * n, "é" * n, "\U0001f600" * (n // 4), '"\\' * (n // 2), "\x00" * n, "".join(rng.choices("ab", k=n)))[
        k // 3 % 6
    ]
    return (
        {"properties": {text: {"type": "integer"}}, "required": [text]},
        {"const": text},
        {"enum": [text, text + "x"]},
        {"pattern": text if k // 3 % 6 != 3 else "a" * n},
        {"description": text, "type": "string"},
        {"$ref": "#/$defs/" + text, "$defs": {text: {"type": "null"}}},
        {"patternProperties": {"^" + ("a" * n): {}}},
        {"format": text, "type": "string"},
    )[k % 8]


@family
def odd_characters(k: int, rng: random.Random) -> Any:
    keys = [
        "\x00",
        "\ud800",
        "\udfff\ud800",
        "",
        "\x7f",
        "\u2028",
        "\ufeff",
        "a\x00b",
        "/~",
        "%25",
        "\U0010ffff",
        "\ud83d\ude00",
        "$ref",
        "__proto__",
        "\x1f",
    ]
    rng.shuffle(keys)
    return (
        {"properties": {key: {"type": "string"} for key in keys}, "required": keys[:5], "additionalProperties": False},
        {"enum": keys},
        {"const": {key: [key] for key in keys}},
        {"patternProperties": {"^[\\ud800-\\udfff]+$": {"type": "null"}, "\\x00": False}, "required": keys[:3]},
        {"propertyNames": {"enum": keys}, "minProperties": len(keys)},
        {"$defs": {key: {"const": key} for key in keys}, "anyOf": [{"$ref": "#/$defs/" + key} for key in keys]},
        {"type": "string", "pattern": keys[0] or "a", "not": {"const": keys[1]}},
        json.dumps({"properties": {key: {"const": key} for key in keys}, "required": keys}),
    )[k % 8]


@family
def wrong_types(k: int, rng: random.Random) -> Any:
    keyword = rng.choice(
        [
            "type",
            "properties",
            "items",
            "required",
            "enum",
            "minimum",
            "pattern",
            "anyOf",
            "$ref",
            "$id",
            "$defs",
            "format",
            "minItems",
            "uniqueItems",
            "dependentRequired",
            "$schema",
            "$anchor",
            "if",
            "contains",
            "propertyNames",
            "const",
            "multipleOf",
        ]
    )
    value = rng.choice(
        [
            None,
            True,
            1,
            -1,
            1.5,
            float("inf"),
            float("nan"),
            "",
            "x" * 10_000,
            [],
            [[]] * 1_000,
            {},
            {"": {"": {}}},
            [{}] * 1_000,
            {"a": None},
            -(10**400),
        ]
    )
    return {keyword: value, rng.choice(["not", "items", "$defs"]): {keyword: value}}


@family
def formats(k: int, rng: random.Random) -> Any:
    names = [
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uuid",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    ]
    name, other = names[k % len(names)], names[k * 7 % len(names)]
    return (
        {"type": "string", "format": name, "pattern": "a.*b.*c", "minLength": 5, "maxLength": 300},
        {"type": "string", "not": {"format": name}, "format": other},
        {"type": "string", "allOf": [{"format": name}, {"format": other}]},
        {"type": "object", "propertyNames": {"format": name}, "minProperties": 3},
    )[k // len(names) % 4]  # fmt: skip


@family
def unevaluated(k: int, rng: random.Random) -> Any:
    n = size(k, 3, 10, 40)
    branches = [
        {"properties": {f"p{i}": {"type": "string"}, f"q{i % 5}": True}, "required": [f"p{i}"]} for i in range(n)
    ]
    arrays = [{"prefixItems": [{"type": "string"}] * i, "contains": {"const": i}} for i in range(n)]
    keyword = ("anyOf", "oneOf", "allOf")[k % 3]
    if k % 2:
        return {"type": "object", keyword: branches, "unevaluatedProperties": {"type": "integer"} if k % 5 else False}
    return {"type": "array", keyword: arrays, "unevaluatedItems": False}


@family
def distinct_items(k: int, rng: random.Random) -> Any:
    n = size(k, 3, 20, 300)
    item = (
        {"type": "boolean"},
        {"enum": [[i, [i]] for i in range(n)]},
        {"type": "string", "maxLength": 2, "pattern": "^[ab]*$"},
        {
            "type": "object",
            "properties": {f"b{i}": {"type": "boolean"} for i in range(min(n, 12))},
            "additionalProperties": False,
        },
        {"type": "array", "items": {"enum": [0, 0.0, 1, 10, 1e1, "1"]}, "maxItems": 3},
        {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": n},
        {"anyOf": [{"const": i} for i in range(n)]},
    )[k // 3 % 7]
    return {
        "type": "array",
        "uniqueItems": True,
        "minItems": n,
        "items": item,
        **({"contains": {"type": "object"}} if k % 4 == 0 else {}),
    }


@family
def random_keywords(k: int, rng: random.Random) -> Any:
    """Anything inside anything."""

    def schema(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.1:
            return rng.choice(
                [
                    True,
                    False,
                    {},
                    {"type": "string"},
                    {"const": 1},
                    {"pattern": "a+b"},
                    {"$ref": "#"},
                    {"minimum": 3},
                    {"enum": [1, "a", None]},
                ]
            )
        made: dict[str, Any] = {}
        for _ in range(rng.randrange(1, 5)):
            keyword = rng.choice(
                [
                    "allOf",
                    "anyOf",
                    "oneOf",
                    "not",
                    "if",
                    "then",
                    "else",
                    "properties",
                    "patternProperties",
                    "items",
                    "prefixItems",
                    "contains",
                    "required",
                    "propertyNames",
                    "minItems",
                    "uniqueItems",
                    "unevaluatedProperties",
                    "unevaluatedItems",
                    "dependentSchemas",
                    "additionalProperties",
                    "minContains",
                    "maxProperties",
                ]
            )
            if keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
                made[keyword] = [schema(depth - 1) for _ in range(rng.randrange(1, 4))]
            elif keyword in ("properties", "dependentSchemas"):
                made[keyword] = {rng.choice("abcd"): schema(depth - 1) for _ in range(3)}
            elif keyword == "patternProperties":
                made[keyword] = {rng.choice(["^a", "b$", ".c", "[a-d]"]): schema(depth - 1) for _ in range(2)}
            elif keyword == "required":
                made[keyword] = rng.sample("abcd", rng.randrange(4))
            elif keyword in ("minItems", "minContains", "maxProperties"):
                made[keyword] = rng.randrange(5)
            elif keyword == "uniqueItems":
                made[keyword] = True
            else:
                made[keyword] = schema(depth - 1)
        return made

    return schema(size(k, 3, 5, 7))


# ---- all of them ----------------------------------------------------------------------------------------------------


def schemas(count: int = NUMBER_OF_SCHEMAS) -> Iterator[tuple[str, int]]:
    """The families in turn, each with its numbers."""
    names = list(FAMILIES)
    for index in range(count):
        yield names[index % len(names)], index // len(names)


def made(name: str, k: int) -> Any:
    return FAMILIES[name](k, random.Random(f"{name} {k}"))
