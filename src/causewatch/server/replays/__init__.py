"""What-if replays of recordings, each in a process of its own beside the watch."""
