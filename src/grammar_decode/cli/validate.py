"""`grammar-decode validate`: is this text in the language of the schema, and if not, where does it leave it?"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from grammar_decode import Explanation, GrammarMatcher
from grammar_decode.cli.common import (
    EscapesOption,
    FormatsOption,
    JsonOption,
    KeyOrderOption,
    NumbersOption,
    OpenapiOption,
    SchemaArgument,
    WhitespaceOption,
    byte_vocabulary,
    compiled,
    excerpt,
    fail,
    feed,
    guarded,
    json_options,
    print_json,
    read_bytes,
    read_schema,
    stderr,
    stdout,
)

#: The widest setting of each text option, tried one after the other to say which one a refused text would need.
_WIDEST = {"key_order": "any", "whitespace": "any", "escapes": "any", "numbers": "any"}


@guarded
def validate_command(
    schema: SchemaArgument,
    instance: Annotated[
        str,
        typer.Argument(
            metavar="INSTANCE",
            help="A JSON document's file, or - for standard input. A last line end is left out.",
        ),
    ],
    key_order: KeyOrderOption = "any",
    whitespace: WhitespaceOption = "flexible",
    escapes: EscapesOption = "relaxed",
    numbers: NumbersOption = "canonical",
    formats: FormatsOption = "assert",
    openapi: OpenapiOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say whether a constrained model could have written INSTANCE: its text, not only its value.

    Otherwise exit code 1, with the byte at which the text leaves the language and what was expected there.
    """
    if schema == instance == "-":
        fail("only one of SCHEMA and INSTANCE can be standard input")
    spelling = {"key_order": key_order, "whitespace": whitespace, "escapes": escapes, "numbers": numbers}
    chosen: dict[str, Any] = {**spelling, "formats": formats, "openapi": openapi}
    schema_text = read_schema(schema)
    text = read_bytes(instance)
    text = text.removesuffix(b"\n").removesuffix(b"\r")

    matcher = _matcher(schema_text, chosen)
    offset = feed(matcher, text)
    if offset == len(text) and matcher.is_accepting():
        if as_json:
            print_json({"accepted": True, "bytes": len(text)})
        else:
            stdout.print(Text.assemble(("accepted", "bold green"), f": {len(text):,} bytes"))
        return

    incomplete = offset == len(text)
    explanation = matcher.explain(text[offset : offset + 1] or 256)
    needed = _options_that_accept(schema_text, chosen, text)
    if as_json:
        line, column, _, _ = excerpt(text, offset)
        result: dict[str, Any] = {
            "accepted": False,
            "incomplete": incomplete,
            "offset": offset,
            "line": line,
            "column": column,
            "rule": explanation.rule,
            "reason": explanation.reason,
            "expected": explanation.expected,
            "pointer": explanation.pointer,
            "schema_locations": list(explanation.schema_locations),
            "accepted_with": needed,
        }
        print_json(result)
    else:
        _print_refusal(text, offset, explanation, needed)
    raise typer.Exit(1)


def _print_refusal(text: bytes, offset: int, explanation: Explanation, needed: dict[str, str] | None) -> None:
    line, column, around, caret = excerpt(text, offset)
    if offset == len(text):
        title, what = "incomplete", f": the document is not finished after {offset:,} bytes"
    else:
        title, what = "refused", f" at byte {offset:,} (line {line}, column {column})"
    stderr.print(Text.assemble((title, "bold red"), what), soft_wrap=True)
    stderr.print(Text.assemble(f"  {around}\n  ", (caret, "bold red")), soft_wrap=True)
    place = "the root" if explanation.pointer == "" else explanation.pointer
    schema = ", ".join(explanation.schema_locations)
    stderr.print(Text(f"at {place}" + (f" (schema {schema})" if schema else "")), soft_wrap=True)
    if explanation.reason and offset < len(text):
        stderr.print(Text(explanation.reason), soft_wrap=True)
    stderr.print(Text(f"expected here: {explanation.expected}"), soft_wrap=True)
    if needed:
        flags = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in needed.items())
        stderr.print(
            Text(f"The value is valid, only its spelling is not the chosen one: {flags} accepts it."), soft_wrap=True
        )


def _matcher(schema_text: str, chosen: dict[str, Any]) -> GrammarMatcher:
    return GrammarMatcher(compiled(schema_text, json_options(**chosen)), byte_vocabulary())


def _options_that_accept(schema_text: str, chosen: dict[str, Any], text: bytes) -> dict[str, str] | None:
    """The fewest options to widen so that `text` is accepted, or None if it isn't even with all of them wide."""

    def accepts(options: dict[str, Any]) -> bool:
        matcher = _matcher(schema_text, options)
        return feed(matcher, text) == len(text) and matcher.is_accepting()

    if not accepts({**chosen, **_WIDEST}):
        return None
    needed = dict(_WIDEST)
    for name in _WIDEST:
        without = {key: value for key, value in needed.items() if key != name}
        if accepts({**chosen, **without}):
            needed = without
    return needed
