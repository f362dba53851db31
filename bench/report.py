"""Results as tables (terminal and Markdown), as JSON, and as a plot. Only this file writes `docs/benchmarks.md`."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import grammar_decode as gd
from peers import TAIL, summary

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "bench" / "record" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"
PLOT = ROOT / "docs" / "benchmarks.svg"

Results = dict[str, Any]
Grid = tuple[str, list[str], list[list[str]]]  # title, headings, rows


def machine() -> dict[str, str]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8").splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    versions = {"grammar-decode": gd.__version__}
    for package in ("llguidance", "xgrammar", "numpy"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "cpu": f"{cpu}, {os.cpu_count()} cores, load average at the end {os.getloadavg()[0]:.0f}",
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def figure(value: float) -> str:
    if value != value:  # nothing was measured
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def peer_grids(result: Results) -> Iterator[Grid]:
    answers = result["answers"]
    kinds = list(next(iter(answers.values())))
    rows = []
    for kind in [*kinds, "all"] if len(kinds) > 1 else kinds:
        for name, by_kind in answers.items():
            chosen = by_kind[kind] if kind != "all" else [a for each in by_kind.values() for a in each]
            rows.append((kind, name, summary(chosen)))
    heads = ["schemas", "engine", "pass", "refuse", "wrong"]
    for what, title in (("first", "Time to first mask"), ("mask", "Mask"), ("commit", "Commit")):
        labels = ["mean", "p50", "p90", "p99", "p99.9", "max"]
        cells = [
            [
                kind,
                name,
                *(str(row[key]) for key in ("pass", "refuse", "wrong")),
                *(figure(row[what][k]) for k in labels),
            ]
            for kind, name, row in rows
        ]
        yield f"{title}, µs", [*heads, *labels], cells
    engines = [
        [name, figure(each["load_ms"]), figure(each["rss_before_mb"]), figure(each["peak_mb"])]
        for name, each in result["engines"].items()
        if each.get("load_ms") is not None
    ]
    yield "Processes", ["engine", "vocabulary, ms", "MB before it", "MB at the most"], engines


def grid(title: str, rows: list[dict[str, Any]], columns: dict[str, tuple[str, Callable[[Any], str]]]) -> Grid:
    return (
        title,
        [head for head, _ in columns.values()],
        [[show(row[key]) for key, (_, show) in columns.items()] for row in rows],
    )


def two(values: list[float]) -> str:
    return " → ".join(figure(value) for value in values)


def two_digits(value: float) -> str:
    return f"{value:.2f}"


def count(value: int) -> str:
    return f"{value:,}"


def section_grids(word: str, result: Results) -> Iterator[Grid]:
    if word in ("peers", "data"):
        yield from peer_grids(result)
    elif word == "parts":
        columns: Any = {
            "part": ("state", str),
            "legal": ("legal tokens", count),
            "cold_us": ("cold", figure),
            "new_grammar_us": ("new grammar", figure),
            "again_us": ("again", figure),
        }
        yield grid("Mask by mechanism, µs", result["rows"], columns)
    elif word == "limits":
        columns = {"grammar": ("grammar", str), "positions": ("masks", count)}
        for what in ("p50", "mean", "p99"):
            columns |= {f"{what}_far": (f"{what}, far", figure), f"{what}_near": (f"{what}, near", figure)}
            columns[f"{what}_ratio"] = ("ratio", two_digits)
        yield grid("Mask and commit, µs of processor time", result["rows"], columns)
    elif word == "growth":
        columns = {
            "array": ("document", str),
            "tokens": ("tokens", count),
            "first_us": ("mask near the beginning", figure),
            "last_us": ("mask at the end", figure),
            "memory_mb": ("MB of states, after 1,000 and all tokens", two),
        }
        yield grid("Length of a document, µs a mask", result["documents"], columns)
        columns = {"maximum": ("maximum", count)}
        for keyword in ("maxLength", "maxItems"):
            columns |= {f"{keyword}_first_us": (f"{keyword}, first", figure), f"{keyword}_us": ("next ones", figure)}
        yield grid("Bounds, µs a mask", result["bounds"], columns)
        columns = {
            "requests": ("requests", str),
            "count": ("number", count),
            "first_us": ("mask, early requests", figure),
            "last_us": ("mask, last requests", figure),
            "memory_mb": ("MB of the process, after 1 % and all", two),
        }
        yield grid("Earlier requests, µs a mask (ten masks of each request)", result["requests"], columns)
        columns = {
            "branches": ("live branches", count),
            "cold_us": ("cold", figure),
            "new_grammar_us": ("new grammar", figure),
        }
        yield grid("Branches of a union, µs a mask", result["branches"], columns)
    elif word == "batch":
        columns = {"sequences": ("sequences", count)}
        for kind, head in (("new", "never computed"), ("known", "remembered")):
            for threads in (1, 2):
                columns[f"{kind}_{threads}"] = (f"{head}, {threads} thread{'s' if threads > 1 else ''}", figure)
        yield grid("A batch, µs a sequence", result["rows"], columns)
    elif word == "load":
        columns = {
            "vocabulary": ("vocabulary", str),
            "tokens": ("tokens", count),
            "checks_ms": ("checks, ms", figure),
            "index_ms": ("index, ms", figure),
            "total_ms": ("both, ms", figure),
            "hash_ms": ("content hash, ms", figure),
            "index_mb": ("index, MB", figure),
            "resident_mb": ("resident, MB", figure),
        }
        yield grid("Loading a vocabulary from the bytes of its tokens, processor time", result["rows"], columns)
    elif word == "apply":
        columns = {
            "type": ("logits", str),
            "mask": ("mask", str),
            "copy_us": ("copy of the row", figure),
            "apply_us": ("apply", figure),
            "ratio": ("ratio", figure),
        }
        yield grid("apply_token_bitmask_inplace on one row, µs", result["rows"], columns)


def show(console: Console, word: str, result: Results) -> None:
    for title, heads, rows in section_grids(word, result):
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for i, head in enumerate(heads):
            table.add_column(head, justify="right" if i and rows and rows[0][i][:1].isdigit() else "left")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()


HEAD = """
# Benchmarks

