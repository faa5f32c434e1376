"""Write the tables of ``docs/results`` that are not the league's.

Usage: ``python -m benchmarks.results [--only causrca,paper,…] [--quick]``. Real recordings are
looked for in ``CAUSEWATCH_DATA``, and pages about those that are absent are left as they are. With
``--quick`` little is measured and nothing written.
"""

from __future__ import annotations

from benchmarks.common import data_folder, options
from benchmarks.results.page import Page, write
from benchmarks.results.pages import PAGES


def main() -> None:
    """Measure and write."""
    given = options(__doc__, only={"default": ",".join(PAGES), "metavar": "NAME,…"})
    folder = data_folder()
    for name in given.only.split(","):
        if name not in PAGES:
            msg = f"There is no page {name!r}; there are {', '.join(PAGES)}."
            raise SystemExit(msg)
        make, needs_data = PAGES[name]
        if needs_data and folder is None:
            print(f"{name}: left as it is; its recordings are absent (set CAUSEWATCH_DATA).")
            continue
        print(f"{name} …", flush=True)
        page: Page = make(folder, given.quick)
        print(page.body if given.quick else write(page), flush=True)


if __name__ == "__main__":
    main()
