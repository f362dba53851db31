"""Writes tables into documents: of the keywords that are supported from `json_schema.keywords`, of the public names.

    .venv/bin/python docs/tables.py

tests/test_repo.py fails while they differ, and says to run this.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grammar_decode
from grammar_decode import _core, limits
from grammar_decode.json_schema.formats import NUMBER_FORMATS, STRING_FORMATS
from grammar_decode.json_schema.keywords import TABLE, Keyword

ROOT = Path(__file__).resolve().parent.parent

_DRAFTS = {4: "draft 4", 6: "draft 6", 7: "draft 7", 2019: "2019-09", 2020: "2020-12"}
_OUTCOMES = {
    "enforced": "enforced",
    "annotation": "annotation: reported, constrains nothing",
    "structure": "read: says where schemas are and what they are called",
    "unsupported": "**refused** with its location",
}


def full_table() -> str:
    """One line for each keyword: dialects, what becomes of it, remarks."""
    lines = ["| keyword | dialects | what becomes of it |", "|---|---|---|"]
    return "\n".join(lines + [f"| `{row.name}` | {_dialects(row)} | {_outcome(row)} |" for row in TABLE])


def format_table() -> str:
    """One line for each format: where it is defined, and what its language leaves out or does not check."""
    lines = ["| format | source | beyond that |", "|---|---|---|"]
    for name, known in STRING_FORMATS.items():
        lines.append(f"| `{name}` | {known.source} | {'known with `openapi=True`' if known.openapi else known.note} |")
    numbers = ", ".join(f"`{name}`" for name in NUMBER_FORMATS)
    return "\n".join([*lines, f'| {numbers} | OpenAPI 3.0, "Data Types" | ranges of numbers |'])


def unsupported_table() -> str:
    """The keywords that are refused as a whole."""
    rows = [f"- `{row.name}` ({_dialects(row)}): {row.note}." for row in TABLE if row.outcome == "unsupported"]
    return "\n".join(["Keywords that are refused as such:", "", *rows] if rows else ["No keyword is refused as such."])


def limits_table() -> str:
    """The fields of ``Limits`` with their defaults; what each bounds is the comment above it."""
    lines = ["| field | default | what it bounds |", "|---|---|---|"]
    comment: list[str] = []
    for line in Path(limits.__file__).read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text.startswith("#:"):
            comment.append(text.removeprefix("#:").strip())
        elif comment:
            name, default = text.split(":")[0], getattr(limits.Limits(), text.split(":")[0])
            lines.append(f"| `{name}` | {default:,} | {' '.join(comment)} |")
            comment = []
    return "\n".join(lines)


def short_table() -> str:
    """The keywords by what becomes of them, for the README."""
    lines = ["| | keywords |", "|---|---|"]
    titles = {
        "enforced": "enforced",
        "unsupported": "refused so far",
        "annotation": "reported as annotations",
        "structure": "structure",
    }
    for outcome, title in titles.items():
        names = [_short(row) for row in TABLE if row.outcome == outcome]
        if names:
            lines.append(f"| {title} | {' '.join(names)} |")
    return "\n".join(lines)


def _short(row: Keyword) -> str:
    note = f" ({row.note})" if row.outcome == "unsupported" and row.note and row.note != "not enforced yet" else ""
    note = " (`openapi=True`)" if row.openapi else note
    return f"`{row.name}`{note}"


def _outcome(row: Keyword) -> str:
    outcome = "with `openapi=True` enforced, else an annotation" if row.openapi else _OUTCOMES[row.outcome]
    return outcome + (f"; {row.note}" if row.note and row.note != "not enforced yet" else "")


def _dialects(row: Keyword) -> str:
    known = [name for year, name in _DRAFTS.items() if row.since <= year <= row.until]
    if len(known) == len(_DRAFTS):
        return "all"
    if len(known) == 1:
        return known[0] + (" on" if row.until > 2020 else "")
    return f"{known[0]} on" if row.until > 2020 else f"{known[0]} to {known[-1]}"


def functions_table() -> str:
    """The public functions, and what the first sentence about each says."""
    rows = [
        _row(name, getattr(grammar_decode, name))
        for name in grammar_decode.__all__
        if inspect.isfunction(getattr(grammar_decode, name))
    ]
    return "\n".join(["| function | |", "|---|---|", *rows])


def classes_table() -> str:
    """The public classes, errors left out, and what the first sentences about them and what they have say."""
    parts = []
    for name in grammar_decode.__all__:
        cls = getattr(grammar_decode, name)
        if not inspect.isclass(cls) or issubclass(cls, Exception):
            continue
        rows = [_row(member, value) for member, value in _members(cls)]
        table = ["", "| | |", "|---|---|", *rows] if rows else []
        parts.append("\n".join([f"### `{name}`", "", _first_sentence(cls), *table]))
    return "\n\n".join(parts)


def errors_table() -> str:
    """The public errors, in the words of their module."""
    tree = (grammar_decode.errors.__doc__ or "").split("\n\n")[1]
    return f"```text\n{inspect.cleandoc(tree)}\n```"


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties, those of base classes of this package included."""
    seen = set()
    for base in cls.__mro__:
        for name, value in vars(base).items() if base.__module__.startswith("grammar_decode") else ():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(value, (classmethod, staticmethod)):
                yield name, value.__func__
            elif isinstance(value, (property, functools.cached_property)) or inspect.isfunction(value):
                yield name, value
            elif cls is grammar_decode.GrammarMatcher and callable(getattr(_core.Matcher, name, None)):
                yield name, getattr(_core.Matcher, name)  # bound once for each matcher, for speed


