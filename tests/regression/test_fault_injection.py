"""An allocation that fails in the kernel is a MemoryError; matcher, grammar and vocabulary go on as before.

Every allocation of every call fails once: the first, then the second, until the call gets through. It runs in a child
process, with an operator new of its own (tests/failing_new.cpp).
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
COMPILER = next((path for path in map(shutil.which, ("g++", "clang++", "c++")) if path), None)
NAMES = ("everything", "unique_strings", "pattern_properties", "tagged_union", "finite_key_pattern")


@pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs a C++ compiler, and LD_PRELOAD")
def test_an_allocation_failure_is_a_memory_error_and_changes_nothing(tmp_path: Path) -> None:
    library = tmp_path / "failing_new.so"
    subprocess.run([str(COMPILER), "-O1", "-shared", "-fPIC", "-o", library, TESTS / "failing_new.cpp"], check=True)
    result = subprocess.run(
        [sys.executable, __file__, library],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
    failures, calls = map(int, result.stdout.split())
    assert calls > 100
    assert failures > 5 * calls  # or the allocations are not ours


def _made(matcher: Any, stop_token_ids: list[int]) -> Any:
    return type(matcher)(matcher.grammar, matcher.vocabulary, stop_token_ids=stop_token_ids, max_tokens=10_000)


def main(library: str) -> None:
    import grammar_decode as gd
    from schemas import CURATED
    from vocabularies import ALL_SINGLE_BYTES
    from walks import as_vocabulary, mask_of

    control = ctypes.CDLL(library)
    failures = calls = 0

    def until_it_works(call: Callable[[], Any], state: Callable[[], Any]) -> Any:
        """What the call returns once it gets through; before, every failure must leave the state as it was."""
        nonlocal failures, calls
        calls += 1
        before = state()
        allocation = 0
        while True:
            control.fail_after(ctypes.c_long(allocation))
            try:
                result = call()
            except MemoryError:
                control.fail_after(ctypes.c_long(-1))
                failures += 1
                assert state() == before
                allocation += 1 + allocation // 8  # all of the first ones, then some
                continue
            control.fail_after(ctypes.c_long(-1))
            return result

    for name in NAMES:
        curated = next(c for c in CURATED if c.name == name)
        expected_grammar = gd.compile_json_schema(curated.schema, cache=None)
        vocabulary = as_vocabulary(ALL_SINGLE_BYTES)
        calm = gd.GrammarMatcher(expected_grammar, vocabulary)
        other = gd.Vocabulary(
            list(vocabulary.token_bytes), stop_token_ids=vocabulary.stop_token_ids, size=vocabulary.size
        )
        matcher = gd.GrammarMatcher(gd.compile_json_schema(curated.schema, cache=None), other)

        def state(m: gd.GrammarMatcher = matcher) -> Any:
            return m.num_steps, m.is_accepting(), m.is_terminated()

        import json

        for byte in json.dumps(curated.valid[0], ensure_ascii=False).encode()[:24]:
            mask = until_it_works(lambda m=matcher: mask_of(m).tobytes(), state)
            assert mask == mask_of(calm).tobytes()
            piece = bytes([byte])
            assert until_it_works(lambda m=matcher, p=piece: m.accept_bytes(p), state)
            assert calm.accept_bytes(piece)
        assert until_it_works(lambda m=matcher: m.allowed_bytes(), state) == calm.allowed_bytes()

        # What takes lists, and what makes objects.
        ids = [matcher.vocabulary.token_bytes.index(bytes([byte])) for byte in b" " * 40]
        matchers = [calm, matcher] * 20
        rows = gd.allocate_token_bitmask(len(matchers), vocabulary.size)
        until_it_works(lambda m=matcher, i=ids: m.validate_tokens(i), state)
        until_it_works(lambda m=matcher, i=ids: m.accept_tokens(i), state)
        until_it_works(lambda m=matchers, r=rows: gd.fill_next_token_bitmasks(m, r, max_threads=1), state)
        until_it_works(lambda m=matcher: m.fork(), state)
        until_it_works(lambda m=matcher, s=[*vocabulary.stop_token_ids]: _made(m, s), state)
        until_it_works(lambda v=vocabulary: gd.Vocabulary(v.token_bytes[:300], stop_token_ids=[0]), state)
        until_it_works(lambda s=curated.schema: gd.compile_json_schema(s, cache=None), state)
    sys.stdout.write(f"{failures} {calls}\n")


if __name__ == "__main__":
    main(sys.argv[1])
