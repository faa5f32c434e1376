"""Tables of results, one page each in ``docs/results``; ``python -m benchmarks.results``."""