def _row(name: str, value: Any) -> str:
    return f"| `{name}{_arguments(value)}` | {_first_sentence(value)} |"


def _arguments(value: Any) -> str:
    if isinstance(value, (property, functools.cached_property)):
        return ""
    if not inspect.isfunction(value):  # of the kernel: its first line is the signature
        first = value.__doc__.splitlines()[0]
        return "(" + ", ".join(re.findall(r"(\w+):", first.replace("self", ""))) + ")"
    names = []
    only_names = False
    for parameter in inspect.signature(value).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not only_names:
            only_names = True
            names.append("*")
        has_default = parameter.default is not parameter.empty
        names.append({parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + parameter.name + "=…" * has_default)
    return f"({', '.join(names)})"


def _first_sentence(value: Any) -> str:
    text = inspect.cleandoc(value.__doc__ or "").split("\n\n")
    paragraph = text[1] if "->" in text[0] and len(text) > 1 else text[0]
    plain = re.sub(r":\w+:`~?\.?(?:[\w.]*\.)?(\w+)`", r"`\1`", " ".join(paragraph.split())).replace("``", "`")
    return re.split(r"(?<=[^.]\.) (?=[A-Z`])", plain)[0]


#: Document, name of the place in it, what stands there.
TABLES: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("README.md", "keywords", short_table),
    ("docs/json-schema.md", "keywords", full_table),
    ("docs/json-schema.md", "formats", format_table),
    ("docs/json-schema.md", "unsupported", unsupported_table),
    ("docs/json-schema.md", "limits", limits_table),
    ("docs/api.md", "functions", functions_table),
    ("docs/api.md", "classes", classes_table),
    ("docs/api.md", "errors", errors_table),
)
DOCUMENTS = sorted({document for document, _, _ in TABLES})


def rewritten(document: str) -> str:
    """The text of a document with its tables as they should be."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for name, mark, make in TABLES:
        if name == document:
            begin, end = f"<!-- {mark}: docs/tables.py -->\n", f"<!-- end of {mark} -->"
            head, _, rest = text.partition(begin)
            _, found, tail = rest.partition(end)
            if not found:
                raise ValueError(f"{document} has no place for the table of {mark}: {begin!r} and {end!r}")
            text = f"{head}{begin}\n{make()}\n\n{end}{tail}"
    return text


if __name__ == "__main__":
    for document in DOCUMENTS:
        (ROOT / document).write_text(rewritten(document), encoding="utf-8")
