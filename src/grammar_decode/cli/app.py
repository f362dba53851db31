"""The typer application: one subcommand for each module beside this one."""

from __future__ import annotations

import typer

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
