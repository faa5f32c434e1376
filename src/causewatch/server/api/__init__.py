"""The programming interface, one module for each matter.

Each has a function ``router(served)``. Whatever waits for a disk or computes for long is a plain
function, which runs in a thread beside the loop.
"""
