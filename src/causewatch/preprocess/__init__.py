"""causewatch.preprocess."""
