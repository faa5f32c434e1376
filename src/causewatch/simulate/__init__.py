"""causewatch.simulate."""
