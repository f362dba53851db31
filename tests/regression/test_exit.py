"""At the end of the interpreter nothing of the kernel is left: nanobind counts its instances, types and functions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

USE = """
import json, sys, threading
import grammar_decode as gd
from schemas import CURATED
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, mask_of

vocabulary = as_vocabulary(ALL_SINGLE_BYTES)
matchers = []
for curated in CURATED[:40]:
    grammar = gd.compile_json_schema(curated.schema)
    matcher = gd.GrammarMatcher(grammar, vocabulary)
    for byte in json.dumps(curated.valid[0]).encode()[:20]:
        mask_of(matcher)
        matcher.accept_bytes(bytes([byte]))
    matcher.allowed_bytes(), matcher.forced_bytes(), matcher.completion_distance()
    matchers.append(matcher.fork())
bitmask = gd.allocate_token_bitmask(len(matchers), vocabulary.size)
gd.fill_next_token_bitmasks(matchers, bitmask)
gd.compile_regex("[a-z]+"), gd.compile_choice(["a", "b"])
for wrong in ({"type": "x"}, False, {"pattern": "("}):
    try:
        gd.compile_json_schema(wrong)
    except gd.GrammarDecodeError as error:
        kept = error  # with its traceback
thread = threading.Thread(target=lambda: gd.compile_json_schema({"type": "string"}, cache=None))
thread.start(), thread.join()
"""

ENDS = {
    "the end of the program": "",
    "exit in a function that holds matchers": "def end(m):\n    sys.exit(3)\nend(matchers[0])",
    "an error": "raise RuntimeError(matchers[0])",
    "kept by a module": "sys.modules['json'].kept = matchers",
    "a cycle": "matchers.append(matchers)",
}


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_at_the_end_of_the_interpreter(end: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", USE + ENDS[end]],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "nanobind" not in result.stderr, result.stderr[-3000:]
    assert (result.returncode == 0) == (end in ("the end of the program", "kept by a module", "a cycle")), result.stderr
