"""The dashboard: a page and a programming interface for a running watch.

The watch stays in its own thread and tells a `feed` what happens; a web server in another thread
answers from that. `service` puts the two together, `guard` decides who is let in.
"""

from __future__ import annotations

from causewatch.server.access.settings import ServeSettings
from causewatch.server.access.tokens import Role, Tokens, Visitor, make_token

__all__ = ["Role", "ServeSettings", "Tokens", "Visitor", "make_token"]
