"""Schemas and documents that the benchmark makes itself, from a seed: simple, typical, wide and pathological ones.

A kind gives a schema and a function that draws a value of it. Valid and broken documents are told apart by the package
`jsonschema`, never by an engine under test.
"""

from __future__ import annotations

import copy
import gzip
import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

Draw = Callable[[random.Random], Any]
Shape = tuple[Any, Draw]

WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "haven",
    "inlet",
    "jetty",
    "knoll",
    "lagoon",
    "meadow",
    "north",
    "ocean",
    "pebble",
    "quarry",
    "ridge",
    "shore",
    "tundra",
    "upland",
    "valley",
    "willow",
    "yonder",
    "zenith",
    "account",
    "address",
    "amount",
    "city",
    "code",
    "country",
    "created",
    "currency",
    "customer",
    "date",
    "description",
    "email",
    "enabled",
    "height",
    "id",
    "index",
    "item",
    "label",
    "level",
    "limit",
    "name",
    "note",
    "number",
    "offset",
    "order",
    "owner",
    "phone",
    "price",
    "product",
    "quantity",
    "region",
    "role",
    "score",
    "sender",
    "size",
    "source",
    "state",
    "status",
    "street",
    "tag",
    "title",
    "total",
    "type",
    "unit",
    "updated",
    "url",
    "user",
    "value",
    "version",
    "weight",
    "width",
    "zone",
]


@dataclass(frozen=True)
class Case:
    name: str
    kind: str
    schema: Any
    documents: list[tuple[str, bool]]  # a JSON text, and whether it is valid


def words(rng: random.Random, least: int, most: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))


def object_of(members: dict[str, Shape], optional: tuple[str, ...] = (), *, is_open: bool = False) -> Shape:
    schema = {
        "type": "object",
        "properties": {name: shape[0] for name, shape in members.items()},
        "required": [name for name in members if name not in optional],
    }
    if not is_open:
        schema["additionalProperties"] = False

    def draw(rng: random.Random) -> Any:
        return {name: shape[1](rng) for name, shape in members.items() if name not in optional or rng.random() < 0.5}

    return schema, draw


def array_of(item: Shape, least: int, most: int) -> Shape:
    schema = {"type": "array", "items": item[0], "minItems": least, "maxItems": most}
    return schema, lambda rng: [item[1](rng) for _ in range(rng.randint(least, min(most, least + 4)))]


TEXT: Shape = ({"type": "string"}, lambda rng: words(rng, 1, 8))
SHORT: Shape = ({"type": "string", "minLength": 1, "maxLength": 60}, lambda rng: words(rng, 1, 4))
COUNT: Shape = ({"type": "integer", "minimum": 0}, lambda rng: rng.randint(0, 10_000))
AGE: Shape = ({"type": "integer", "minimum": 0, "maximum": 150}, lambda rng: rng.randint(0, 150))
PRICE: Shape = ({"type": "number", "minimum": 0}, lambda rng: rng.randint(0, 100_000) / 8)
FLAG: Shape = ({"type": "boolean"}, lambda rng: rng.random() < 0.5)
DAY: Shape = (
    {"type": "string", "format": "date"},
    lambda rng: f"{rng.randint(1990, 2030)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
)
CODE: Shape = (
    {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4,6}$"},
    lambda rng: f"{rng.choice('ABCDE')}{rng.choice('XYZ')}-{rng.randint(1000, 999_999)}",
)
SCALARS = (TEXT, SHORT, COUNT, AGE, PRICE, FLAG, DAY, CODE)


def enum_of(values: list[Any]) -> Shape:
    return {"enum": values}, lambda rng: rng.choice(values)


def simple(rng: random.Random) -> Shape:
    names = rng.sample(WORDS, rng.randint(2, 5))
    return object_of({name: rng.choice(SCALARS) for name in names})


def typical(rng: random.Random) -> Shape:
    names = rng.sample(WORDS, rng.randint(6, 12))
    members = {name: rng.choice(SCALARS) for name in names}
    members[names[0]] = enum_of(rng.sample(WORDS, 4))
    members[names[1]] = array_of(simple(rng), 0, 20)
    members[names[2]] = simple(rng)
    members[names[3]] = array_of(SHORT, 1, 10)
    return object_of(members, tuple(names[3:6]), is_open=rng.random() < 0.3)


def wide(rng: random.Random) -> Shape:
    turn = rng.randrange(3)
    if turn == 0:  # many names
        names = [f"{a}_{b}" for a, b in zip(rng.sample(WORDS, 40), rng.sample(WORDS, 40), strict=True)]
        return object_of({name: rng.choice(SCALARS) for name in names}, tuple(names[4:]))
    if turn == 1:  # a long enum
        values = sorted({f"{rng.choice(WORDS)}-{rng.choice(WORDS)}-{rng.randint(0, 99)}" for _ in range(800)})
        return object_of({"kind": enum_of(values), "others": array_of(enum_of(values), 0, 8), "note": TEXT})
    tags = rng.sample(WORDS, 20)  # a union told apart by a tag
    branches = [object_of({"type": enum_of([tag]), rng.choice(WORDS) + "_of": rng.choice(SCALARS)}) for tag in tags]
    union: Shape = ({"oneOf": [branch[0] for branch in branches]}, lambda rng: rng.choice(branches)[1](rng))
    return array_of(union, 1, 50)


