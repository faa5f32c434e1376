"""Fields of messages: how they are written and read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.services.bags import Types

from causewatch.errors import CausewatchError, SettingError, StreamError, UnknownNameError
from causewatch.streaming.sources.bag_fields import Codec, fields_of, parse_field, reader_of

pytest.importorskip("rosbags", reason="rosbags is not installed")


def codec(kind: str) -> Codec:
    """What reads messages of a type that no bag defines."""
    none = SimpleNamespace(format=SimpleNamespace(name="NONE"), data="")
    return Codec(
        SimpleNamespace(msgtype=kind, topic="/t", msgdef=none), ros1=False, distro="humble"
    )


def read(text: str, kind: str, message: Any) -> Any:
    """The value of a field in a message."""
    field = parse_field(text)
    assert field is not None
    return reader_of(field, codec(kind))(message)


TYPES = Types("sqlite3")
JOINTS = "sensor_msgs/msg/JointState"
IMU = "sensor_msgs/msg/Imu"


@pytest.mark.parametrize(
    "text",
    [
        "/joint_states.position[0]",
        "/joint_states.position[name=HeadYaw]",
        "/joint_states.position[name=arm.left 2]",
        "/a/b/c.x.y.z",
        "relative.data",
    ],
)
def test_fields_are_read_and_written_alike(text: str) -> None:
    """What was read is written as it was."""
    assert str(parse_field(text)) == text


@pytest.mark.parametrize(
    "text", ["", ".data", "/t.", "/t..x", "/t.x[", "/t.1x", "/t x.y", "/t.x[[0]]"]
)
def test_what_is_no_field_is_none(text: str) -> None:
    """Rather than something else."""
    assert parse_field(text) is None


def test_a_topic_alone_means_its_data() -> None:
    """As in std_msgs."""
    assert str(parse_field("/battery")) == "/battery.data"
    assert read("/battery", "std_msgs/msg/Float64", TYPES.number(12.5)) == 12.5


def test_numbers_inside_messages() -> None:
    """Fields of fields, and elements of arrays."""
    assert read("/i.linear_acceleration.y", IMU, TYPES.imu(0, 1.0, 2.0, 3.0)) == 2.0
    assert read("/i.orientation_covariance[8]", IMU, TYPES.imu(0, 1.0, 2.0, 3.0)) == 0.0
    message = TYPES.joints(0, [4.0, 5.0, 6.0])
    assert read("/j.position[2]", JOINTS, message) == 6.0
    assert read("/j.position[3]", JOINTS, message) is None
    assert read("/j.effort[0]", JOINTS, message) is None
    assert read("/j.header.stamp.sec", JOINTS, TYPES.joints(7_000_000_000, [1.0])) == 7


def test_elements_by_the_name_beside_them() -> None:
    """Wherever it stands in each message; absent if it does not."""
    field = parse_field("/j.velocity[name=B]")
    assert field is not None
    get = reader_of(field, codec(JOINTS))
    assert get(TYPES.joints(0, [1.0, 2.0], ["A", "B"])) == 20.0
    assert get(TYPES.joints(0, [3.0, 4.0], ["B", "A"])) == 30.0
    assert get(TYPES.joints(0, [5.0], ["C"])) is None
    assert get(TYPES.joints(0, [], [])) is None
    assert get(TYPES.joints(0, [6.0, 7.0, 8.0], ["C", "A", "B"])) == 80.0
    assert get(TYPES.joints(0, [6.0], ["C", "B"])) is None


def test_elements_by_a_name_of_their_own() -> None:
    """As in transforms."""
    types = TYPES.store.types

    def transform(child: str, x: float) -> Any:
        return types["geometry_msgs/msg/TransformStamped"](
            header=TYPES.header(0),
            child_frame_id=child,
            transform=types["geometry_msgs/msg/Transform"](
                translation=types["geometry_msgs/msg/Vector3"](x=x, y=0.0, z=0.0),
                rotation=types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0),
            ),
        )

    kind = "tf2_msgs/msg/TFMessage"
    message = types[kind](transforms=[transform("base", 1.0), transform("arm", 2.0)])
    text = "/tf.transforms[child_frame_id={}].transform.translation.x"
    assert read(text.format("arm"), kind, message) == 2.0
    assert read(text.format("leg"), kind, message) is None
    assert read("/tf.transforms[0].transform.translation.x", kind, message) == 1.0


@pytest.mark.parametrize(
    ("text", "kind", "error", "said"),
    [
        ("/j.positions[0]", JOINTS, UnknownNameError, "Did you mean 'position'"),
        ("/j.position", JOINTS, SettingError, r"position\[0\] or position\[name="),
        ("/j.position[x]", JOINTS, SettingError, "one element is to be named"),
        ("/j.position[-1]", JOINTS, SettingError, "one element is to be named"),
        ("/j.position[label=A]", JOINTS, UnknownNameError, "name"),
        ("/j.name[0]", JOINTS, SettingError, "is text, no number"),
        ("/j.header", JOINTS, SettingError, "go on with one of its fields: stamp, frame_id"),
        ("/j.position[0].x", JOINTS, SettingError, "leave out what follows"),
        ("/i.linear_acceleration[0]", IMU, SettingError, r"no array; leave out \[0\]"),
        ("/i.linear_acceleration.w", IMU, UnknownNameError, "x, y, z"),
    ],
)
def test_fields_that_do_not_exist_are_refused_with_those_that_do(
    text: str, kind: str, error: type[CausewatchError], said: str
) -> None:
    """One sentence that helps."""
    field = parse_field(text)
    assert field is not None
    with pytest.raises(error, match=said):
        reader_of(field, codec(kind))


def test_definitions_in_the_bag_are_used_however_they_are_written() -> None:
    """As messages or in IDL, one after the other; what is no definition is one sentence."""
    line = "=" * 80
    part = "module plant {{ module msg {{ struct {} {{ {} }}; }}; }};\n"
    idl = (
        f"{line}\nIDL: plant/msg/Pump\n"
        + part.format("Pump", "double flow; plant::msg::State state;")
        + f"{line}\nIDL: plant/msg/State\n"
        + part.format("State", "boolean on;")
    )
    text = f"float64 flow\nplant/State state\n{line}\nMSG: plant/State\nbool on\n"

    def defined(form: str, data: str) -> Codec:
        definition = SimpleNamespace(format=SimpleNamespace(name=form), data=data)
        connection = SimpleNamespace(msgtype="plant/msg/Pump", topic="/p", msgdef=definition)
        return Codec(connection, ros1=False, distro="humble")

    data = b"\x00\x01\x00\x00" + np.float64(2.5).tobytes() + b"\x01"
    for form, definition in (("IDL", idl), ("MSG", text)):
        reads = defined(form, definition)
        message = reads.decode(data)
        for name, value in (("/p.flow", 2.5), ("/p.state.on", True)):
            field = parse_field(name)
            assert field is not None
            assert reader_of(field, reads)(message) == value
    for form, definition in (("IDL", "struct {"), ("MSG", "float65 \x00")):
        with pytest.raises(StreamError, match="'plant/msg/Pump' of /p in a way that cannot be"):
            defined(form, definition)
    with pytest.raises(StreamError, match="nor known in ROS 2 humble"):
        defined("NONE", "")


def test_the_fields_of_messages_are_listed() -> None:
    """Names where there are names, without headers, texts and empty or endless arrays."""
    found = fields_of(
        "/j",
        codec(JOINTS),
        [TYPES.joints(0, [1.0, 2.0], ["A", "B"]), TYPES.joints(0, [3.0], ["C"])],
    )
    assert [str(one) for one in found] == [
        *(f"/j.{part}[name={name}]" for part in ("position", "velocity") for name in "AB"),
        "/j.position[name=C]",
        "/j.velocity[name=C]",
    ]
    found = fields_of("/i", codec(IMU), [TYPES.imu(0, 1.0, 2.0, 3.0)])
    assert len(found) == 4 + 3 + 3 + 3 * 9
    scan = TYPES.store.types["std_msgs/msg/Float64MultiArray"](
        layout=TYPES.store.types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0),
        data=np.zeros(1000),
    )
    found = fields_of("/s", codec("std_msgs/msg/Float64MultiArray"), [scan])
    assert [str(one) for one in found] == ["/s.layout.data_offset"]
    assert fields_of("/i", codec(IMU), []) == []
