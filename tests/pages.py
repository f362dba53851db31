"""The pages of docs/integrations: their Python examples, and what they say these print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "integrations"


def run_examples(page: str, given: dict[str, Any] | None = None) -> int:
    """Run the Python blocks of a page, one after another in one namespace, and compare what they print.

    A block is followed by what it prints, in a block of text. ``given`` is there from the start. Returns how many
    blocks there were.
    """
    text = (FOLDER / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\nIt prints\n\n```text\n(.*?)```)?", text, re.DOTALL)
    names = dict(given or {})
    for source, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, page, "exec"), names)  # the documentation is what is under test
        assert printed.getvalue() == expected
    return len(blocks)
