"""1,000 schemas made to cost as much as they can, and what each costs: ``python tests/adversarial.py``.

Each schema is compiled in a child process of its own, then some masks are computed and followed. The child may refuse
with an error of the package; it may not crash, and the bars are 2 seconds of processor time for compiling and for each
mask, and 500 MB of memory for all. The schemas are made from their number, so a finding is repeated by its family and
number.
"""

# ruff: noqa: E501, T201 (a schema in a line each; the script prints what it finds)

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import grammar_decode as gd
from adversarial_schemas import NUMBER_OF_SCHEMAS, made, schemas

SECONDS = 2.0
MEGABYTES = 500
MASKS = 12


@dataclass
class Cost:
    """What one schema came to: `outcome` is "compiled", the name of an error class of the package, or what went wrong."""

    family: str
    number: int
    outcome: str
    seconds: float
    megabytes: float
    text: str = ""

    @property
    def is_within(self) -> bool:
        fine = self.outcome == "compiled" or isinstance(getattr(gd, self.outcome, None), type)
        return fine and self.seconds <= SECONDS and self.megabytes <= MEGABYTES


class Clock:
    """The longest step so far, in processor time."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last = time.process_time()

    def step(self) -> None:
        now = time.process_time()
        self.longest, self._last = max(self.longest, now - self._last), now


def attempt(schema: Any, vocabulary: gd.Vocabulary, masks: int = MASKS) -> tuple[str, str, float]:
    """Compile, then compute and follow masks. The outcome, the text of an error of the package, the longest step."""
    rng = random.Random(1)
    clock = Clock()
    bitmask = gd.allocate_token_bitmask(1, vocabulary.size)
    try:
        grammar = gd.compile_json_schema(schema, cache=None)
        clock.step()
        matcher = gd.GrammarMatcher(grammar, vocabulary)
        for _ in range(masks):
            matcher.fill_next_token_bitmask(bitmask)
            clock.step()
            allowed = [t for t in range(vocabulary.size) if bitmask[0, t // 32] >> (t % 32) & 1]
            if not allowed:
                return "an empty mask", "", clock.longest
            clock.step()
            if not matcher.accept_token(rng.choice(allowed)):
                return "a token of the mask was refused", "", clock.longest
            if matcher.is_terminated():
                break
    except gd.GrammarDecodeError as error:
        clock.step()
        return type(error).__name__, str(error), clock.longest
    return "compiled", "", clock.longest


def cost(name: str, k: int, vocabulary: gd.Vocabulary) -> Cost:
    """In a child process, which makes the schema (not counted), and is killed far beyond the bars."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            schema = made(name, k)
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            before = _peak()
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            most = int(_status("VmSize") * 2**20) + (8 << 30)  # a build with sanitizers has terabytes, unused
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            clock = Clock()
            try:
                outcome, text, seconds = attempt(schema, vocabulary)
            except BaseException as error:
                clock.step()
                outcome, text, seconds = f"{type(error).__name__}", str(error), clock.longest
                if isinstance(getattr(gd, outcome, None), type):
                    outcome = f"a {outcome} from another door"
            result = Cost(name, k, outcome, seconds, _peak() - before, text[:300])
            os.write(writing, json.dumps(asdict(result)).encode()[:60_000])
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        return Cost(name, k, f"the process ended with status {status}", 60.0, 0.0)
    return Cost(**json.loads(answer))


def _peak() -> float:
    """Peak memory of this process in MB."""
    return _status("VmHWM")


def _status(name: str) -> float:
    """A size of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + ":")) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only each N-th schema")
    parser.add_argument("--only", help="only this family")
    parser.add_argument("--count", type=int, default=NUMBER_OF_SCHEMAS)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    vocabulary = gd.Vocabulary(
        [*(bytes([b]) for b in range(256)), b'{"', b'":', b'",', b"]}", None], stop_token_ids=[260]
    )
    gd.GrammarMatcher(gd.compile_json_schema({}), vocabulary)
    costs = []
    for index, (name, k) in enumerate(schemas(arguments.count)):
        if index % arguments.every or (arguments.only and name != arguments.only):
            continue
        costs.append(cost(name, k, vocabulary))
        if arguments.verbose or not costs[-1].is_within:
            print(costs[-1], flush=True)
    outside = [c for c in costs if not c.is_within]
    outcomes: dict[str, int] = {}
    for c in costs:
        outcomes[c.outcome] = outcomes.get(c.outcome, 0) + 1
    print(f"{len(costs)} schemas: {outcomes}")
    print(
        f"most processor time {max(c.seconds for c in costs):.2f} s, most memory {max(c.megabytes for c in costs):.0f} MB, {len(outside)} outside of the bars"
    )
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
