"""What tests of several commands need."""

from __future__ import annotations

import pytest

from small_plant import SmallPlant, build


@pytest.fixture(scope="session")
def plant(tmp_path_factory: pytest.TempPathFactory) -> SmallPlant:
    """A model, and a recording with two faults."""
    return build(tmp_path_factory.mktemp("plant"))
