"""A TCP proxy on loopback that can be cut and held up, as networks are."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from causewatch.testing.waiting import PATIENCE


class Proxy:
    """Passes bytes on to a port.

    ``cut`` ends all connections and refuses new ones; ``hold`` keeps them, but nothing goes
    through; ``mend`` makes all well again. ``answers`` false holds up only what comes back from the
    server; ``requests`` false only what goes to it: nothing that is sent from then on.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._is_cut = self._closing = False
        self._passing = threading.Lock()
        self._requests = self._answers = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def requests(self) -> bool:
        return self._requests

    @requests.setter
    def requests(self, pass_on: bool) -> None:
        with self._passing:
            self._requests = pass_on

    @property
    def answers(self) -> bool:
        return self._answers

    @answers.setter
    def answers(self, pass_on: bool) -> None:
        with self._passing:
            self._answers = pass_on

    def cut(self) -> None:
        self._is_cut = True

    def hold(self) -> None:
        self.requests = self.answers = False

    def mend(self) -> None:
        self._is_cut = False
        self.requests = self.answers = True

    def close(self) -> None:
        self._closing = True
        self._thread.join(PATIENCE)
        self._server.close()

    def _run(self) -> None:
        while not self._closing:
            if self._is_cut:
                self._drop_all()
            watched = [self._server]
            for near, far in self._pairs:
                watched += [near] if self.requests else []
                watched += [far] if self.answers else []
            ready, _, _ = select.select(watched, [], [], 0.01)
            if self._server in ready:
                self._accept()
            for near, far in list(self._pairs):
                for one, other in ((near, far), (far, near)):
                    with self._passing:
                        passes = self._requests if one is near else self._answers
                        whole = not (one in ready and passes) or self._pass_on(one, other)
                    if not whole:
                        self._drop((near, far))
                        break
        self._drop_all()

    def _accept(self) -> None:
        near, _ = self._server.accept()
        try:
            if self._is_cut:
                raise OSError
            far = socket.create_connection(("127.0.0.1", self._target), 5)
        except OSError:
            near.close()
            return
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pairs.append((near, far))

    def _pass_on(self, one: socket.socket, other: socket.socket) -> bool:
        try:
            data = one.recv(65_536)
            other.sendall(data)
        except OSError:
            return False
        return bool(data)

    def _drop(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self._pairs.remove(pair)
        for one in pair:
            with suppress(OSError):
                one.close()

    def _drop_all(self) -> None:
        for pair in list(self._pairs):
            self._drop(pair)


@contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    """A proxy for the time of a test."""
    made = Proxy(target)
    try:
        yield made
    finally:
        made.close()
