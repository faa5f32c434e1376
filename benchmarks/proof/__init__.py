"""Long proofs that the service survives: kills, brokers, hostile messages, hours of rows."""
