"""The command `grammar-decode`. Only this module is imported before typer and rich are known to be there."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_INSTALL = "grammar-decode: the command line needs typer and rich: pip install 'grammar-decode[cli]'"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 = done, 1 = refused, invalid or failed, 2 = wrong usage, 130 = interrupted."""
    try:
        import rich
        import typer
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer", "click"):
            raise
        sys.stderr.write(f"{_INSTALL}\n")
        sys.exit(1)
    del rich, typer
    from grammar_decode.cli.app import app

    app(args=list(arguments) if arguments is not None else None, prog_name="grammar-decode")
