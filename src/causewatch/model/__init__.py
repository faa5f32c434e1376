"""causewatch.model."""
