"""Settings for the whole suite."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

import grammar_decode as gd

# Two busy cores make any deadline flaky; a failing example prints a blob that repeats it.
settings.register_profile("default", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
# CI tries the same examples every time, so that a change is judged by what it does; a developer's run draws new ones.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(autouse=True)
def _no_grammar_of_another_test() -> None:
    """What a test sees does not depend on what was compiled, and which masks were remembered, before it."""
    gd.grammar_cache.clear()
