"""Ports for servers of tests that are stopped and started again in the same place."""

from __future__ import annotations

import random
import socket

__all__ = ["free_port"]

PORTS = range(10_000, 32_000)
"""Below those that systems give to outgoing connections: one of these could hold the port when the
server comes back."""

_chance = random.SystemRandom()  # no seed: others may test on the same machine


def free_port() -> int:
    """A port of loopback that nobody uses."""
    while True:
        port = _chance.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
