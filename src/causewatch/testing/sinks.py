"""What every sink must do."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from causewatch.errors import CausewatchError
from causewatch.streaming.sink import DeliveryError, Notice, Sink, Status
from causewatch.testing.held import Held
from causewatch.testing.waiting import PATIENCE, until

__all__ = ["SinkContract", "SinkRig", "example_event"]

START = datetime(2026, 1, 1, tzinfo=UTC)


class SinkRig(Protocol):
    """A receiver for `SinkContract`.

    Most receivers may be away when a sink is opened, and a delivery to nobody is an error. A rig
    for which that is otherwise says so: with an attribute ``there_at_first`` that is true if
    opening must fail while the receiver is away, and with ``never_away``, which says why, if
    nobody has to listen for a delivery to be one: whoever comes next still gets it.
    """

    def sink(self) -> Sink:
        """A fresh sink that is not open, each time with the same settings."""

    def received(self) -> list[dict[str, Any]]:
        """The events that have arrived so far, in order."""

    def down(self) -> None:
        """Take the receiver away, or whoever listens."""

    def up(self) -> None:
        """Bring it back."""


def example_event(number: int) -> dict[str, Any]:
    """An event of an alarm as in the JSON lines, with some signs that are often mishandled."""
    moment = (START + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "id": f"{number:012x}",
        "event": ("raised", "updated", "acknowledged", "shelved", "cleared")[number % 5],
        "time": moment,
        "kind": "anomaly" if number % 3 else "health",
        "raised_at": moment,
        "cleared_at": moment if number % 5 == 4 else None,
        "onset": moment,
        "peak_score": 1.5 + number,
        "headline": f'LIT301 → FIT401 changed: «{number}» | a=b \\ "quoted"',
        "abstained": False,
        "causes": [{"signal": "LIT301", "score": 3.2, "confidence": 0.8}],
        "broken_links": [
            {
                "source": "LIT301",
                "target": "FIT401",
                "lag": 2,
                "normal": 0.5,
                "observed": 0.1,
                "deviation": 4.0,
            }
        ],
        "signals": {"LIT301": 3.2, "FIT401": None},
        "problem": None if number % 3 else "frozen",
        "acknowledged_by": None,
        "acknowledged_at": None,
        "shelved_until": None,
        "comments": [],
        "merged": 0,
        "normal": False,
    }


class SinkContract:
    """What every `Sink` must do."""

    def _notices(self, first: int, count: int) -> list[Notice]:
        return [Notice(k, "line 1", example_event(k)) for k in range(first, first + count)]

    def _arrived(self, rig: SinkRig, count: int) -> list[str]:
        until(lambda: len(rig.received()) >= count)
        return [event["id"] for event in rig.received()]

    def test_events_arrive_once_and_in_order(self, rig: SinkRig) -> None:
        """All of them, whole."""
        sink, notices = rig.sink(), self._notices(1, 5)
        sink.open(None)
        try:
            self._send(sink, notices[:2])
            self._send(sink, notices[2:])
            assert self._arrived(rig, 5) == [one.body["id"] for one in notices]
        finally:
            sink.close()

    def test_it_goes_on_with_its_mark(self, rig: SinkRig) -> None:
        """A later run adds to what was delivered; what has no mark yet is not doubled by it."""
        notices = self._notices(1, 4)
        sink = rig.sink()
        sink.open(None)
        mark = self._send(sink, notices[:2])
        sink.close()
        sink = rig.sink()
        sink.open(json.loads(json.dumps(mark)))
        self._send(sink, notices[2:])
        sink.close()
        assert self._arrived(rig, 4) == [one.body["id"] for one in notices]

    def test_a_receiver_that_is_away_is_an_error_to_try_again(self, rig: SinkRig) -> None:
        """`DeliveryError` while it is away; afterwards the same sink delivers."""
        rig.down()
        sink = rig.sink()
        try:
            if getattr(rig, "there_at_first", False):
                self._is_refused(sink)
                rig.up()
                sink.open(None)
                rig.down()
            else:
                sink.open(None)
            notices = self._notices(1, 2)
            if getattr(rig, "never_away", ""):
                self._send(sink, notices[:1])
                del notices[:1]
            else:
                self._is_turned_away(sink)
            rig.up()
            self._send(sink, notices)
            assert self._arrived(rig, 2)[-2:] == ["000000000001", "000000000002"]
        finally:
            sink.close()

    def _is_refused(self, sink: Sink) -> None:
        """Opening fails for good, not as something to try again."""
        refused: CausewatchError | None = None
        try:
            sink.open(None)
        except CausewatchError as error:
            refused = error
        assert refused is not None, "a sink was opened without its receiver"
        assert not isinstance(refused, DeliveryError)

    def _is_turned_away(self, sink: Sink) -> None:
        """A delivery fails, and says why."""
        refused: DeliveryError | None = None
        try:
            sink.send(self._notices(1, 1))
        except DeliveryError as error:
            refused = error
        assert refused is not None, "a delivery to nobody seems to have worked"
        assert refused.sent == 0
        assert str(refused)

    def test_looking_and_closing_do_no_harm(self, rig: SinkRig) -> None:
        """A status may come at any time; closing is safe twice and before opening."""
        sink = rig.sink()
        sink.close()
        sink = rig.sink()
        sink.open(None)
        sink.look(Status("line 1", score=0.5, signals={"LIT301": 0.5}, source="connected"))
        sink.close()
        sink.close()
        assert sink.name

    def test_it_leaves_nothing_open(self, rig: SinkRig) -> None:
        """However often one is opened and closed, no file, socket or thread is left."""

        def once(number: int) -> None:
            sink = rig.sink()
            sink.open(None)
            self._send(sink, self._notices(number, 1))
            sink.close()

        once(1)  # some libraries keep a thing or two for good
        before = Held.now()
        for number in (2, 3):
            once(number)
        assert until(lambda: not Held.now().more_than(before)), (before, Held.now())

    def _send(self, sink: Sink, notices: Sequence[Notice]) -> Any:
        """Send, trying again as a courier would."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return sink.send(notices)
            except DeliveryError as error:
                if time.monotonic() > end:
                    raise
                notices = notices[error.sent :]
                time.sleep(0.1)
