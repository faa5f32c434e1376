"""Shared by the table tests: writing a small file and looking up notes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path):
    """Write content to a file and return its path."""

    def write(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def noted():
    """The notes of a table as a mapping from kind to count."""

    def noted(table) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for note in table.notes:
            counts[note.kind] += note.count
        return dict(counts)

    return noted
