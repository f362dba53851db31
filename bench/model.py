"""A real model: share of masking in a step, and how many samples are valid. Each is judged by `jsonschema`."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import grammar_decode as gd

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
Row = dict[str, Any]


def example(name: str) -> Any:
    return json.loads((EXAMPLES / f"{name}.schema.json").read_text(encoding="utf-8"))


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
                limit = arguments.max_tokens or tight_limit(schema, model.vocabulary, arguments.slack)
                results = []
                for seed in range(arguments.samples):
                    results.append(
                        gd.generate(
                            model,
                            None,
                            schema,
                            prompt,
                            max_tokens=limit,
                            temperature=arguments.temperature,
                            seed=seed,
                            unconstrained=unconstrained,
                        )
                    )
                    bar.advance(loading)
                rows.append(conformance(name, unconstrained, limit, results))
    return rows


def tight_limit(schema: Any, vocabulary: gd.Vocabulary, slack: int) -> int:
    """The fewest tokens that are known to suffice, the stop token included, and `slack` more."""
    distance = gd.GrammarMatcher(gd.compile_json_schema(schema), vocabulary).completion_distance()
    if distance is None:
        raise SystemExit("benchmark: no shortest document is known")
    return distance + 1 + slack


def conformance(name: str, unconstrained: bool, limit: int, results: list[gd.GenerationResult]) -> Row:
    steps = sum(result.timings.steps for result in results)
    tokens = sum(len(result.tokens) for result in results)
    return {
        "example": name,
        "mode": "unconstrained" if unconstrained else "constrained",
        "samples": len(results),
        "max_tokens": limit,
        "ended": sum(result.stop_reason != "length" for result in results),
        "ended_and_valid": sum(result.stop_reason != "length" and result.valid is True for result in results),
        "json": sum(result.is_complete for result in results),
        "valid": sum(result.valid is True for result in results),
        "tokens": tokens / len(results),
        "forced_share": sum(result.num_forced for result in results) / tokens,
        "tokens_per_second": tokens / steps,
        "mask_share": sum(result.timings.mask for result in results) / steps,
        "mask_us": sum(result.timings.mask for result in results) / tokens * 1e6,
        "texts": [result.text for result in results],
    }


def model_table(rows: list[Row]) -> Table:
    table = Table(title="Samples of a model, judged by jsonschema", title_justify="left", box=None, pad_edge=False)
    columns = {
        "example": ("example", ""),
        "mode": ("mode", ""),
        "samples": ("samples", "d"),
        "max_tokens": ("limit", "d"),
        "tokens": ("tokens", ".1f"),
        "forced_share": ("forced", ".1%"),
        "ended": ("ended", "d"),
        "ended_and_valid": ("ended, valid", "d"),
        "json": ("JSON", "d"),
        "valid": ("valid", "d"),
        "tokens_per_second": ("tokens/s", ".1f"),
        "mask_share": ("masking", ".2%"),
        "mask_us": ("masking, µs/token", ",.0f"),
    }
    for heading, spec in columns.values():
        table.add_column(heading, justify="right" if spec else "left")
    for row in rows:
        table.add_row(*(format(row[key], spec) for key, (_, spec) in columns.items()))
    return table
