"""A plant that publishes rows by MQTT at a steady pace, QoS 1.

``python -m benchmarks.proof.publisher PORT TOPIC ROWS.npy TIMES.npy INTERVAL_NS RATE``
writes the wall time of each publication to TIMES.npy. It goes on through restarts of the broker.
With --raw it writes MQTT to the socket by itself, which costs a fifth of the processor time: the
plant should not compete with the watch for this machine's two cores.
"""

from __future__ import annotations

import argparse
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import paho.mqtt.client as mqtt
from benchmarks.proof.plant import START


def payloads(rows: np.ndarray, interval: int) -> Iterator[bytes]:
    """The rows as JSON."""
    names = [f"S{k:02d}" for k in range(rows.shape[1])]
    form = '{"seq": %d, "time": %d, ' + ", ".join(f'"{name}": %.5f' for name in names) + "}"
    first = int(START.astype(np.int64))
    for k, row in enumerate(rows):
        yield (form % (k, first + k * interval, *row.tolist())).encode()


def paced(items: Iterator[bytes], rate: float, sent: np.ndarray) -> Iterator[bytes]:
    """Each item when it is due; notes when that was."""
    began = time.perf_counter() + 0.5
    for k, item in enumerate(items):
        due = began + k / rate - time.perf_counter()
        if due > 0.0005:
            time.sleep(due)
        sent[k] = time.time()
        yield item
    late = time.perf_counter() - began - len(sent) / rate
    print(f"published {len(sent):,} rows, {late:.2f} s behind its pace at the end", flush=True)


def raw(port: int, topic: str, items: Iterator[bytes]) -> None:
    """Publish with quality of service 1, and read the confirmations without looking at them."""
    wire = socket.create_connection(("127.0.0.1", port))
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    name = b"raw plant"
    head = b"\x00\x04MQTT\x04\x02\x00\x00" + struct.pack("!H", len(name)) + name
    wire.sendall(b"\x10" + bytes([len(head)]) + head)
    assert wire.recv(4)[3] == 0, "the broker refuses"
    confirmed = 0

    def read() -> None:
        nonlocal confirmed
        while data := wire.recv(1 << 16):
            confirmed += len(data)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    about = struct.pack("!H", len(topic)) + topic.encode()
    count = 0
    for item in items:
        count += 1
        body = about + struct.pack("!H", (count - 1) % 65_535 + 1) + item
        size, length = len(body), b""
        while True:
            size, digit = divmod(size, 128)
            length += bytes([digit | (0x80 if size else 0)])
            if not size:
                break
        wire.sendall(b"\x32" + length + body)
    end = time.monotonic() + 30
    while confirmed < 4 * count and time.monotonic() < end:
        time.sleep(0.05)
    wire.sendall(b"\xe0\x00")
    wire.shutdown(socket.SHUT_RDWR)
    wire.close()


def with_paho(port: int, topic: str, items: Iterator[bytes]) -> None:
    """Publish with quality of service 1, through restarts of the broker."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="plant", clean_session=False)
    client.max_inflight_messages_set(1000)
    client.max_queued_messages_set(0)
    client.reconnect_delay_set(0.1, 0.5)
    client.connect("127.0.0.1", port)
    client.loop_start()
    last = None
    for item in items:
        last = client.publish(topic, item, qos=1)
    if last is not None:
        last.wait_for_publish(120)
    client.disconnect()
    client.loop_stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("topic")
    parser.add_argument("rows", type=Path)
    parser.add_argument("times", type=Path)
    parser.add_argument("interval", type=int, help="nanoseconds between the times of two rows")
    parser.add_argument("rate", type=float, help="rows a second")
    parser.add_argument("--raw", action="store_true")
    given = parser.parse_args()
    rows = np.load(given.rows, mmap_mode="r")
    sent = np.empty(len(rows))
    how = raw if given.raw else with_paho
    how(given.port, given.topic, paced(payloads(rows, given.interval), given.rate, sent))
    np.save(given.times, sent)


if __name__ == "__main__":
    main()
