"""Nothing is lost and nothing comes twice, whatever breaks: the ledger with a model of a broker."""

from __future__ import annotations

import random
from collections import deque

import pytest

from causewatch.streaming.mqtt_client import Connection
from causewatch.streaming.sources.mqtt_ledger import Ledger, digest


class Broker:
    """What the protocol asks of a broker, and no more.

    Numbers of packets are used again as soon as that is allowed: the lowest first if `thrifty`, or
    round and round, as mosquitto does.
    """

    def __init__(self, numbers: int, window: int, thrifty: bool) -> None:
        self.numbers, self.window, self.thrifty = numbers, min(window, numbers), thrifty
        self.queue: deque[int] = deque()
        self.on_their_way: dict[int, int] = {}  # messages by packet, in the order first sent
        self.last = 0
        self.down: deque[tuple[str, int, int, bool]] = deque()  # to the client
        self.up: deque[tuple[str, int]] = deque()  # from it
        self.connection = Connection(0, 0)

    def connect(self, session_lost: bool = False) -> None:
        self.down.clear()
        self.up.clear()
        session = self.connection.session + session_lost
        self.connection = Connection(self.connection.number + 1, session)
        if session_lost:
            self.on_their_way.clear()
            self.queue.clear()
        for packet, message in self.on_their_way.items():
            self.down.append(("message", packet, message, True))
        self.send()

    def send(self) -> None:
        while self.queue and len(self.on_their_way) < self.window:
            packet = 0 if self.thrifty else self.last
            while True:
                packet = packet % self.numbers + 1
                if packet not in self.on_their_way:
                    break
            self.last = packet
            self.on_their_way[packet] = message = self.queue.popleft()
            self.down.append(("message", packet, message, False))

    def hear(self) -> None:
        if self.up:
            what, number = self.up.popleft()
            if what == "ack":
                # Whoever acknowledges a message twice could acknowledge another one.
                assert number in self.on_their_way
                assert next(iter(self.on_their_way)) == number, "out of order"
                del self.on_their_way[number]
                self.send()
            else:
                self.down.append(("receipt", number, 0, False))


class Watch:
    """Polls, makes checkpoints, acknowledges; may be killed at any moment."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.saved: tuple[str, tuple[int, ...]] = ("", ())
        self.start()

    def start(self) -> None:
        self.ledger = Ledger()
        self.ledger.load(self.saved[0])
        self.rows = list(self.saved[1])
        self.inbox: deque[tuple[Connection, int, int, bool]] = deque()
        # Connections are counted anew in each run.
        self.broker.connection = Connection(0, 0)
        self.broker.connect()

    def receive(self) -> None:
        if self.broker.down:
            what, packet, message, repeated = self.broker.down.popleft()
            if what == "message":
                self.inbox.append((self.broker.connection, packet, message, repeated))
            else:
                self.ledger.receipt(self.broker.connection.number, packet)

    def poll(self) -> None:
        if self.inbox:
            connection, packet, message, repeated = self.inbox.popleft()
            if self.ledger.take(connection, packet, digest("t", b"%d" % message), repeated):
                self.rows.append(message)

    def save(self) -> None:
        self.saved = (self.ledger.save(), tuple(self.rows))

    def commit(self) -> None:
        self.save()
        packets, number = self.ledger.commit(self.broker.connection)
        self.broker.up.extend(("ack", packet) for packet in packets)
        if packets:
            self.broker.up.append(("receipt", number))

    def break_off(self) -> None:
        self.broker.connect()

    def kill(self) -> None:
        self.start()


ACTIONS = {
    "publish": 10,
    "receive": 12,
    "poll": 12,
    "hear": 12,
    "commit": 6,
    "break_off": 3,
    "kill": 1,
    "save": 1,
}
"""What may happen, and how often it does."""


@pytest.mark.parametrize("thrifty", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_every_message_counts_once(seed: int, thrifty: bool) -> None:
    chance = random.Random(seed)
    window = chance.randint(1, 6)
    broker = Broker(window + chance.randint(1, 6), window, thrifty)
    watch = Watch(broker)
    published = 0

    def do(action: str) -> None:
        nonlocal published
        if action == "publish":
            broker.queue.append(published)
            published += 1
            broker.send()
        elif action == "hear":
            broker.hear()
        elif action == "save":  # and killed before the acknowledgements
            watch.save()
            watch.kill()
        else:
            getattr(watch, action)()

    for action in chance.choices(list(ACTIONS), list(ACTIONS.values()), k=1000):
        do(action)
    for _ in range(4 * published + 4):  # calm weather
        for action in ("receive", "poll", "commit", "hear", "hear"):
            do(action)
    assert watch.rows == list(range(published))
    assert not broker.on_their_way
    assert not watch.ledger.owing
    assert len(watch.ledger) <= 1  # the answer to the last receipt may be on its way


def test_a_number_used_again_is_another_message() -> None:
    ledger, first = Ledger(), Connection(1, 0)
    assert ledger.take(first, 7, b"aaaaaa", False)
    ledger.commit(first)
    assert ledger.take(first, 7, b"aaaaaa", False)  # the same value again is no repetition
    assert len(ledger) == 1


def test_what_is_sent_again_in_the_same_connection_is_acknowledged_once() -> None:
    ledger, first = Ledger(), Connection(1, 0)
    assert ledger.take(first, 7, b"aaaaaa", False)
    assert not ledger.take(first, 7, b"aaaaaa", True)
    assert ledger.commit(first)[0] == [7]


def test_a_repetition_of_something_else_is_new() -> None:
    ledger = Ledger()
    ledger.take(Connection(1, 0), 7, b"aaaaaa", False)
    assert ledger.take(Connection(2, 0), 7, b"bbbbbb", True)


def test_nothing_is_owed_to_a_connection_that_is_gone() -> None:
    ledger = Ledger()
    ledger.take(Connection(1, 0), 7, b"aaaaaa", False)
    assert ledger.owing
    assert ledger.commit(None)[0] == []
    assert not ledger.owing
    assert not ledger.take(Connection(2, 0), 7, b"aaaaaa", True)
    assert ledger.commit(Connection(2, 0))[0] == [7]


def test_a_new_session_knows_nothing_of_the_old_one() -> None:
    ledger = Ledger()
    ledger.take(Connection(1, 0), 7, b"aaaaaa", False)
    assert ledger.take(Connection(2, 1), 7, b"aaaaaa", True)
    assert ledger.take(Connection(1, 0), 8, b"bbbbbb", False)  # was waiting in the inbox
    assert ledger.commit(Connection(2, 1))[0] == [7]


def test_it_goes_through_text() -> None:
    ledger = Ledger()
    for packet in (1, 300, 65_535):
        ledger.take(Connection(1, 0), packet, digest("t", b"%d" % packet), False)
    again = Ledger()
    again.load(ledger.save())
    assert again.save() == ledger.save()
    assert not again.take(Connection(1, 0), 300, digest("t", b"300"), True)


@pytest.mark.parametrize("text", ["AAAA", "no base64 at all", "é"])
def test_damaged_text_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Ledger().load(text)


def test_topic_and_payload_do_not_run_into_each_other() -> None:
    assert digest("a/b", b"c") != digest("a", b"/bc")
    assert digest("a", b"1") != digest("b", b"1")
