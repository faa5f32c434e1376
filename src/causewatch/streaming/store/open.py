"""Opening a store by what the user calls it."""

from __future__ import annotations

import re
from pathlib import Path

from causewatch.errors import SettingError, shorten
from causewatch.streaming.address import parse_address
from causewatch.streaming.store.base import Store
from causewatch.streaming.store.sqlite import SqliteStore

__all__ = ["open_store"]


def open_store(where: str, watch: str = "") -> Store:
    """The store of a watch. Nothing is made or connected yet.

    Parameters
    ----------
    where
        A folder, or ``postgresql://host/database``.
    watch
        Name of the watch; a server keeps many.
    """
    if re.match(r"[a-z][a-z0-9+.-]*://", where, re.IGNORECASE) is None:
        return SqliteStore(Path(where), watch)
    address = parse_address(where)
    if address.scheme != "postgresql":
        msg = (
            f"{shorten(address.name)!r} is neither a folder nor an address that begins with"
            " postgresql://."
        )
        raise SettingError(msg)
    from causewatch.streaming.store.postgres import PostgresStore

    return PostgresStore(where, watch)
