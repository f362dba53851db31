"""Engines side by side: each in a process of its own, asked for one schema after another, in turns.

A process answers a line for a line, so that one that hangs or dies costs one schema and not the run.
"""

from __future__ import annotations

import json
import resource
import selectors
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from cases import Case
from engines import ENGINES, allows
from tokens import load_tokens

Answer = dict[str, Any]


def serve(name: str, tokenizer: str | None) -> None:
    """The loop of an engine's process: a request a line on standard input, an answer a line on standard output."""
    tokens = load_tokens(tokenizer)
    started = perf_counter_ns()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    engine = ENGINES[name](tokens)
    ready = {"load_ms": (perf_counter_ns() - started) / 1e6, "rss_before_mb": before / 1024}
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        answer = asked(engine, json.loads(line))
        answer["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(answer), flush=True)


def asked(engine: Any, request: Any) -> Answer:
    """Times in nanoseconds; `wrong`: documents that end on the other side than the validator's."""
    answer: Answer = {"status": "ok", "mask": [], "commit": [], "wrong": 0}
    try:
        started = perf_counter_ns()
        engine.compile(request["schema"])
        engine.start()
        engine.fill()
        answer["first"] = perf_counter_ns() - started
        for ids, valid in request["documents"]:
            answer["wrong"] += replay(engine, ids, answer) != valid
    except Exception as error:
        answer["status"], answer["error"] = "refused", f"{type(error).__name__}: {error}"[:300]
    return answer


def replay(engine: Any, ids: list[int], answer: Answer) -> bool:
    engine.start()
    for token in ids:
        started = perf_counter_ns()
        engine.fill()
        answer["mask"].append(perf_counter_ns() - started)
        if not allows(engine.bitmask, token):
            return False
        started = perf_counter_ns()
        accepted = engine.accept(token)
        answer["commit"].append(perf_counter_ns() - started)
        if not accepted:
            return False
    return bool(engine.is_complete())


def judged(answer: Answer, case: Case) -> Answer:
    """A schema that is refused as unsatisfiable is right where no document is valid; it has no times."""
    if "unsatisfiable" in answer.get("error", "").lower():
        return answer | {"status": "ok", "wrong": sum(valid for _, valid in case.documents)}
    return answer


class Child:
    """An engine's process, started again when it had to be ended."""

    def __init__(self, name: str, tokenizer: str | None) -> None:
        self.name = name
        self.command = [sys.executable, str(Path(__file__).with_name("benchmark.py")), "serve", "--engine", name]
        if tokenizer is not None:
            self.command += ["--tokenizer", tokenizer]
        self.process: subprocess.Popen[str] | None = None
        self.ready: Answer = {}
        self.peak_mb = 0.0

    def ask(self, request: Any, seconds: float) -> Answer:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            ready = self._line(600)
            if ready is None:
                self.stop()
                raise SystemExit(f"benchmark: the process of {self.name} does not start: {' '.join(self.command)}")
            self.ready = self.ready or ready
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer = self._line(seconds)
        except BrokenPipeError:
            answer = None
        if answer is None:
            status = "timeout" if self.process.poll() is None else "crash"
            self.stop()
            return {"status": status}
        self.peak_mb = max(self.peak_mb, answer["rss_mb"])
        return answer

    def _line(self, seconds: float) -> Answer | None:
        assert self.process is not None
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def compare(names: list[str], tokenizer: str | None, cases: Iterable[Case], seconds: float, progress: Any) -> Answer:
    """The raw answers by engine and kind, and what is said of each engine as a whole."""
    tokens = load_tokens(tokenizer)
    children = {name: Child(name, tokenizer) for name in names}
    answers: dict[str, dict[str, list[Answer]]] = {name: {} for name in names}
    try:
        for number, case in enumerate(cases):
            documents = [(tokens.encode(text), valid) for text, valid in case.documents]
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:  # nobody always runs behind the same neighbour
                answer = children[name].ask({"schema": case.schema, "documents": documents}, seconds)
                answers[name].setdefault(case.kind, []).append(judged(answer, case))
            progress(case.name)
    finally:
        for child in children.values():
            child.stop()
    ready = {name: {**child.ready, "peak_mb": child.peak_mb} for name, child in children.items()}
    return {"tokenizer": tokens.name, "size": tokens.size, "answers": answers, "engines": ready}


PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
TAIL = [
    *np.arange(0.0, 90.0, 5.0),
    *np.arange(90.0, 99.0, 0.5),
    *np.arange(99.0, 99.9, 0.05),
    99.9,
    99.95,
    99.99,
    100.0,
]


def summary(answers: list[Answer]) -> Answer:
    """Microseconds; a document counts as masks and commits also where an engine then went wrong."""
    good = [{"first": [], **answer} for answer in answers if answer["status"] == "ok"]
    row: Answer = {
        "schemas": len(answers),
        "pass": sum(answer["wrong"] == 0 for answer in good),
        "wrong": sum(answer["wrong"] > 0 for answer in good),
        "refuse": len(answers) - len(good),
    }
    for what in ("first", "mask", "commit"):
        values = [v for a in good for v in (a[what] if isinstance(a[what], list) else [a[what]])]
        times = np.asarray(values or [np.nan]) / 1e3
        row[what] = {"count": len(values), "mean": float(times.mean())}
        row[what] |= {label: float(np.percentile(times, at)) for label, at in PERCENTILES.items()}
        row[what]["tail"] = [float(value) for value in np.percentile(times, TAIL)]
    return row
