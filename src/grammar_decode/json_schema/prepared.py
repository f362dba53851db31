"""Languages of formats that were worked out before: `formats.json`, read at the first use of a format.

The pattern of a date and time, or of a URI, takes ten milliseconds to become a regular expression, which the first
request with such a string would wait for. What is in the file is what `formats.py` comes to, and a test compares the
two; :func:`write` writes it again. Formats that depend on the version of Unicode are not in it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from functools import cache
from pathlib import Path
from typing import NamedTuple

from grammar_decode.ir.encode import Beginning

FILE = Path(__file__).with_name("formats.json")
#: They look characters up in the tables of Python, or of the package `regex`.
BY_UNICODE = frozenset({"idn-email", "idn-hostname", "regex"})


class Prepared(NamedTuple):
    """The canonical spellings of the strings of a format, by themselves, and bounds of their length."""

    language: Beginning
    length: tuple[int, int | None]


@cache
def _all() -> dict[str, Prepared]:
    """Empty where the file is missing: then everything is worked out when it is needed."""
    if not FILE.exists():
        return {}
    rows = json.loads(FILE.read_text("ascii"))
    return {
        name: Prepared(Beginning(count, b64decode(words), b64decode(blob)), (least, most))
        for name, (least, most, count, words, blob) in rows.items()
    }


def prepared(name: str) -> Prepared | None:
    """What the file has of the format."""
    return _all().get(name)


def work_out() -> str:
    """The contents of the file."""
    from grammar_decode.json_schema.formats import STRING_FORMATS, measured, worked_out

    rows = []
    for name in STRING_FORMATS:
        if name not in BY_UNICODE:
            made = Beginning.of(worked_out("canonical", name))
            packed = [b64encode(part).decode("ascii") for part in (made.words, made.blob)]
            rows.append(f"{json.dumps(name)}: {json.dumps([*measured(name), made.num_regexes, *packed])}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


def write() -> None:
    """Write the file again."""
    FILE.write_text(work_out(), "ascii")
