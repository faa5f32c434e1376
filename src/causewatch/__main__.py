"""``python -m causewatch``."""

from causewatch.cli import run

if __name__ == "__main__":
    run()
