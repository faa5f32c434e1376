"""causewatch."""
