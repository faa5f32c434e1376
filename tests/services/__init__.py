"""Real services for tests, started and stopped by hand."""
