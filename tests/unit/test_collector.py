"""The garbage collector rests while a schema is compiled, and is afterwards what it was before."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import grammar_decode as gd
from grammar_decode.json_schema.collector import collector_at_rest
from grammar_decode.json_schema.compile import compile_encoded

#: Alternatives of objects, for the algebra.
HARD = {"anyOf": [{"type": "object", "required": [name]} for name in "kl"]}
REFUSED = {"anyOf": [{"type": "string", "pattern": r"(a)\1"}, {"type": "object", "required": ["k"]}]}


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.enable()


def collections_while_compiling(schema: dict[str, Any]) -> int:
    seen: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        seen.append(phase)

    threshold = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(10)
    try:
        compile_encoded(schema)
    except gd.UnsupportedSchema:
        return seen.count("start")
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(note)
    return seen.count("start")


def test_no_collection_while_the_algebra_works() -> None:
    assert collections_while_compiling(HARD) <= 2  # before it, and after it


@pytest.mark.parametrize("schema", [HARD, REFUSED])
@pytest.mark.parametrize("enabled", [True, False])
def test_afterwards_it_is_as_it_was(schema: dict[str, Any], enabled: bool) -> None:
    if not enabled:
        gc.disable()
    collections_while_compiling(schema)
    assert gc.isenabled() == enabled


def test_it_rests_for_one_thread_at_a_time_so_that_it_catches_up_in_between() -> None:
    inside, leave = threading.Event(), threading.Event()

    def rest() -> None:
        with collector_at_rest():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=rest)
    thread.start()
    assert inside.wait(10)
    with collector_at_rest():
        assert not gc.isenabled()
        leave.set()
        thread.join()
        assert gc.isenabled()  # the one who put it to rest has left
    assert gc.isenabled()
