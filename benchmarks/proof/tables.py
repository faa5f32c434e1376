"""20,000 mutations of a Parquet file, a spreadsheet and a CSV file, and a forged spreadsheet.

Each is read or refused in one sentence; anything else, or the end of this process, falls short.

    python -m benchmarks.proof.tables [--files 20000] [--first 0]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.proof import verdict

from causewatch.data import read_table
from causewatch.errors import CausewatchError

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from mutated import GOOD, forged_book, mutated


def outcome(path: Path) -> str:
    """What comes of reading a file."""
    try:
        read_table(path)
    except CausewatchError as error:
        return "refused" if "\n" not in str(error) else "refused in more than a sentence"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return type(error).__name__
    return "read"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    short = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, good in GOOD.items():
            path, counts = Path(folder) / f"table.{kind}", Counter[str]()
            for seed in range(given.first, given.first + given.files):
                path.write_bytes(mutated(good, seed))
                came = outcome(path)
                counts[came] += 1
                if came not in ("read", "refused"):
                    short.append(f"{kind} of seed {seed}: {came}")
            print(f"{kind}: {dict(counts)}", flush=True)
        path = Path(folder) / "forged.xlsx"
        path.write_bytes(forged_book())
        if (came := outcome(path)) != "refused":
            short.append(f"forged spreadsheet: {came}")
    verdict.end(short)


if __name__ == "__main__":
    main()
