"""What a watch must not forget, in SQLite or PostgreSQL."""
