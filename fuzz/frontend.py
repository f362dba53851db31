"""Fuzz targets of the Python side: ``python fuzz/frontend.py TARGET [CORPUS ...] [-max_total_time=SECONDS]``.

Targets: ``schema`` (JSON as a schema), ``pattern`` (ECMA-262), ``saved`` (from_bytes of Grammar and Vocabulary), ``gguf`` and ``tokenizer``
(files of vocabularies). Each knows what may be raised; everything else is a finding, and so is a broken promise: a mask
and a matcher that differ, a grammar that is another one after saving, two readings of one pattern.

With atheris the search is guided by coverage of the Python code. Without it the inputs are mutations of the corpus by a
fixed seed, which is weaker, and said so at the start. The kernel has its own targets, in ``kernel/``.
"""

# ruff: noqa: E501 (tables of fragments)

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

try:
    import atheris
except ImportError:
    atheris = None


class _KernelFinder:
    """Where the kernel of the editable install is, for a package that is imported from its sources."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return spec_from_file_location(name, self.path) if name == "grammar_decode._core" else None


def import_from_sources() -> None:
    """Go around the loader of the editable install, which atheris can't instrument."""
    kernel = next(Path(sys.prefix).glob("lib/python*/site-packages/grammar_decode/_core*.so"), None)
    if kernel is not None:
        sys.meta_path[:] = [
            f for f in sys.meta_path if "Editable" not in type(f).__name__ and "Redirect" not in type(f).__name__
        ]
        sys.meta_path.insert(0, _KernelFinder(kernel))  # type: ignore[arg-type]
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))


if atheris is not None:
    import_from_sources()
    with atheris.instrument_imports(include=["grammar_decode"]):
        import grammar_decode as gd
        from grammar_decode.json_schema.matching import matches
else:
    import grammar_decode as gd
    from grammar_decode.json_schema.matching import matches

LIMITS = gd.Limits(max_compile_seconds=1.0, max_mask_seconds=1.0, max_states=50_000, max_nodes=5_000)
VOCABULARY = gd.Vocabulary(
    [*(bytes([b]) for b in range(256)), b'{"', b'":', b'","', b"]}", b"\xc3\xa9", b"  ", b"1,1", None],
    stop_token_ids=[263],
)
SCRATCH = Path(tempfile.gettempdir()) / f"grammar-decode-fuzz-{time.time_ns()}"


