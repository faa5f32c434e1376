"""`serving`: a watch with a page."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from causewatch.server.access.audit import Audit
from causewatch.server.access.guard import Guard
from causewatch.server.access.settings import (
    ServeSettings,
    allowed_hosts,
    check_settings,
    open_role,
)
from causewatch.server.access.tokens import Tokens
from causewatch.server.album import Album
from causewatch.server.app import create_app
from causewatch.server.feed import Feed
from causewatch.server.hub import Hub
from causewatch.server.noticed import Noticed
from causewatch.server.plant import plant_of
from causewatch.server.replays.replays import Replays
from causewatch.server.served import Served
from causewatch.server.web import WebServer
from causewatch.streaming.runner import Watch
from causewatch.streaming.service import NAME
from causewatch.streaming.source import Reading
from causewatch.streaming.tags import TagMap

__all__ = ["serving"]

log = logging.getLogger(__name__)

WRITE_EVERY = 1.0
"""Seconds between two looks for alarms whose ticks are to be written down."""


@contextmanager
def serving(
    watch: Watch,
    model: Path,
    settings: ServeSettings,
    reading: Reading | None = None,
    tags: TagMap | None = None,
) -> Iterator[WebServer]:
    """Show a watch, which is about to run, to those who look on.

    Parameters
    ----------
    watch
        Not yet running; it is told to show itself.
    model
        File of its model, for replays.
    settings
        Where to listen, and whom to let in.
    reading, tags
        What is known of the rows of this plant, for replays.
    """
    for sentence in check_settings(settings):
        log.warning("%s", sentence)
    tokens = None if settings.tokens is None else Tokens(settings.tokens)
    known = watch.monitor.model
    plant = plant_of(known)
    album = Album(watch.store, known)
    feed = Feed(known.watched, album)
    boot = secrets.token_hex(8)
    hub = Hub(feed, boot, len(known.watched))
    with ExitStack() as stack:
        replays = Replays(model, reading=reading, tags=tags)
        stack.callback(replays.close)
        served = Served(
            boot=boot,
            watch=model.stem if watch.name == NAME else watch.name,
            source=watch.source.name,
            model=known,
            file=model.name,
            plant=plant,
            settings=asdict(watch.monitor.settings),
            feed=feed,
            hub=hub,
            album=album,
            store=watch.store,
            audit=Audit(settings.audit),
            replays=replays,
            noticed=Noticed(model),
        )
        guard = Guard(
            create_app(served),
            tokens=tokens,
            open_role=open_role(settings),
            hosts=allowed_hosts(settings),
            viewers=settings.viewers,
        )
        server = WebServer(guard, settings, hub.start)
        stack.callback(server.close)
        watch.views += (feed,)
        stack.enter_context(_writing(album))
        server.start()
        stack.callback(hub.stop)
        yield server


@contextmanager
def _writing(album: Album) -> Iterator[None]:
    """Write alarms down beside the watch, and what is left at the end."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(WRITE_EVERY):
            album.write()

    thread = threading.Thread(target=work, name="album", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        album.write(everything=True)
