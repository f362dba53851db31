"""The official JSON Schema test suite: the groups that pass, per draft, do not become fewer.

A group passes if its schema compiles and every instance is decided right. What does not pass today: multiples of
123456789 (more states than the limit). Raise a number when more groups pass. The data are not part of the repository.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import grammar_decode as gd

DATA = Path(__file__).parents[3] / "shared" / "data"
SUITE, REMOTES = DATA / "json_schema_suite.jsonl.gz", DATA / "json_schema_suite_remotes.json.gz"
pytestmark = pytest.mark.skipif(not (SUITE.exists() and REMOTES.exists()), reason=f"no official suite in {DATA}")

BYTES = gd.Vocabulary([*(bytes((b,)) for b in range(256)), None], stop_token_ids=[256])
REQUIRED = gd.JsonOptions(numbers="any", escapes="any", formats="ignore")
FORMATS = gd.JsonOptions()

#: Draft → groups of the required part that pass, and groups of optional/format with the default options.
PASSING = {
    "draft4": (159, 7),  # of 160 and 7
    "draft6": (231, 10),  # of 232 and 10
    "draft7": (256, 22),  # of 257 and 26
    "draft2019-09": (371, 24),  # of 372 and 28
    "draft2020-12": (382, 26),  # of 383 and 30
}


@cache
def groups() -> list[dict[str, Any]]:
    with gzip.open(SUITE, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def resources() -> dict[str, Any]:
    with gzip.open(REMOTES, "rt", encoding="utf-8") as file:
        remotes: dict[str, Any] = json.load(file)
    return remotes


def passes(group: dict[str, Any], options: gd.JsonOptions) -> bool:
    try:
        grammar = gd.compile_json_schema(group["schema"], options, resources=resources())
    except gd.UnsatisfiableSchema:
        return not any(test["valid"] for test in group["tests"])
    except gd.GrammarDecodeError:
        return False
    return all(accepts(grammar, test) == test["valid"] for test in group["tests"])


def accepts(grammar: gd.Grammar, test: dict[str, Any]) -> bool:
    text = test["text"] if "text" in test else json.dumps(test["data"], ensure_ascii=False)
    matcher = gd.GrammarMatcher(grammar, BYTES)
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


@cache
def counts() -> tuple[Counter[str], Counter[str]]:
    required: Counter[str] = Counter()
    formats: Counter[str] = Counter()
    for group in groups():
        if not group["optional"]:
            required[group["draft"]] += passes(group, REQUIRED)
        elif "/format" in group["id"]:
            formats[group["draft"]] += passes(group, FORMATS)
    return required, formats


@pytest.mark.parametrize("draft", PASSING)
def test_no_required_group_is_lost(draft: str) -> None:
    assert counts()[0][draft] >= PASSING[draft][0]


@pytest.mark.parametrize("draft", PASSING)
def test_no_format_group_is_lost(draft: str) -> None:
    assert counts()[1][draft] >= PASSING[draft][1]
