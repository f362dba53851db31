"""The typer application: one subcommand for each module beside this one."""

from __future__ import annotations

from typing import Annotated

import typer

import grammar_decode
from grammar_decode.cli import check, generate, mask, validate

app = typer.Typer(
    name="grammar-decode",
    help="Constrained decoding: a JSON Schema goes in, and a language model can only write documents that it allows.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("generate")(generate.generate_command)
app.command("check")(check.check_command)
app.command("validate")(validate.validate_command)
app.command("mask")(mask.mask_command)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"grammar-decode {grammar_decode.__version__}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What stands before the name of a command."""
