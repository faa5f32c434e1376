"""The league: every detector on every recording, counted alike; ``python -m benchmarks.league``."""
