"""Bags: what robots record, as rows.

Signals are fields of messages (see `bag_fields`), whose last values stand on a grid of rows (see
`causewatch.streaming.assembly.RowAssembler`).
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from causewatch.data import Clock
from causewatch.data.table import NANOSECONDS
from causewatch.errors import SettingError
from causewatch.streaming.address import Address, options_of
from causewatch.streaming.assembly import RowAssembler
from causewatch.streaming.source import Batch, Guarantee, Wanted, nothing
from causewatch.streaming.sources.bag_contents import BagOptions, Contents, Use
from causewatch.streaming.sources.bag_files import Bag, Message, is_bag, open_bag

__all__ = ["BagOptions", "BagSource", "is_bag"]

log = logging.getLogger(__name__)

SLICE = 0.03
"""Seconds of reading after which a poll looks whether it has rows to give."""
HEAD = 16
"""Messages by which a bag is known again."""
EARLIEST = 10**18
"""Times before (2001) are no dates: a simulation counts from 0."""


class BagSource:
    """Rows of a bag; see `causewatch.streaming.source.Source`.

    Parameters
    ----------
    where
        A path, or an address such as ``bag:///data/run.bag?time=log``.
    wanted
        Its tags say which field is which signal. Without any, signals that are written like fields
        are read, and joints by their name.
    options
        What an address would say after its question mark.
    """

    guarantee: Guarantee = "replayed"

    def __init__(
        self, where: str | Path | Address, wanted: Wanted, options: BagOptions | None = None
    ) -> None:
        if isinstance(where, Address):
            options = options_of(where, BagOptions)
            if where.host or not where.path:
                msg = f"The address {where.name} names no bag; write it like bag:///data/run.bag."
                raise SettingError(msg)
            where = f"/{where.path}"
        self._path = Path(where)
        self._wanted = wanted
        self._options = options = options or BagOptions()
        self.name = self._path.name
        stale = max(10.0, 3 * wanted.interval) if options.stale is None else options.stale
        limits = {tag.signal: tag.stale for tag in wanted.tags if tag.stale is not None}
        self._rows = RowAssembler(
            wanted.columns,
            wanted.interval,
            stale=limits,
            default_stale=stale,
            late=options.late,
        )
        self._many = round(1000 * wanted.interval * NANOSECONDS)
        self._bag: Bag | None = None
        self._contents: Contents
        self._uses: dict[str, list[Use]] = {}  # by topic
        self._messages: Iterator[Message] = iter(())
        self._counts: Counter[str] = Counter()
        self._after: Mapping[str, Any] = {}
        self._skip = self._read = 0
        self._head = hashlib.sha256()
        self._over = False
        self.ended = False
        self.clock: Clock | None = None
        self.missing: tuple[str, ...] = ()
        self._status = "not open"

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        found = self._counts + Counter(self._rows.problems)
        if self._bag is not None and self._bag.damaged:
            found["damaged"] += self._bag.damaged
        return dict(found)

    @property
    def status(self) -> str:
        """See `Source`."""
        return self._status

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`."""
        self._bag = open_bag(self._path)
        try:
            self._contents = Contents(self._bag, self._options)
            self._uses, self.missing = self._contents.find(self._wanted)
        except BaseException:
            self.close()
            raise
        self._begin(after)
        self._status = "reading"

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        if self._bag is None or self.ended:
            return nothing(len(self._wanted.columns))
        until = time.monotonic() + wait
        while True:
            batch = self._rows.rows()
            if len(batch):
                return self._told(batch)
            if self._over:
                self.ended, self._status = True, "ended"
                return batch
            self._take()
            if not self._over and time.monotonic() >= until:
                return self._told(self._rows.rows())

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        if self._skip:  # nothing was given out since
            return dict(self._after)
        return {
            "name": self.name,
            "messages": self._read,
            "head": self._head.hexdigest(),
            "rows": self._rows.snapshot(),
        }

    def committed(self) -> None:
        """See `Source`."""

    def close(self) -> None:
        """See `Source`."""
        self._messages = iter(())
        if self._bag is not None:
            self._counts["damaged"] += self._bag.damaged
            self._bag.close()
            self._bag = None
        self._status = "closed"

    def _begin(self, after: Mapping[str, Any]) -> None:
        """Read on after a position."""
        assert self._bag is not None
        self._after = after
        self._rows.restore(after.get("rows", {}))
        self._skip = int(after.get("messages", 0))
        self._read = 0
        self._head = hashlib.sha256("\n".join(sorted(self._uses)).encode())
        self._messages = self._bag.messages(self._uses)

    def _take(self) -> None:
        """Read messages for a short while, or until there are enough rows."""
        end = time.monotonic() + SLICE
        latest: int | None = None
        for message in self._messages:
            self._read += 1
            if self._read <= HEAD:
                self._note(message)
            if self._skip:
                if self._read == min(HEAD, self._skip) and not self._known():
                    return
                if self._read == self._skip:
                    self._skip = 0
            else:
                stamp = self._use(message)
                latest = stamp if latest is None else latest
                if abs(stamp - latest) > self._many:
                    return
            if self._read % 16 == 0 and time.monotonic() > end:
                return
        if self._skip:  # shorter than what was read before
            self._anew()
            return
        self._over = True
        self._rows.finish()

    def _note(self, message: Message) -> None:
        self._head.update(f"\n{message.topic} {message.time} ".encode())
        self._head.update(message.data)

    def _known(self) -> bool:
        """Whether this is the bag of the position; it is read from its beginning if not."""
        if self._after.get("head") == self._head.hexdigest():
            return True
        self._anew()
        return False

    def _anew(self) -> None:
        log.warning(
            "%s is another bag than the one watched before; it is read from its beginning.",
            self.name,
        )
        self._counts["other_bags"] += 1
        self._begin({})

    def _use(self, message: Message) -> int:
        """Take the values of a message; gives its time."""
        stamp = message.time
        if len(message.data) > self._wanted.limits.payload:
            self._counts["too_large"] += 1
            return stamp
        try:
            stamp, found = self._contents.decode(message)
            values = [(tag, read(found)) for tag, read in self._uses[message.topic]]
        except Exception:  # whatever the library makes of bytes that make no sense
            self._counts["bad_messages"] += 1
            return stamp
        for tag, value in values:
            if value is not None:
                number = tag.convert(float(value))
                if math.isnan(number):
                    self._counts["bad_values"] += 1
                self._rows.take(tag.signal, number, stamp)
        return stamp

    def _told(self, batch: Batch) -> Batch:
        """Rows to give out; the first of them tells what times count."""
        if self.clock is None and len(batch):
            self.clock = "utc" if int(batch.times[0]) >= EARLIEST else "elapsed"
        return batch
