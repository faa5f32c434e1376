"""`Introduction`: says once what a source is, as soon as that is known."""

from __future__ import annotations

import logging

from causewatch.errors import listing
from causewatch.model import NormalModel
from causewatch.streaming.source import Source, is_connected

__all__ = ["Introduction"]

log = logging.getLogger(__name__)

ENOUGH = 20
"""Rows after which a signal that has not come is said to be missing: some tags come later."""


class Introduction:
    """Says that a source is connected, and which signals of a model it gives.

    Parameters
    ----------
    source, model
        What gives the rows, and what judges them.
    """

    def __init__(self, source: Source, model: NormalModel) -> None:
        self._source, self._model = source, model
        self._connected = False  # whether it was said that the connection stands
        self._known = False  # whether it was said which signals come

    def polled(self) -> None:
        """The source was asked for rows: say that its connection stands, where it has one."""
        if not self._connected and is_connected(self._source.status):
            self._connected = True
            log.info("%s: %s.", self._source.name, self._source.status)

    def rows(self, count: int) -> None:
        """So many rows have come by now: say what is missing, and what cannot be judged then."""
        missing, columns = self._source.missing, self._model.watched
        if self._known or (missing and count < ENOUGH and not self._source.ended):
            return
        self._known = True
        if not missing:
            if self._connected:
                log.info("%s gives all %d signals of the model.", self._source.name, len(columns))
            return
        # A mechanism without one of its causes says nothing about its effect.
        gone = set(missing)
        blind = {
            link.target: None
            for link in self._model.graph
            if link.source in gone and link.target not in gone
        }
        also = f" cannot be judged without: {listing(blind)};" if blind else ""
        log.warning(
            "%d of the %d signals %s not in %s: %s; reported as missing;%s the others are watched.",
            len(missing),
            len(columns),
            "is" if len(missing) == 1 else "are",
            self._source.name,
            listing(missing),
            also,
        )
