"""A sample of the schemas made to cost as much as they can (``make adversarial`` runs all of them, and times them)."""

from __future__ import annotations

import sys

import pytest

import grammar_decode as gd
from adversarial import MEGABYTES, cost
from adversarial_schemas import FAMILIES, NUMBER_OF_SCHEMAS, schemas

VOCABULARY = gd.Vocabulary([*(bytes([b]) for b in range(256)), None], stop_token_ids=[256])

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="costs are measured by fork and /proc")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_hostile_schema_is_compiled_or_refused_in_bounded_memory(family: str) -> None:
    outcome = cost(family, 0, VOCABULARY)
    assert outcome.outcome == "compiled" or isinstance(getattr(gd, outcome.outcome, None), type), outcome
    assert outcome.megabytes <= MEGABYTES, outcome


def test_there_are_a_thousand_of_many_kinds() -> None:
    assert len(set(schemas())) == NUMBER_OF_SCHEMAS == 1_000
    assert len(FAMILIES) > 25
