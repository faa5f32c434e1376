"""causewatch.discovery."""
