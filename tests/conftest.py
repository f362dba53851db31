"""Settings for the whole suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Two busy cores make any deadline flaky; a failing example prints a blob that repeats it.
settings.register_profile("default", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")
