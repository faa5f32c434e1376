"""``python -m causewatch``."""

from causewatch.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