def tree(rng: random.Random, depth: int = 0) -> Any:
    children = [] if depth > 3 else [tree(rng, depth + 1) for _ in range(rng.randint(0, 2))]
    return {"name": words(rng, 1, 2), "children": children}


def pathological(rng: random.Random) -> Shape:
    turn = rng.randrange(6)
    if turn == 0:
        mark = rng.choice(WORDS)
        pattern = {"type": "string", "pattern": f"{mark}.*[0-9]", "maxLength": 300}
        return object_of(
            {"text": (pattern, lambda rng: f"{words(rng, 1, 6)} {mark} {words(rng, 1, 6)} {rng.randint(0, 9)}")}
        )
    if turn == 1:
        node = {"type": "object", "required": ["name", "children"], "additionalProperties": False}
        node["properties"] = {"name": SHORT[0], "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}
        return {"$defs": {"node": node}, "$ref": "#/$defs/node"}, tree
    if turn == 2:
        values = {
            "type": "array",
            "items": {"enum": sorted(rng.sample(WORDS, 30))},
            "uniqueItems": True,
            "maxItems": 20,
        }
        allowed = values["items"]["enum"]
        return object_of({"tags": (values, lambda rng: rng.sample(allowed, rng.randint(0, 8)))})
    if turn == 3:  # conditions that do not exclude each other
        names = rng.sample(WORDS, 8)
        schema = {
            "type": "object",
            "properties": {name: {"type": "integer"} for name in names},
            "additionalProperties": False,
            "allOf": [{"if": {"required": [a]}, "then": {"required": [b]}} for a, b in itertools.pairwise(names)],
        }
        return schema, lambda rng: {name: rng.randint(0, 99) for name in names[rng.randrange(len(names)) :]}
    if turn == 4:
        step = rng.choice([0.25, 7, 12])
        items = {"type": "number", "multipleOf": step, "minimum": -1000, "maximum": 100_000}
        schema = {"type": "array", "items": items, "contains": {"minimum": 500}, "minContains": 2, "maxItems": 1000}
        most = int(90_000 // step)
        return schema, lambda rng: [step * rng.randint(int(600 // step) + 1, most) for _ in range(rng.randint(2, 6))]
    shapes = [simple(rng) for _ in range(6)]  # alternatives that nothing tells apart at the beginning
    schema = {"anyOf": [{**shape[0], "additionalProperties": True} for shape in shapes]}
    return schema, lambda rng: rng.choice(shapes)[1](rng)


KINDS: dict[str, Callable[[random.Random], Shape]] = {
    "simple": simple,
    "typical": typical,
    "wide": wide,
    "pathological": pathological,
}


def generated(count: int, seed: int) -> Iterator[Case]:
    """`count` schemas of each kind, with three valid documents each and, where one comes up, one that is not."""
    for kind, make in KINDS.items():
        for number in range(count):
            rng = random.Random(f"{seed} {kind} {number}")
            schema, draw = make(rng)
            validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
            documents = []
            for _ in range(3):
                value = draw(rng)
                validator.validate(value)  # a mistake of this file would make every engine look wrong
                documents.append((json.dumps(value, ensure_ascii=False), True))
            broken = next((b for b in (damaged(value, rng) for _ in range(20)) if not validator.is_valid(b)), None)
            if broken is not None:
                documents.append((json.dumps(broken, ensure_ascii=False), False))
            yield Case(f"{kind} {number}", kind, schema, documents)


def damaged(value: Any, rng: random.Random) -> Any:
    """The value with one thing changed: a member gone, renamed or retyped, an item too many of the wrong kind."""
    value = copy.deepcopy(value)
    places = [part for part in parts_of(value) if part]
    if not places:
        return None
    part = rng.choice(places)
    key = rng.choice(list(part)) if isinstance(part, dict) else rng.randrange(len(part))
    turn = rng.randrange(3)
    if turn == 0 and isinstance(part, dict):
        del part[key]
    elif turn == 1 and isinstance(part, dict):
        part[f"{key}_"] = part.pop(key)
    else:
        part[key] = rng.choice([None, [], {}, -1.5, "?", 10**12])
    return value


def parts_of(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from parts_of(inner)


def maskbench(path: str, count: int, seed: int) -> Iterator[Case]:
    """MaskBench's data: an object a line with `id`, `schema` and `tests` of `valid` and `data` (or `text`)."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        lines = list(file)
    if count:
        lines = random.Random(seed).sample(lines, min(count, len(lines)))
    for line in lines:
        record = json.loads(line)
        texts = [(t.get("text") or json.dumps(t["data"], ensure_ascii=False), t["valid"]) for t in record["tests"]]
        yield Case(record["id"], Path(path).name.partition(".")[0], record["schema"], texts)
