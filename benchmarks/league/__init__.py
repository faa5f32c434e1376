"""The league: nine detectors on every recording, counted alike; ``python -m benchmarks.league``."""
