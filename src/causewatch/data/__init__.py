"""causewatch.data."""
