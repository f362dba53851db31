"""The benchmark itself: its masks are right, its documents are what it says; nothing here looks at a clock."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

import cases
import grammar_decode as gd
import limits
import parts
import peers
import scale
from tokens import Tokens
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary


@pytest.mark.parametrize("part", parts.PARTS, ids=lambda part: part.name)
def test_the_mask_of_each_mechanism_agrees_with_the_bytes_of_every_token(part):
    matcher = parts.matcher_at(part, as_vocabulary(ALL_SINGLE_BYTES))
    legal, wrong = parts.wrong_tokens(matcher, most=ALL_SINGLE_BYTES.size)
    assert legal > 0
    assert wrong == []


def test_walks_near_a_limit_are_replayed_near_it_and_far_from_it():
    schemas = [
        ("any", True),
        ("none", False),
        ("array", {"type": "array", "items": {"type": "boolean"}, "minItems": 2}),
    ]
    result = limits.measured(schemas, as_vocabulary(ALL_SINGLE_BYTES), lambda _name: None)
    assert result["note"].startswith("2 schemas")
    cold, again = result["rows"]
    assert cold["positions"] == again["positions"] > 10


def test_each_section_of_one_vocabulary_measures_all_that_its_rows_say():
    some = ALL_SINGLE_BYTES
    tokens = Tokens("some", "", some.token_bytes, some.stop_token_ids[0], some.size)
    for rows in (scale.bounds(tokens), scale.branches(tokens), scale.loading(tokens, 1), scale.applying(tokens)):
        assert rows
        for row in rows:
            assert all(value > 0 for key, value in row.items() if key.endswith(("_us", "_ms"))), row


def test_a_wrong_mask_is_noticed():
    class Loose(gd.GrammarMatcher):
        def _bind(self, grammar, vocabulary, matcher):
            super()._bind(grammar, vocabulary, matcher)
            self.fill_next_token_bitmask = lambda bitmask: bitmask.fill(-1)

    matcher = Loose(gd.compile_json_schema({"type": "null"}), as_vocabulary(ALL_SINGLE_BYTES))
    assert parts.wrong_tokens(matcher, most=10)[1] != []


def test_generated_documents_are_valid_exactly_where_it_says_so():
    drawn = list(cases.generated(3, seed=7))
    assert [case.kind for case in drawn[::3]] == list(cases.KINDS)
    for case in drawn:
        validator = jsonschema.Draft202012Validator(case.schema, format_checker=jsonschema.FormatChecker())
        for text, valid in case.documents:
            assert validator.is_valid(json.loads(text)) == valid, case.name
    assert any(not valid for case in drawn for _, valid in case.documents)
    assert drawn == list(cases.generated(3, seed=7))


def test_maskbench_data_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "some.jsonl"
    record = {"id": "x", "schema": {}, "tests": [{"valid": True, "data": [1]}, {"valid": False, "text": "[1 "}]}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    (case,) = cases.maskbench(str(path), 0, seed=1)
    assert case == cases.Case("x", "some", {}, [("[1]", True), ("[1 ", False)])


def test_a_summary_counts_refusals_and_wrong_documents_apart():
    fine = {"status": "ok", "first": 2_000, "mask": [1_000, 3_000], "commit": [500], "wrong": 0}
    row = peers.summary([fine, fine | {"wrong": 2}, {"status": "refused"}, {"status": "timeout"}])
    assert (row["schemas"], row["pass"], row["wrong"], row["refuse"]) == (4, 1, 1, 2)
    assert (row["mask"]["count"], row["mask"]["mean"], row["mask"]["max"]) == (4, 2.0, 3.0)
