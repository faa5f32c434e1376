"""What it means for a model that a source lacks some of its signals."""

from __future__ import annotations

import logging

from causewatch.errors import listing
from causewatch.model import NormalModel
from causewatch.streaming.source import Source

__all__ = ["warn_of_missing"]

log = logging.getLogger(__name__)


def warn_of_missing(source: Source, model: NormalModel) -> None:
    """Say which signals a source does not have, and what cannot be judged without them."""
    missing, columns = source.missing, model.watched
    if not missing:
        return
    # A mechanism without one of its causes says nothing about its effect.
    gone = set(missing)
    blind = {
        link.target: None for link in model.graph if link.source in gone and link.target not in gone
    }
    also = f" cannot be judged without: {listing(blind)};" if blind else ""
    log.warning(
        "%d of the %d signals %s not in %s: %s; reported as missing;%s the others are watched.",
        len(missing),
        len(columns),
        "is" if len(missing) == 1 else "are",
        source.name,
        listing(missing),
        also,
    )
