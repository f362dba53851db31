"""`grammar-decode check`: can this schema be enforced, and what becomes of each keyword?"""

from __future__ import annotations

from collections import Counter
from time import perf_counter
from typing import Any

from rich.table import Table
from rich.text import Text

from grammar_decode.cli.common import (
    EscapesOption,
    FormatsOption,
    JsonOption,
    KeyOrderOption,
    NumbersOption,
    OpenapiOption,
    SchemaArgument,
    WhitespaceOption,
    compiled,
    guarded,
    json_options,
    print_json,
    read_schema,
    stdout,
)


@guarded
def check_command(
    schema: SchemaArgument,
    key_order: KeyOrderOption = "any",
    whitespace: WhitespaceOption = "flexible",
    escapes: EscapesOption = "relaxed",
    numbers: NumbersOption = "canonical",
    formats: FormatsOption = "assert",
    openapi: OpenapiOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compile SCHEMA and say what became of each keyword.

    Exit code 1, with the place in the schema, where it can't be enforced exactly.
    """
    options = json_options(
        key_order=key_order, whitespace=whitespace, escapes=escapes, numbers=numbers, formats=formats, openapi=openapi
    )
    text = read_schema(schema)
    started = perf_counter()
    grammar = compiled(text, options)
    seconds = perf_counter() - started
    entries = [_entry(entry) for entry in grammar.report.entries]
    size = len(grammar.to_bytes())
    if as_json:
        print_json({"compiled": True, "entries": entries, "compile_seconds": seconds, "grammar_bytes": size})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("keyword", "location", "what became of it"):
        table.add_column(heading, overflow="fold")  # never cut a location short
    for entry in entries:
        outcome = Text(entry["outcome"], style="yellow" if "annotation" in entry["outcome"] else "green")
        if entry["detail"]:
            outcome.append(f": {entry['detail']}", style="default")
        table.add_row(entry["keyword"], entry["location"], outcome)
    stdout.print(table)
    tally = Counter(entry["outcome"] for entry in entries)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(tally.items())) or "no keywords"
    stdout.print(Text.assemble(("\n" + counts, "bold"), f"; compiled in {seconds * 1000:.1f} ms to {size:,} bytes"))
    unknown = [e for e in entries if e["outcome"] == "annotation" and e["detail"].startswith("not a keyword")]
    for entry in unknown:
        stdout.print(Text(f"not known: {entry['keyword']!r} at {entry['location']} constrains nothing", style="yellow"))


def _entry(entry: Any) -> dict[str, str]:
    outcome = getattr(entry.outcome, "value", entry.outcome)
    return {
        "location": entry.location,
        "keyword": entry.keyword,
        "outcome": str(outcome).replace("_", " "),
        "detail": entry.detail or "",
    }
