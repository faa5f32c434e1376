"""causewatch.cli."""
