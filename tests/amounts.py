"""How much a run tries: a sample by default, all of it with `make test-all`."""

from __future__ import annotations

import os

#: Set by `make test-all`. Every kind of test runs either way; what differs is how many examples of it.
EVERYTHING = os.environ.get("GRAMMAR_DECODE_TESTS") == "all"


def examples(number: int) -> int:
    """So many examples, or a sixth of them in a default run: at least 10, so that a kind never goes untried."""
    return number if EVERYTHING else max(number // 6, min(number, 10))
