"""The proofs are run by hand, so that nobody else would notice that one no longer begins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_all_proofs_can_be_imported():
    modules = sorted(path.stem for path in (ROOT / "benchmarks" / "proof").glob("[!_]*.py"))
    assert "blind" in modules
    words = "\n".join(f"import benchmarks.proof.{name}" for name in modules)
    run = subprocess.run(
        [sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
