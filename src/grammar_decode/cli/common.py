"""What the commands share: reading inputs, text options, the terminal, and how errors end a command."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from grammar_decode.errors import GrammarDecodeError, SchemaError

if TYPE_CHECKING:
    from grammar_decode import Grammar, GrammarMatcher, JsonOptions, Vocabulary

Command = TypeVar("Command", bound=Callable[..., Any])

KeyOrder = Literal["schema", "any"]
Whitespace = Literal["flexible", "compact", "spaced", "any"]
Escapes = Literal["relaxed", "canonical", "any"]
Numbers = Literal["canonical", "any"]
Formats = Literal["assert", "ignore", "strict"]

SchemaArgument = Annotated[str, typer.Argument(metavar="SCHEMA", help="A JSON Schema file, or - for standard input.")]
KeyOrderOption = Annotated[
    KeyOrder, typer.Option(help="Order of an object's keys: as they first appear in the schema, or any.")
]
WhitespaceOption = Annotated[
    Whitespace,
    typer.Option(help='Blanks between tokens of JSON: up to 32 bytes, none, ", " and ": ", or without a limit.'),
]
EscapesOption = Annotated[
    Escapes, typer.Option(help="Escapes in strings: any spelling in free text, only where JSON needs one, or any.")
]
NumbersOption = Annotated[Numbers, typer.Option(help="Spelling of numbers: plain, or every spelling of a valid value.")]
FormatsOption = Annotated[
    Formats, typer.Option(help="What `format` does: known formats hold, none does, or an unknown one is an error.")
]
OpenapiOption = Annotated[
    bool, typer.Option("--openapi", help="Read the schema as OpenAPI 3.0 does: nullable, discriminator, byte.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, for other programs.")]

#: Results go to standard output, everything else (progress, statistics, errors) to standard error.
stdout = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)


class CommandError(GrammarDecodeError):
    """An input of a command can't be used: a missing file, a prefix that is not allowed."""


def guarded(command: Command) -> Command:
    """Let an expected error end the command with one message and exit code 1; a bug keeps its traceback.

    With --json, the error is also a JSON object on standard output.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (GrammarDecodeError, OSError, ImportError) as error:
            if isinstance(error, BrokenPipeError):
                raise typer.Exit(1) from None  # the reader of our output went away
            if kwargs.get("as_json"):
                print_json({"error": error_as_json(error)})
            complain(_sentence(error))
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            stderr.print("\ninterrupted")
            raise typer.Exit(130) from None

    return run  # type: ignore[return-value]  # wraps() keeps the signature that typer reads


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def error_as_json(error: Exception) -> dict[str, Any]:
    """An error as plain data; a SchemaError keeps its location and hint apart."""
    data: dict[str, Any] = {"type": type(error).__name__, "message": _sentence(error)}
    if isinstance(error, SchemaError):
        data |= {"message": error.message, "location": error.location, "hint": error.hint}
    return data


def complain(message: str) -> None:
    """One error message on standard error."""
    stderr.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def fail(message: str) -> NoReturn:
    raise CommandError(message)


def print_json(data: Any) -> None:
    """The machine-readable result, on standard output."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def read_bytes(path: str) -> bytes:
    """The contents of a file, or of standard input for "-"."""
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()


def read_schema(path: str) -> str:
    """The text of a schema file; whether it is JSON is the compiler's to say."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fail(f"{path}: not UTF-8 text (byte {error.start})")


def json_options(**chosen: Any) -> JsonOptions:
    """The text options of a command, by their names in JsonOptions."""
    from grammar_decode import JsonOptions

    return JsonOptions(**chosen)


def compiled(schema: str, options: JsonOptions) -> Grammar:
    """Compile a schema's text, with a spinner where it takes long."""
    from grammar_decode import compile_json_schema

    with progress() as report:
        report("Compiling the schema", None)
        return compile_json_schema(schema, options)


def byte_vocabulary() -> Vocabulary:
    """A vocabulary whose tokens are the 256 bytes and one stop token (id 256): for looking at the language itself."""
    from grammar_decode import Vocabulary

    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    return Vocabulary([*tokens, None], stop_token_ids=[256])


@contextmanager
def progress() -> Iterator[Callable[[str, float | None], None]]:
    """Show what is being done, and how far it is, on standard error while it takes; gone afterwards.

    Yields a function of (what is being done, the part done from 0 to 1 or None). Nothing is shown off a terminal.
    """
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TimeElapsedColumn())
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def report(what: str, done: float | None) -> None:
            if done is None:
                bar.update(task, description=what, total=None)
            else:
                bar.update(task, description=what, total=1.0, completed=done)

        yield report


def feed(matcher: GrammarMatcher, text: bytes) -> int:
    """Accept as much of `text` as the language allows; return the offset of the first byte that leaves it."""
    offset = matcher.count_accepted_bytes(text)
    matcher.accept_bytes(text[:offset])
    return offset


def excerpt(text: bytes, offset: int, *, width: int = 100) -> tuple[int, int, str, str]:
    """Where `offset` lies in `text`: line and column (from 1), the line around it, and a caret line for below it."""
    start = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    before = _printable(text[start:offset])
    after = _printable(text[offset : end if end >= 0 else len(text)])
    column = len(before) + 1
    if len(before) > width * 2 // 3:
        before = "…" + before[-(width * 2 // 3) :]
    if len(after) > width - len(before):
        after = after[: width - len(before)] + "…"
    return text.count(b"\n", 0, offset) + 1, column, before + after, " " * len(before) + "^"


def _printable(line: bytes) -> str:
    """One character each, so that a caret can point: control characters become their pictures."""
    text = line.decode("utf-8", errors="replace")
    return "".join(chr(0x2400 + ord(char)) if char < " " else char for char in text)
