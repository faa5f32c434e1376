"""Real bags, written with rosbags: a robot's joints at 50 Hz and its inertial sensor at 100 Hz."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from causewatch.streaming.source import Source

KINDS = ("ros1", "sqlite3", "mcap")
JOINTS = ("HeadYaw", "HeadPitch", "LShoulder")
START = 1_767_225_600_000_000_000
Item = tuple[str, str, int, Any]
"""Topic, type, time of recording in ns, and a message (or bytes that are none)."""


class Types:
    """Messages of one distribution of ROS."""

    def __init__(self, kind: str) -> None:
        from rosbags.typesys import Stores, get_typestore

        self.ros1 = kind == "ros1"
        self.store: Any = get_typestore(Stores.ROS1_NOETIC if self.ros1 else Stores.ROS2_HUMBLE)

    def header(self, time: int) -> Any:
        """A header with a stamp in nanoseconds."""
        types = self.store.types
        stamp = types["builtin_interfaces/msg/Time"](
            sec=time // 1_000_000_000, nanosec=time % 1_000_000_000
        )
        more = {"seq": 0} if self.ros1 else {}
        return types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **more)

    def joints(self, time: int, position: Any, names: Iterable[str] = JOINTS) -> Any:
        """A sensor_msgs/JointState."""
        position = np.asarray(position, dtype=np.float64)
        return self.store.types["sensor_msgs/msg/JointState"](
            header=self.header(time),
            name=list(names),
            position=position,
            velocity=position * 10,
            effort=np.zeros(0),
        )

    def imu(self, time: int, x: float, y: float, z: float) -> Any:
        """A sensor_msgs/Imu."""
        types = self.store.types
        vector, nine = types["geometry_msgs/msg/Vector3"], np.zeros(9)
        return types["sensor_msgs/msg/Imu"](
            header=self.header(time),
            orientation=types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0),
            orientation_covariance=nine,
            angular_velocity=vector(x=0.0, y=0.0, z=0.0),
            angular_velocity_covariance=nine,
            linear_acceleration=vector(x=x, y=y, z=z),
            linear_acceleration_covariance=nine,
        )

    def number(self, value: float) -> Any:
        """A std_msgs/Float64."""
        return self.store.types["std_msgs/msg/Float64"](data=value)

    def picture(self, data: bytes) -> Any:
        """A std_msgs/UInt8MultiArray."""
        types = self.store.types
        layout = types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
        return types["std_msgs/msg/UInt8MultiArray"](
            layout=layout, data=np.frombuffer(data, dtype=np.uint8)
        )

    def bytes_of(self, kind: str, message: Any) -> bytes:
        """A message as it is recorded."""
        if isinstance(message, bytes):
            return message
        write = self.store.serialize_ros1 if self.ros1 else self.store.serialize_cdr
        return bytes(write(message, kind))


def write_bag(path: Path, kind: str, items: Iterable[Item], topics: dict[str, str]) -> Path:
    """Write a bag; one that is there is written over. Gives what a user would name.

    `kind` is ``ros1``, ``sqlite3``, ``mcap`` (a folder) or ``mcap file``; ``+lz4`` and the like
    after it is how it is compressed.
    """
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2

    kind, _, compression = kind.partition("+")
    types = Types(kind)
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)
    writer: Any
    if kind == "ros1":
        writer = Writer1(path)
        writer.chunk_threshold = 1 << 14
        if compression:
            writer.set_compression(Writer1.CompressionFormat[compression.upper()])
    else:
        plugin = StoragePlugin.SQLITE3 if kind == "sqlite3" else StoragePlugin.MCAP
        writer = Writer2(path, version=9, storage_plugin=plugin)
        if compression:
            writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    with writer:
        known = {
            topic: writer.add_connection(topic, one, typestore=types.store)
            for topic, one in topics.items()
        }
        for topic, one, time, message in items:
            writer.write(known[topic], time, types.bytes_of(one, message))
    if kind == "mcap file":
        return path / f"{path.name}.mcap"
    return path


TOPICS = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/imu/data": "sensor_msgs/msg/Imu",
    "/battery": "std_msgs/msg/Float64",
    "/camera": "std_msgs/msg/UInt8MultiArray",
}


def walk(kind: str, seconds: float, seed: int = 1, *, camera: bool = False) -> list[Item]:
    """A random walk of a robot, in the order of recording: a little later than it happened.

    With a `camera`, there are large messages between the others, and so many chunks.
    """
    types, random = Types(kind), np.random.default_rng(seed)
    items: list[Item] = []
    steps = round(seconds * 100)
    position = np.zeros(len(JOINTS))
    for k in range(steps):
        now = START + k * 10_000_000
        x, y, z = random.normal(size=3)
        delay = int(random.integers(0, 4_000_000))
        items.append(("/imu/data", TOPICS["/imu/data"], now + delay, types.imu(now, x, y, z)))
        if k % 2 == 0:
            position = position + random.normal(size=len(JOINTS))
            at = now + int(random.integers(-3_000_000, 3_000_000))
            message = types.joints(at, position)
            items.append(("/joint_states", TOPICS["/joint_states"], at + 5_000_000, message))
        if camera and k % 10 == 5:
            items.append(("/camera", TOPICS["/camera"], now, types.picture(random.bytes(40_000))))
        if k % 100 == 50:
            value = types.number(12.0 + k / 1e4)
            items.append(("/battery", TOPICS["/battery"], now, value))
    return sorted(items, key=lambda item: item[2])


def values_of(items: Iterable[Item]) -> dict[str, list[tuple[int, float]]]:
    """What was sent: by field, the time of each value and the value, in the order of recording."""
    found: dict[str, list[tuple[int, float]]] = {}
    for topic, _, time, message in items:
        if topic == "/camera":
            continue
        if topic == "/battery":
            found.setdefault("/battery", []).append((time, message.data))
            continue
        stamp = message.header.stamp
        at = stamp.sec * 1_000_000_000 + stamp.nanosec
        if topic == "/joint_states":
            for name, position, velocity in zip(
                message.name, message.position, message.velocity, strict=True
            ):
                found.setdefault(f"{name}.position", []).append((at, float(position)))
                found.setdefault(f"{name}.velocity", []).append((at, float(velocity)))
        else:
            for axis in "xyz":
                value = float(getattr(message.linear_acceleration, axis))
                found.setdefault(f"/imu/data.linear_acceleration.{axis}", []).append((at, value))
    return found


def rows_of(source: Source, most: int | None = None) -> list[tuple[Any, ...]]:
    """The rows of an open source, or the first ones: time and values, None where missing."""
    found: list[tuple[Any, ...]] = []
    while not source.ended and (most is None or len(found) < most):
        batch = source.poll(0.0)
        for when, row in zip(batch.times.tolist(), batch.values.tolist(), strict=True):
            found.append((when, *(None if math.isnan(one) else one for one in row)))
    return found