Written by `make bench ARGS=--record`, which runs every engine that is installed beside ours; don't edit. The machine is
shared with other work (the load average tells how much; a tail of milliseconds is then mostly waiting for a core), so
compare only what stands in one table. `make bench ARGS=--help` has the words for single sections.
"""

#: The title of each section of the page, and what is said above its tables.
SECTIONS = {
    "peers": (
        "Side by side: schemas that the project makes itself",
        """
An engine that refuses the hard schemas looks fast, so look at *pass*, *refuse* (an error, a time-out or a crash) and
*wrong* (a valid document refused, or an invalid one accepted) first. Times are those of the schemas that an engine
took. Each engine runs in a process of its own, on one thread, and remembers no compiled schema; they take turns, schema
by schema.
""",
    ),
    "data": (
        "Side by side: MaskBench",
        """
The same on a sample of schemas and documents from the wild (the development data).
""",
    ),
    "parts": (
        "By mechanism",
        """
*Cold*: a vocabulary that no grammar has used. *New grammar*: compiled again, what the vocabulary shares is warm.
*Again*: the same state. Each mask was checked against up to 1,000 tokens, read byte by byte.
""",
    ),
    "limits": (
        "Near a limit of tokens",
        """
Uniform walks with at most 16 tokens more than the shortest document needs, replayed with that limit and with one far
away. *Cold*: a new grammar. *Again*: the same walk once more.
""",
    ),
    "growth": (
        "What must not grow",
        """
Without a maximum, states come back and nothing grows. Where `maxItems` is set, each count of items is a state of its
own: the states of one sequence take memory in proportion to its length, and each mask is a new one.
""",
    ),
    "batch": (
        "Batches",
        """
`fill_next_token_bitmasks`, which releases the GIL once. *Never computed*: each sequence has a grammar of its own and is
at a key of 20 names. Threads are started only where a batch takes longer than 50 µs.
""",
    ),
    "load": (
        "Vocabularies",
        """
There is no index on disk: to index the tokens anew takes about half of the 150 ms that we allow for 128,000 tokens, and
only once a process.
""",
    ),
    "apply": (
        "Logits",
        """
One row on one thread, the Python call included: 2 to 4 µs by itself. bfloat16 is a tensor of torch.
""",
    ),
}


def save(word: str, result: Results) -> None:
    """Keeps a section's figures for the page; raw times of the peers are reduced to what the page shows."""
    kept = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    kept[word] = {"machine": machine(), "grids": list(section_grids(word, result))}
    kept[word] |= {key: result[key] for key in ("tokenizer", "size", "note") if key in result}
    if word in ("peers", "data"):
        tails = {}
        for name, by_kind in result["answers"].items():
            row = summary([a for each in by_kind.values() for a in each])
            tails[name] = {what: row[what]["tail"] for what in ("mask", "first")}
        kept[word]["tails"] = tails
    RECORD.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_page() -> None:
    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    lines = [HEAD.strip(), ""]
    for word, (title, text) in SECTIONS.items():
        if word not in kept:
            continue
        section = kept[word]
        lines += [f"## {title}", "", text.strip(), ""]
        where = section["machine"]
        lines += [f"{tokens_of(section)}{where['cpu']}; Python {where['python']}; {where['versions']}.", ""]
        if note := section.get("note"):
            lines += [note, ""]
        for heading, heads, rows in section["grids"]:
            lines += [f"### {heading}", "", "| " + " | ".join(heads) + " |"]
            lines += ["|" + "|".join("---" if not i else "---:" for i in range(len(heads))) + "|"]
            lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
        if "tails" in section and word == max((w for w in ("data", "peers") if w in kept), key=("peers", "data").index):
            lines += [f"![The slowest masks of each engine]({PLOT.name})", ""]
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    plot(kept["data" if "data" in kept else "peers"]["tails"]) if {"data", "peers"} & set(kept) else None


def tokens_of(section: Results) -> str:
    return f"{section['tokenizer']}, {section['size']:,} tokens. " if "tokenizer" in section else ""


def plot(tails: dict[str, dict[str, list[float]]]) -> None:
    """How slow the slowest are: the time (log) that a share of all masks stays below, in nines."""
    try:
        import matplotlib as mpl
    except ImportError:
        return
    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "grammar-decode"
    figure_, axes = pyplot.subplots(1, 2, figsize=(10, 4))
    for axis, what, title in ((axes[0], "mask", "mask"), (axes[1], "first", "time to first mask")):
        for name, tail in tails.items():
            axis.plot([100 / max(100 - at, 0.005) for at in TAIL], tail[what], label=name)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks([1, 2, 10, 100, 1000, 10000], ["all", "p50", "p90", "p99", "p99.9", "p99.99"])
        axis.set_title(title)
        axis.set_ylabel("µs, no more than")
        axis.grid(visible=True, alpha=0.3)
    axes[0].legend()
    figure_.tight_layout()
    figure_.savefig(PLOT, metadata={"Date": None})
    PLOT.write_text(
        "\n".join(line.rstrip() for line in PLOT.read_text(encoding="utf-8").splitlines()) + "\n", encoding="utf-8"
    )
