"""Shared by all tests: the folder of real recordings, and patience in property tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile(
    "causewatch",
    deadline=None,  # a busy machine is not a failure
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
