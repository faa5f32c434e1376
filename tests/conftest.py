"""Shared by all tests: the folder of real recordings, and patience in property tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "causewatch",
    # A busy machine is not a failure.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CAUSEWATCH_SAME_CASES" in os.environ,
)
settings.load_profile("causewatch")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real recordings; the test is skipped where there is none."""
    named = os.environ.get("CAUSEWATCH_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real recordings: {folder} is absent (set CAUSEWATCH_DATA)")
    return folder