class BrokenPromise(AssertionError):
    """What the package says of itself does not hold."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise BrokenPromise(what)


def follow(grammar: gd.Grammar, rng: random.Random, steps: int = 6) -> None:
    """Masks along a random way, each compared with the matcher."""
    matcher = gd.GrammarMatcher(grammar, VOCABULARY)
    bitmask = gd.allocate_token_bitmask(1, VOCABULARY.size)
    for _ in range(steps):
        matcher.fill_next_token_bitmask(bitmask)
        allowed = [t for t in range(VOCABULARY.size) if bitmask[0, t // 32] >> (t % 32) & 1]
        check(bool(allowed), "a mask is empty")
        for token in rng.sample(range(VOCABULARY.size), 8):
            check(matcher.fork().accept_token(token) == (token in allowed), "mask and accept_token differ")
        check(matcher.accept_token(rng.choice(allowed)), "a token of the mask was refused")
        if matcher.is_terminated():
            return


def schema(data: bytes) -> None:
    rng = random.Random(data)
    options = gd.JsonOptions(
        key_order=rng.choice(("any", "schema")), whitespace=rng.choice(("any", "compact")), openapi=rng.random() < 0.2
    )
    try:
        grammar = gd.compile_json_schema(data, options, limits=LIMITS, cache=None)
    except gd.SchemaTooComplex as error:
        check(error.location is not None and hasattr(LIMITS, error.limit), "a limit without name or place")
        return
    except gd.SchemaError:
        return
    list(grammar.report)
    try:
        follow(grammar, rng)
    except gd.SchemaTooComplex:
        return
    check(gd.Grammar.from_bytes(grammar.to_bytes()) == grammar, "another grammar after saving")


def pattern(data: bytes) -> None:
    text = (
        data.decode("utf-8", "surrogatepass" if len(data) % 2 else "replace")
        if is_text(data)
        else data.decode("latin-1")
    )
    rng = random.Random(data)
    try:
        grammar = gd.compile_json_schema({"type": "string", "pattern": text}, limits=LIMITS, cache=None)
        candidates = [text[:8], text[::-1][:6], "", "a", "ab1 _", "\u00e9x", *(c * rng.randrange(4) for c in text[:4])]
        for candidate in candidates:
            if any(0xD800 <= ord(c) <= 0xDFFF for c in candidate):
                continue
            matcher = gd.GrammarMatcher(grammar, VOCABULARY)
            accepted = (
                matcher.accept_bytes(json.dumps(candidate, ensure_ascii=False).encode()) and matcher.is_accepting()
            )
            check(accepted == matches(text, candidate), f"two readings of {text!r} on {candidate!r}")
        follow(grammar, rng, 3)
    except gd.SchemaError:
        pass
    try:
        follow(gd.compile_regex(text, limits=LIMITS), rng, 3)
    except (gd.PatternError, gd.SchemaTooComplex):
        pass


def is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def saved(data: bytes) -> None:
    if data.startswith(b"GDVO"):
        try:
            vocabulary = gd.Vocabulary.from_bytes(data)
        except gd.SerializationError:
            return
        check(gd.Vocabulary.from_bytes(vocabulary.to_bytes()) == vocabulary, "another vocabulary after saving")
        return
    try:
        grammar = gd.Grammar.from_bytes(data)
    except gd.SerializationError:
        return
    # Whoever keeps the checksum right may write any grammar: it is safe, whatever it means.
    try:
        repr(grammar), list(grammar.report), grammar.to_bytes(), grammar.ir
        matcher = gd.GrammarMatcher(grammar, VOCABULARY)
        bitmask = gd.allocate_token_bitmask(1, VOCABULARY.size)
        for token in (123, 34, 97, 34, 58, 49, 125):
            matcher.fill_next_token_bitmask(bitmask)
            matcher.accept_token(token)
    except (gd.SchemaError, gd.SerializationError):
        pass


def gguf(data: bytes) -> None:
    SCRATCH.write_bytes(data)
    try:
        gd.Vocabulary.from_gguf(SCRATCH)
    except gd.VocabularyError:
        pass


def tokenizer(data: bytes) -> None:
    try:
        gd.Vocabulary.from_tokenizer_json(data)
    except gd.VocabularyError:
        pass


TARGETS: dict[str, Callable[[bytes], None]] = {f.__name__: f for f in (schema, pattern, saved, gguf, tokenizer)}


# ---- mutations that keep the outer form ------------------------------------------------------------------------------

FRAGMENTS: list[Any] = [
    True, False, None, 0, -1, 1.5, 10**20, 1e300, "", "a", "\x00", "é", "\ud800", [], {}, [1, "a"], {"a": 1}, {"type": "string"}, {"type": ["object", "null"]},
    {"enum": [1, "a", None, 1.0]}, {"pattern": "^a+b*$"}, {"$ref": "#"}, {"$ref": "#/$defs/a"}, {"minLength": 2, "maxLength": 3}, {"format": "date-time"},
    {"required": ["a", "b"]}, {"properties": {"a": {"type": "integer"}, "b": True}}, {"additionalProperties": False}, {"items": {"type": "number"}},
    {"patternProperties": {"^a": {"type": "null"}, "b$": False}}, {"uniqueItems": True, "minItems": 2}, {"contains": {"const": 1}, "maxContains": 2},
    {"anyOf": [{"minimum": 3}, {"multipleOf": 2}]}, {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"not": {"const": {"a": []}}},
    {"if": {"minimum": 1}, "then": {"maximum": 9}, "else": False}, {"unevaluatedProperties": False}, {"propertyNames": {"maxLength": 3}}, {"$dynamicRef": "#n"},
    {"dependentRequired": {"a": ["b"]}}, {"dependentSchemas": {"a": {"minProperties": 2}}}, {"prefixItems": [{}, False]}, {"$schema": "http://json-schema.org/draft-07/schema#"},
]  # fmt: skip
WORDS = [*"ab", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "items", "type", "const", "enum", "not", "allOf", "anyOf", "oneOf", "properties", "required",
         "minimum", "exclusiveMaximum", "multipleOf", "minItems", "maxProperties", "unevaluatedItems", "additionalItems", "dependencies", "nullable", "discriminator"]  # fmt: skip


def mutated_json(value: Any, rng: random.Random) -> Any:
    """One place changed: replaced, removed, doubled, renamed, or wrapped."""
    if rng.random() < 0.25 or not isinstance(value, (dict, list)) or not value:
        kind = rng.randrange(4)
        if kind == 0:
            return {rng.choice(WORDS): value}
        if kind == 1 and isinstance(value, dict):
            return {**value, **(rng.choice([f for f in FRAGMENTS if isinstance(f, dict)]))}
        if kind == 2 and isinstance(value, (int, float)) and not isinstance(value, bool):
            return rng.choice([value + 1, -value, value * 10, value / 3])
        return rng.choice(FRAGMENTS)
    if isinstance(value, list):
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:at] + value[at + 1 :]
        if rng.random() < 0.2:
            return [*value, value[at]]
        return [*value[:at], mutated_json(value[at], rng), *value[at + 1 :]]
    key = rng.choice(list(value))
    if rng.random() < 0.15:
        return {k: v for k, v in value.items() if k != key}
    if rng.random() < 0.15:
        return {(rng.choice(WORDS) if k == key else k): v for k, v in value.items()}
    return {k: (mutated_json(v, rng) if k == key else v) for k, v in value.items()}


def plain(data: bytes, rng: random.Random, max_size: int) -> bytes:
    """Some bytes changed, added, removed or copied."""
    if atheris is not None:
        return bytes(atheris.Mutate(data, max_size))
    result = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at, kind = rng.randrange(len(result) + 1), rng.randrange(4)
        if kind == 0:
            result.insert(at, rng.randrange(256))
        elif kind == 1 and result:
            result[at % len(result)] = rng.choice((rng.randrange(256), 0, 255))
        elif kind == 2:
            del result[at : at + rng.randrange(1, 16)]
        else:
            result[at:at] = result[at : at + rng.randrange(32)]
    return bytes(result[:max_size])


def mutate(target: str, data: bytes, rng: random.Random, max_size: int) -> bytes:
    if target in ("schema", "tokenizer") and rng.random() < 0.85:
        try:
            value = json.loads(data)
            for _ in range(rng.randrange(1, 4)):
                value = mutated_json(value, rng)
            return json.dumps(value).encode()[:max_size]
        except (ValueError, RecursionError):
            pass
    changed = plain(data, rng, max_size)
    if target == "saved" and len(changed) > HEADER and rng.random() < 0.7:
        changed = with_checksum(changed)
    return changed


HEADER = 32


def with_checksum(data: bytes) -> bytes:
    """With lengths and a checksum that fit, so that what is behind them is reached."""
    if data.startswith(b"GDVO"):
        return data[:8] + hashlib.blake2b(data[24:], digest_size=16).digest() + data[24:]
    ir_size = min(int.from_bytes(data[8:12], "little"), len(data) - HEADER)
    sizes = ir_size.to_bytes(4, "little") + (len(data) - HEADER - ir_size).to_bytes(4, "little")
    checksum = hashlib.blake2b(data[HEADER:], digest_size=16).digest()
    return data[:8] + sizes + checksum + data[HEADER:]


# ---- drivers ----------------------------------------------------------------------------------------------------------


def guided(target: str) -> None:
    def mutator(data: bytes, max_size: int, seed: int) -> bytes:
        return mutate(target, data, random.Random(seed), max_size)

    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[target], custom_mutator=mutator)
    atheris.Fuzz()


def unguided(target: str) -> None:
    seconds, most_runs, prefix, corpus = 10.0, sys.maxsize, "", []
    for argument in sys.argv[2:]:
        if argument.startswith("-max_total_time="):
            seconds = float(argument.split("=")[1])
        elif argument.startswith("-runs="):  # the same inputs every time, however fast the machine is
            most_runs = int(argument.split("=")[1])
        elif argument.startswith("-artifact_prefix="):
            prefix = argument.split("=")[1]
        elif not argument.startswith("-"):
            path = Path(argument)
            corpus += [p.read_bytes() for p in (sorted(path.iterdir()) if path.is_dir() else [path])]
    print("mutations of the corpus without guidance by coverage, seed 1")
    rng, runs, begun = random.Random(1), 0, time.monotonic()
    for data in corpus or [b""]:
        TARGETS[target](data)
    while runs < most_runs and time.monotonic() - begun < seconds:
        data = rng.choice(corpus or [b""])
        for _ in range(rng.randrange(1, 4)):
            data = mutate(target, data, rng, 1 << 16)
        try:
            TARGETS[target](data)
        except BaseException:
            Path(f"{prefix}crash-{target}-{hashlib.sha1(data).hexdigest()}").write_bytes(data)
            raise
        runs += 1
    print(f"Done {runs} runs in {time.monotonic() - begun:.0f} second(s)")


if __name__ == "__main__":
    (unguided if atheris is None else guided)(sys.argv[1])
