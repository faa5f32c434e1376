"""Addresses, their options, and secrets that never show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import CausewatchError, SettingError, UnknownNameError
from causewatch.streaming.address import (
    Address,
    Login,
    Seconds,
    Tls,
    options_of,
    parse_address,
    secret,
)

ONE = Seconds(1.0)


@dataclass(frozen=True)
class Options(Login, Tls):
    """Options of every kind."""

    topic: str = ""
    qos: Literal[0, 1] = 1
    version: Literal["5", "3.1.1"] = "5"
    clean: bool = False
    depth: int = 3
    share: float = 0.5
    late: Seconds = ONE
    every: Seconds | None = None
    servers: tuple[str, ...] = ()


def test_all_parts_of_an_address() -> None:
    found = parse_address(
        "MQTTS://plant%40x@Broker:8883/line%201/+/temp?qos=1&ca=a%20b", {"late": 5}
    )
    assert found == Address(
        "mqtts", "broker", 8883, "line 1/+/temp", "plant@x", {"qos": "1", "ca": "a b", "late": 5}
    )
    assert found.name == "mqtts://broker:8883/line 1/+/temp"


@pytest.mark.parametrize(
    ("url", "path", "options"),
    [
        ("mqtt://b/plant/#", "plant/#", {}),
        ("mqtt://b/plant/#?qos=0", "plant/#", {"qos": "0"}),
        ("mqtt://b/plant/%23", "plant/#", {}),
        ("nats://b/plant.>", "plant.>", {}),
        ("opc.tcp://b", "", {}),
        ("syslog:///dev/log", "dev/log", {}),
        ("mqtt://b//x", "/x", {}),
        ("mqtt://b/x?topic=", "x", {"topic": ""}),
    ],
)
def test_paths(url: str, path: str, options: dict[str, str]) -> None:
    found = parse_address(url)
    assert (found.path, found.options) == (path, options)


def test_addresses_of_version_six() -> None:
    found = parse_address("mqtt://[::1]:1883/x")
    assert (found.host, found.port, found.name) == ("::1", 1883, "mqtt://[::1]:1883/x")


@pytest.mark.parametrize(
    "url",
    [
        "broker/rows",
        "",
        "mqtt:broker",
        "mqtt://b:port/x",
        "mqtt://b:99999/x",
        "mqtt://[::1/x",
        "mqtt://b/x?qos",
        "://b/x",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(SettingError, match="is no address"):
        parse_address(url)


def test_an_option_is_given_once() -> None:
    for options in ({}, {"qos": 1}):
        with pytest.raises(SettingError, match="'qos' of mqtt:// is given twice"):
            parse_address(f"mqtt://b/x?qos=1{'' if options else '&qos=0'}", options)


@pytest.mark.parametrize(
    "url",
    [
        "mqtt://user:hunter2@b/x",
        "mqtt://:hunter2@b/x",
        "mqtt://user:hunter2@b:port/x",
        "mqtt://user:hunter2@b/x?qos",
        "mqtt://user:hunter2/more@b/x",
        "mqtt://user:hunter2:x@[::1/x",
        "mqtt://user:hunter2\u2100@b/x",
        "user:hunter2@b",
        "//user:hunter2@b/x",
    ],
)
def test_passwords_are_refused_and_never_shown(url: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_address(url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_options_become_what_they_are() -> None:
    url = "mqtt://me@b/x?qos=0&version=3.1.1&clean=yes&depth=7&share=0.25&late=2min&every=500ms"
    found = options_of(parse_address(url + "&servers=a,%20b,&topic=5"), Options)
    assert found == Options(
        user="me",
        topic="5",
        qos=0,
        version="3.1.1",
        clean=True,
        depth=7,
        share=0.25,
        late=Seconds(120.0),
        every=Seconds(0.5),
        servers=("a", "b"),
    )


def test_options_of_a_configuration_have_types_already() -> None:
    options = {
        "qos": 1, "version": 5, "clean": False, "depth": 2, "share": 1, "late": 0, "every": 2.5,
        "servers": ["a", "b"], "user": "you", "topic": 7,
    }  # fmt: skip
    found = options_of(parse_address("mqtt://me@b/x", options), Options)
    assert (found.qos, found.version, found.late, found.every) == (1, "5", 0.0, 2.5)
    assert (found.servers, found.user, found.topic) == (("a", "b"), "you", "7")


@pytest.mark.parametrize(("text", "seconds"), [("0", 0.0), ("1.5", 1.5), ("10s", 10.0)])
def test_durations(text: str, seconds: float) -> None:
    assert options_of(Address("x", options={"late": text}), Options).late == seconds


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("qos", 2, "one of 0, 1"),
        ("qos", True, "one of 0, 1"),
        ("qos", [0], "one of 0, 1"),
        ("clean", "perhaps", "true or false"),
        ("clean", 2, "true or false"),
        ("depth", 1.5, "a whole number"),
        ("depth", True, "a whole number"),
        ("depth", "many", "a whole number"),
        ("depth", [], "a whole number"),
        ("share", "half", "a number"),
        ("share", "nan", "a number"),
        ("share", False, "a number"),
        ("share", 10**400, "a number"),
        ("late", "-1", "a duration such as 5s"),
        ("late", "soon", "a duration such as 5s"),
        ("late", "inf", "a duration such as 5s"),
        ("late", True, "a duration such as 5s"),
        ("late", [1], "a duration such as 5s"),
        ("servers", 5, "names separated by commas"),
        ("servers", {"a": 1}, "names separated by commas"),
        ("topic", ["a"], "text"),
        ("topic", {"a": 1}, "text"),
        ("topic", True, "text"),
    ],
)
def test_options_that_make_no_sense(name: str, value: Any, expected: str) -> None:
    with pytest.raises(SettingError, match=rf"The option '{name}' of mqtt:// .* {expected} is exp"):
        options_of(Address("mqtt", options={name: value}), Options)


def test_unknown_options_are_named_without_their_values() -> None:
    with pytest.raises(UnknownNameError, match="no option of mqtt:// 'password'") as caught:
        options_of(parse_address("mqtt://b/x?password=hunter2"), Options)
    assert "hunter2" not in str(caught.value)
    assert "password_env" in str(caught.value)


@given(
    url=st.text(max_size=40) | st.text("ab:/@?&=#%[].0", max_size=30).map("mqtt://".__add__),
    value=st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text())),
    name=st.sampled_from(["qos", "clean", "depth", "share", "late", "every", "servers", "topic"]),
)
def test_anything_is_understood_or_refused(url: str, value: Any, name: str) -> None:
    try:
        found = parse_address(url, {name: value})
        options_of(found, Options)
    except CausewatchError:
        return
    assert found.scheme


def test_secrets_come_from_the_environment_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text("from file \n", encoding="utf-8")
    monkeypatch.setenv("PLANT_PASSWORD", "from environment")
    assert Login().password() is None
    assert Login(password_env="PLANT_PASSWORD").password() == "from environment"
    assert Login(password_file=str(file)).password() == "from file "
    with pytest.raises(SettingError, match="Both token_env and token_file are given"):
        secret("PLANT_PASSWORD", str(file), "token")
    with pytest.raises(SettingError, match="'NO_SUCH_THING', which is not set"):
        secret("NO_SUCH_THING", "", "token")
    with pytest.raises(SettingError, match="cannot be read: No such file"):
        secret("", str(tmp_path / "none"), "token")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingError, match="cannot be read: it is no text"):
        secret("", str(file), "token")
