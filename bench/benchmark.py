"""What masking costs, and what it is good for.

    python bench/benchmark.py                       # on GPT-2's 50,257 tokens: cost per state, and what the caches buy
    python bench/benchmark.py --model smollm2       # with a real model, too: share of the step time, and conformance

Each mask is checked against a replay of every token while it is measured, and each sample is judged by `jsonschema`.
Figures are wall time of one thread, Python call included. `--json` prints everything as one object.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import grammar_decode as gd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from vocabularies_gpt2 import gpt2_vocabulary  # noqa: E402

EXAMPLES = ROOT / "examples"
Row = dict[str, Any]


def example(name: str) -> Any:
    return json.loads((EXAMPLES / f"{name}.schema.json").read_text(encoding="utf-8"))


#: (what the state is, schema, what has been written so far)
STATES: list[tuple[str, Any, str]] = [
    ("start of a document", example("person"), ""),
    ("key of an object", example("person"), '{"'),
    ("free string", {"type": "string"}, '"hello'),
    ("string of at most 40 characters", example("person"), '{"name": "Bob'),
    ("string with a pattern", example("order"), '{"order_id": "A'),
    ("string with an unanchored pattern", {"type": "string", "pattern": "foo.*bar"}, '"a foo'),
    ("integer from 0 to 120", example("person"), '{"name": "Bob", "age": 1'),
    ("multiple of 0.01", {"type": "number", "multipleOf": 0.01, "maximum": 10000}, "24."),
    ("any number", {"type": "number"}, "-1"),
    ("enum", {"enum": ["EUR", "USD", "GBP", "JPY"]}, '"'),
    ("enum of 5,000 strings", {"enum": [f"item-{number:04}" for number in range(5000)]}, '"item-'),
    ("tagged union before its tag", example("event"), '{"kind": "'),
    ("after a member", example("person"), '{"name": "Bob"'),
    ("any value", {}, '{"a": [1, '),
    ("end of the document", example("person"), '{"name": "Bob", "age": 1, "tags": ["a"]}'),
]

#: A document of the order example; its first 120 tokens are replayed.
DOCUMENT = """{
  "order_id": "AB-12345",
  "customer": {"name": "Alice Liddell", "country": "DE"},
  "items": [
    {"product": "blue mug with a handle", "quantity": 2, "unit_price": 7.5},
    {"product": "teapot", "quantity": 1, "unit_price": 24.9},
    {"product": "milk jug, porcelain", "quantity": 12, "unit_price": 103.25},
    {"product": "sugar tongs", "quantity": 3, "unit_price": 0.99}
  ],
  "currency": "EUR",
  "gift": true
}"""
DOCUMENT_TOKENS = 120


def seconds(work: Callable[[], Any]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def fresh(vocabulary: gd.Vocabulary) -> gd.Vocabulary:
    """The same vocabulary without anything that was cached for it."""
    return gd.Vocabulary(vocabulary.token_bytes, stop_token_ids=vocabulary.stop_token_ids, size=vocabulary.size)


def allowed_by_mask(bitmask: np.ndarray, size: int) -> list[int]:
    bits = np.unpackbits(bitmask[0].astype("<i4").view(np.uint8), bitorder="little")[:size]
    return [int(token_id) for token_id in np.flatnonzero(bits)]


def measure_state(kind: str, schema: Any, prefix: str, vocabulary: gd.Vocabulary, repeats: int) -> Row:
    """One row: the first mask on cold caches, the same mask again, and a replay of every token."""
    first: list[float] = []
    again: list[float] = []
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    for _ in range(repeats):
        matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, cache=None), fresh(vocabulary))
        if not matcher.accept_bytes(prefix.encode()):
            raise SystemExit(f"benchmark: {prefix!r} is no prefix of a document: {kind}")
        first.append(seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0)))  # noqa: B023  # called at once
        again += [seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0)) for _ in range(50)]  # noqa: B023
    legal: list[int] = []

    def replay() -> None:
        legal.extend(token_id for token_id in range(vocabulary.size) if matcher.validate_tokens([token_id]) == 1)

    replayed = seconds(replay)
    if legal != allowed_by_mask(bitmask, vocabulary.size):
        raise SystemExit(f"benchmark: the mask differs from a replay of every token: {kind}")
    return {
        "state": kind,
        "legal_tokens": len(legal),
        "first_us": median(first) * 1e6,
        "again_us": median(again) * 1e6,
        "replay_us": replayed * 1e6,
        "replay_over_first": replayed / median(first),
    }


def tokenized(text: bytes, vocabulary: gd.Vocabulary) -> list[int]:
    """`text` in tokens, the longest that fits each time: close enough to the real tokenizer for timing."""
    by_bytes = {token: token_id for token_id, token in enumerate(vocabulary.token_bytes) if token}
    longest = max(map(len, by_bytes))
    ids: list[int] = []
    while text:
        size = next(size for size in range(min(longest, len(text)), 0, -1) if text[:size] in by_bytes)
        ids.append(by_bytes[text[:size]])
        text = text[size:]
    return ids


def measure_document(vocabulary: gd.Vocabulary) -> list[Row]:
    """A row for each temperature of the caches: the masks before each of the first 120 tokens of a document."""
    ids = tokenized(DOCUMENT.encode(), vocabulary)[:DOCUMENT_TOKENS]
    schema = example("order")
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)

    def walk(case: str, grammar: gd.Grammar, vocab: gd.Vocabulary) -> Row:
        matcher = gd.GrammarMatcher(grammar, vocab)
        masks, commits = [], []
        for token_id in ids:
            masks.append(seconds(lambda: matcher.fill_next_token_bitmask(bitmask, 0)) * 1e6)
            started = perf_counter()
            if not matcher.accept_token(token_id):
                raise SystemExit(f"benchmark: token {token_id} of the document was refused")
            commits.append((perf_counter() - started) * 1e6)
        return {
            "caches": case,
            "tokens": len(ids),
            "total_us": sum(masks),
            "mean_us": mean(masks),
            "p50_us": float(np.percentile(masks, 50)),
            "p99_us": float(np.percentile(masks, 99)),
            "max_us": max(masks),
            "commit_mean_us": mean(commits),
        }

    cold = fresh(vocabulary)
    grammar = gd.compile_json_schema(schema, cache=None)
    return [
        walk("cold: first document ever", grammar, cold),
        walk("schema compiled again, tables of the vocabulary kept", gd.compile_json_schema(schema, cache=None), cold),
        walk("second document of the grammar", grammar, cold),
    ]


def prompt_of(name: str) -> str:
    """The prompt that examples/README.md suggests, and the schema itself: what a caller without masks would send."""
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    line = re.search(rf"^\| \[{name}\].*\| (.*) \|$", readme, re.MULTILINE)
    if line is None:
        raise SystemExit(f"benchmark: examples/README.md has no prompt for {name}")
    return line[1]


def measure_model(arguments: argparse.Namespace, console: Console) -> list[Row]:
    """A row for each example and mode: how many of the samples are complete, and valid."""
    from grammar_decode.models import load_model

    rows: list[Row] = []
    with Progress(console=console, transient=True) as bar:
        loading = bar.add_task("Loading the model", total=None)
        model = load_model(arguments.model, on_progress=lambda what, _done: bar.update(loading, description=what))
        modes = [False] if arguments.constrained_only else [True, False]
        bar.update(loading, total=len(arguments.examples) * len(modes) * arguments.samples, completed=0)
        for name in arguments.examples:
            schema = example(name)
            prompt = prompt_of(name)
            if arguments.show_schema:
                prompt += f"\nAnswer only with JSON that follows this schema: {json.dumps(schema)}"
            for unconstrained in modes:
                bar.update(loading, description=f"{name}, {'unconstrained' if unconstrained else 'constrained'}")
                results = []
                for seed in range(arguments.samples):
                    results.append(
                        gd.generate(
                            model,
                            None,
                            schema,
                            prompt,
                            max_tokens=arguments.max_tokens,
                            temperature=arguments.temperature,
                            seed=seed,
                            unconstrained=unconstrained,
                        )
                    )
                    bar.advance(loading)
                rows.append(conformance(name, unconstrained, results))
    return rows


def conformance(name: str, unconstrained: bool, results: list[gd.GenerationResult]) -> Row:
    steps = sum(result.timings.steps for result in results)
    tokens = sum(len(result.tokens) for result in results)
    return {
        "example": name,
        "mode": "unconstrained" if unconstrained else "constrained",
        "samples": len(results),
        "ended": sum(result.stop_reason == "completed" for result in results),
        "ended_and_valid": sum(result.stop_reason == "completed" and result.valid is True for result in results),
        "json": sum(result.is_complete for result in results),
        "valid": sum(result.valid is True for result in results),
        "tokens_per_second": tokens / steps,
        "mask_share": sum(result.timings.mask for result in results) / steps,
        "mask_us": sum(result.timings.mask for result in results) / tokens * 1e6,
        "texts": [result.text for result in results],
    }


def table(title: str, rows: list[Row], columns: dict[str, tuple[str, str]]) -> Table:
    """`columns`: heading by key of the row, and the format of its values."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for key, (heading, _) in columns.items():
        made.add_column(heading, justify="left" if isinstance(rows[0][key], str) else "right")
    for row in rows:
        made.add_row(*(format(row[key], spec) for key, (_, spec) in columns.items()))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="also generate with a model: smollm2, a folder, or a hub id")
    parser.add_argument("--model-only", action="store_true", help="leave the measurements on GPT-2's vocabulary out")
    parser.add_argument("--examples", default="person,order,event", type=lambda text: text.split(","))
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--constrained-only", action="store_true", help="leave the unconstrained samples out")
    parser.add_argument("--no-schema", dest="show_schema", action="store_false", help="a prompt without the schema")
    parser.add_argument("--repeats", type=int, default=3, help="cold starts for each state")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160  # a file has room for every column
    measured: dict[str, list[Row]] = {}
    if not arguments.model_only:
        try:
            vocabulary = gpt2_vocabulary()
        except pytest.skip.Exception as reason:
            raise SystemExit(f"benchmark: {reason}") from None
        measured["states"] = [measure_state(*state, vocabulary, arguments.repeats) for state in STATES]
        measured["document"] = measure_document(vocabulary)
    if arguments.model:
        measured["model"] = measure_model(arguments, Console(stderr=True))
    if arguments.json:
        print(json.dumps(measured, indent=1, ensure_ascii=False))
        return
    for part, rows in measured.items():
        title, columns = TABLES[part]
        console.print(table(title, rows, columns))
        console.print()


TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "states": (
        "Mask by state, GPT-2's 50,257 tokens, µs",
        {
            "state": ("state", ""),
            "legal_tokens": ("legal tokens", ",d"),
            "first_us": ("first", ",.1f"),
            "again_us": ("again", ",.1f"),
            "replay_us": ("replay of all tokens", ",.0f"),
            "replay_over_first": ("replay / first", ",.0f"),
        },
    ),
    "document": (
        "The masks of a document's first 120 tokens, µs",
        {
            "caches": ("state of the caches", ""),
            "total_us": ("all masks", ",.0f"),
            "mean_us": ("mean", ",.2f"),
            "p50_us": ("p50", ",.2f"),
            "p99_us": ("p99", ",.1f"),
            "max_us": ("max", ",.1f"),
            "commit_mean_us": ("commit, mean", ",.2f"),
        },
    ),
    "model": (
        "Samples of a model, judged by jsonschema",
        {
            "example": ("example", ""),
            "mode": ("mode", ""),
            "samples": ("samples", "d"),
            "ended": ("ended", "d"),
            "ended_and_valid": ("ended, valid", "d"),
            "json": ("JSON", "d"),
            "valid": ("valid", "d"),
            "tokens_per_second": ("tokens/s", ".1f"),
            "mask_share": ("masking", ".2%"),
            "mask_us": ("masking, µs/token", ",.0f"),
        },
    ),
}

if __name__ == "__main__":
    main()
