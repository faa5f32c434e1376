"""Which signals of a model a source has, and what it means that it lacks some."""

from __future__ import annotations

import logging

from causewatch.errors import listing
from causewatch.model import NormalModel
from causewatch.streaming.source import Source, is_connected

__all__ = ["say_what_comes"]

log = logging.getLogger(__name__)


def say_what_comes(source: Source, model: NormalModel, enough: bool) -> bool:
    """Say how many of the signals of a model a source has, and what cannot be judged without those.

    Parameters
    ----------
    source, model
        What gives the rows, and what judges them.
    enough
        Whether enough rows have come: some tags come later than others.

    Returns
    -------
    bool
        Whether that is known, and so was said.
    """
    missing, columns = source.missing, model.watched
    if missing and not enough:
        return False
    if not missing:
        if is_connected(source.status):
            log.info("%s gives all %d signals of the model.", source.name, len(columns))
        return True
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
    return True
