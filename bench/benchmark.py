"""What masking costs.

    python bench/benchmark.py                       # every section below, on GPT-2's 50,257 tokens
    python bench/benchmark.py peers --data PATH     # one section; MaskBench's data beside the generated schemas
    python bench/benchmark.py --record              # also docs/benchmarks.md, its plot, bench/record/benchmarks.json
    python bench/benchmark.py model --model smollm2 # a real model: share of the step time, and conformance

Sections: `peers` (every installed engine, side by side), `parts` (by mechanism), `limits` (near a limit of tokens),
`growth`, `batch`, `load`, `apply`.
Figures are wall time, Python call included. `--json PATH` has all of them, raw times included.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

import cases
import limits
import parts
import peers
import report
import scale
from engines import installed_engines
from tokens import Tokens, load_tokens

WORDS = ("peers", "parts", "limits", "growth", "batch", "load", "apply")


def measure(word: str, arguments: argparse.Namespace, tokens: Tokens, tell: Any) -> dict[str, Any]:
    """The result of a section by the word that it is shown under."""
    small = arguments.quick
    about = {"tokenizer": tokens.name, "size": tokens.size}
    if word == "peers":
        per_kind = 4 if small else arguments.count
        runs = {"peers": cases.generated(per_kind, arguments.seed)}
        if arguments.data:
            runs["data"] = cases.maskbench(arguments.data, 20 if small else arguments.sample, arguments.seed)
        return {
            name: peers.compare(arguments.engines, arguments.tokenizer, drawn, arguments.stall, tell)
            for name, drawn in runs.items()
        }
    if word == "parts":
        vocabulary = scale.vocabulary_of(tokens)
        rows = []
        for part in parts.PARTS:
            tell(part.name)
            rows.append(parts.measured(part, vocabulary, 1 if small else 5))
        return {word: about | {"rows": rows}}
    if word == "limits":
        drawn = (
            cases.maskbench(arguments.data, 20 if small else arguments.sample, arguments.seed)
            if arguments.data
            else cases.generated(4 if small else arguments.count, arguments.seed)
        )
        schemas = ((case.name, case.schema) for case in drawn)
        return {word: about | limits.measured(schemas, scale.vocabulary_of(tokens), tell)}
    if word == "growth":
        length, number = (10_000, 5_000) if small else (100_000, 100_000)
        grown = {"documents": scale.long_documents(tokens, length), "bounds": scale.bounds(tokens)}
        tell("requests")
        return {word: about | grown | {"requests": scale.requests(tokens, number), "branches": scale.branches(tokens)}}
    if word == "batch":
        return {word: about | {"rows": scale.batches(tokens, 2 if small else 10)}}
    if word == "load":
        return {word: {"rows": scale.loading(tokens, 2 if small else 5)}}
    return {word: about | {"rows": scale.applying(tokens)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="section",
        help=f"{', '.join(WORDS)}, page or model; by default all but the last two",
    )
    parser.add_argument("--tokenizer", help="a tokenizer.json, .gz as well; by default GPT-2's")
    parser.add_argument("--data", help="MaskBench's data (.jsonl, .gz as well)")
    parser.add_argument("--sample", type=int, default=200, help="schemas of --data; 0: all")
    parser.add_argument("--count", type=int, default=40, help="generated schemas of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", type=lambda text: text.split(","), default=installed_engines())
    parser.add_argument("--stall", type=float, default=30, help="seconds that an engine may take for one schema")
    parser.add_argument("--quick", action="store_true", help="a small sample of everything")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--record", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--engine", help=argparse.SUPPRESS)  # of the process that `serve` is
    model = parser.add_argument_group("model")
    model.add_argument("--model", default="smollm2", help="smollm2, a folder, or a hub id")
    model.add_argument("--examples", default=["person", "order", "event"], type=lambda text: text.split(","))
    model.add_argument("--samples", type=int, default=12)
    model.add_argument("--max-tokens", type=int, default=256, help="0: the shortest document's, and --slack more")
    model.add_argument("--slack", type=int, default=4, help="tokens that a model may waste under --max-tokens 0")
    model.add_argument("--temperature", type=float, default=0.8)
    model.add_argument("--constrained-only", action="store_true", help="leave the unconstrained samples out")
    model.add_argument("--no-schema", dest="show_schema", action="store_false", help="a prompt without the schema")
    arguments = parser.parse_args()
    words = arguments.words or list(WORDS)
    if unknown := set(words) - {*WORDS, "serve", "page", "model"}:
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    if words == ["serve"]:
        peers.serve(arguments.engine, arguments.tokenizer)
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160  # a file has room for every column
    results: dict[str, Any] = {}
    if "model" in words:
        from model import measure_model, model_table

        results["model"] = measure_model(arguments, Console(stderr=True))
        console.print(model_table(results["model"]))
    if measured := [word for word in words if word in WORDS]:
        tokens = load_tokens(arguments.tokenizer)
        done = itertools.count(1)
        for word in measured:
            tell = lambda what, word=word: print(f"\r\033[K{word}: {next(done)} {what}", end="", file=sys.stderr)  # noqa: E731
            for name, result in measure(word, arguments, tokens, tell).items():
                print("\r\033[K", end="", file=sys.stderr)
                results[name] = result
                report.show(console, name, result)
                if arguments.record:
                    report.save(name, result)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, ensure_ascii=False) + "\n", encoding="utf-8")
    if arguments.record or "page" in words:
        report.write_page()


if __name__ == "__main__":
    main()
