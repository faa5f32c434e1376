"""causewatch.explain."""
