"""One TOML file that says everything, and what it says about mistakes in it."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from causewatch.errors import CausewatchError, SettingError
from causewatch.monitor import AlarmSettings
from causewatch.streaming.config import WatchConfig, load_config
from causewatch.streaming.config_check import options_class
from causewatch.streaming.open import SINKS, SOURCES
from causewatch.streaming.plan import Place, Plan
from causewatch.streaming.plan_check import metrics_place
from causewatch.streaming.source import Limits, Reading
from causewatch.streaming.store.base import Retention
from causewatch.streaming.tags import Tag

EXAMPLE = Path(__file__).parents[3] / "docs" / "connect" / "example.toml"
START = 'model = "m.cwm"\nsource = "rows.csv"\n'


@pytest.fixture
def load(tmp_path):
    def write(text: str) -> WatchConfig:
        file = tmp_path / "plant.toml"
        file.write_text(text, encoding="utf-8")
        return load_config(file)

    return write


def test_the_example() -> None:
    found = load_config(EXAMPLE)
    here = EXAMPLE.parent
    plan = found.plan()
    assert plan.model == here / "line1.cwm"
    assert plan.name == "line1"
    assert plan.state == str(here / "state")
    assert plan.source == Place(
        "mqtts://causewatch@broker.plant/line1/+",
        {
            "format": "tags",
            "qos": 1,
            "late": "2s",
            "ca": str(here / "certificates/plant-ca.pem"),
            "password_env": "LINE1_PASSWORD",
        },
    )
    assert list(plan.tags) == [
        Tag("line1/LIT101", "level"),
        Tag("line1/FIT101", "flow", 1 / 3.6, 0.0, 30.0),
        Tag("line1/TT107", "temperature", 1.0, 273.15),
    ]
    assert plan.reading == Reading(ignore=("quality",))
    assert plan.limits == Limits(65_536, 20_000)
    assert plan.settings == AlarmSettings(raise_after=2, clear_after=10)
    assert plan.retention == Retention(730, 500_000)
    assert (plan.alarms, plan.scores) == (here / "out/alarms.jsonl", here / "out/scores.csv")
    assert (plan.per_signal, plan.report) == (True, here / "out/reports")
    assert [sink.where for sink in plan.sinks] == [
        "https://desk.plant/alarms",
        "syslog+tls://siem.plant:6514",
    ]
    assert plan.sinks[0].options == {
        "secret_file": str(here / "secrets/webhook"),
        "timeout": "10s",
    }
    assert plan.metrics == "127.0.0.1:9464"


def test_the_example_shows_every_table() -> None:
    with EXAMPLE.open("rb") as file:
        shown = tomllib.load(file)
    assert set(shown) == set(WatchConfig.model_fields) - {"folder"}


def test_what_is_not_said_is_as_without_a_file(load, tmp_path) -> None:
    plan = load(START).plan()
    assert plan == Plan(model=tmp_path / "m.cwm", source=Place(str(tmp_path / "rows.csv")))


def test_every_setting_of_alarms_can_be_said(load) -> None:
    lines = "".join(f"{one.name} = {one.default}\n" for one in fields(AlarmSettings))
    assert load(f"{START}[alarms]\n{lines}").plan().settings == AlarmSettings()


def test_a_configuration_cannot_be_changed(load) -> None:
    with pytest.raises(pydantic.ValidationError):
        load(START).model = "other"


def test_paths_beside_the_file_and_elsewhere(load, tmp_path) -> None:
    found = load(
        'model = "/abs/m.cwm"\nsource = "-"\nstate = "postgresql://u@db/alarms"\n'
        'sinks = ["events.jsonl", "mqtts://broker/alarms?ca=my%20ca.pem&retain=true"]\n'
    ).plan()
    assert found.model == Path("/abs/m.cwm")
    assert found.source == Place("-")
    assert found.state == "postgresql://u@db/alarms"
    assert found.sinks == (
        Place(str(tmp_path / "events.jsonl")),
        Place("mqtts://broker/alarms?retain=true", {"ca": str(tmp_path / "my ca.pem")}),
    )


def test_tags_from_a_file_beside_it(load, tmp_path) -> None:
    (tmp_path / "tags.csv").write_text("tag,signal\na,x\n")
    assert list(load(START + 'tags = "tags.csv"\n').tags) == [Tag("a", "x")]
    (tmp_path / "tags.csv").write_text("tag,signal\na,x\na,y\n")
    with pytest.raises(SettingError, match=r"^tags.csv, line 3: the tag 'a' was named before"):
        load(START + 'tags = "tags.csv"\n')


def test_options_with_dots_are_passed_on(load) -> None:
    found = load(
        'model = "m"\n[source]\nurl = "kafka://host/topic"\nrdkafka.fetch.min.bytes = 5\n'
        '"rdkafka.client.id" = "x"\n'
    )
    assert found.source.options == {"rdkafka.fetch.min.bytes": 5, "rdkafka.client.id": "x"}


def test_nothing_is_expanded(load, monkeypatch) -> None:
    monkeypatch.setenv("WHERE", "elsewhere")
    assert load('model = "${WHERE}/m"\nsource = "$WHERE"\n').model == "${WHERE}/m"


@pytest.mark.parametrize(
    ("said", "place"), [(":9464", ("127.0.0.1", 9464)), ("[::1]:0", ("::1", 0))]
)
def test_places_for_metrics_are_as_without_a_file(load, said: str, place: tuple[str, int]) -> None:
    found = load(START + f"[metrics]\nlisten = '{said}'\n").plan().metrics
    assert metrics_place(found) == place


def test_history_may_be_kept_for_ever(load) -> None:
    kept = load(f"{START}[alarms.retention]\ndays = inf\n").plan().retention
    assert kept == Retention(days=None)
    assert math.isinf(load(f"{START}[alarms.retention]\ndays = inf\n").alarms.retention.days)


MQTT = 'model = "m"\n[source]\nurl = "mqtt://broker/rows"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MQTT + 'qos = "high"\n',
            'plant.toml, line 4: [source] qos is "high"; one of 0, 1 is expected.',
        ),
        (
            'model = "m"\n[source]\nurl = "modbus://plc"\nunit = "one"\n',
            'plant.toml, line 4: [source] unit is "one"; a whole number is expected.',
        ),
        (
            MQTT.replace("rows", "rows?qos=9"),
            'plant.toml, line 3: [source] qos is "9"; one of 0, 1 is expected.',
        ),
        (
            MQTT + "qoss = 1\n",
            "plant.toml, line 4: There is no option of mqtt:// 'qoss'. Did you mean 'qos'?…",
        ),
        (
            MQTT + "[source.options]\nqos = 1\n",
            "plant.toml, line 5: There is no option of mqtt:// 'options.qos'.…",
        ),
        (
            MQTT.replace("rows", "rows?qos=1") + "\nqos = 1\n",
            "plant.toml, line 3: [source] url: The option 'qos' of mqtt:// is given twice;…",
        ),
        (
            START + "[[sinks]]\nurl = 'mqtt://b/x'\n\n[[sinks]]\nurl = 'mqtt://b/y'\nretain = 3\n",
            'plant.toml, line 8: [[sinks]] retain is "3"; true or false is expected.',
        ),
        (
            START + "sinks = ['telnet://host']\n",
            "plant.toml, line 3: There is no sink 'telnet://'.…",
        ),
        (
            START + "[sinks]\nurl = 'mqtt://b/x'\n",
            "plant.toml, line 3: sinks is a table; a list of tables, each [[sinks]], is expected.",
        ),
        (START + "sinks = [1]\n", "plant.toml, line 3: sinks is 1; a table is expected."),
        (
            'model = "m"\nsource = "mqt://broker/rows"\n',
            "plant.toml, line 2: There is no source 'mqt://'. Did you mean 'mqtt://'…",
        ),
        (
            'model = "m"\nsource = "mqtt://broker:many/rows"\n',
            "plant.toml, line 2: source: 'mqtt://broker:many/rows' is no address:…",
        ),
        (
            'model = "m"\n[source]\nurl = "rows.csv"\nqos = 1\n',
            'plant.toml, line 4: [source] qos is an option of an address, but "rows.csv" is a'
            " path; leave it out.",
        ),
        ('model = "m"\n', "plant.toml, line 1: source is missing; it says what to watch."),
        ('source = "x"\n', "plant.toml, line 1: model is missing; it says which model to…"),
        (
            'model = "m"\n\n[source]\nqos = 1\n',
            "plant.toml, line 3: [source] url is missing; it says where that is.",
        ),
        ('model = 5\nsource = "x"\n', "plant.toml, line 1: model is 5; text is expected."),
        ('model = ""\nsource = "x"\n', 'plant.toml, line 1: model is ""; text is expected.'),
        (
            "model = 'm'\nsource = []\n",
            "plant.toml, line 2: source is a list; a table is expected.",
        ),
        (
            START + "alarm = 1\n",
            "plant.toml, line 3: There is no key 'alarm'. Did you mean 'alarms'?…",
        ),
        (START + "folder = 'x'\n", "plant.toml, line 3: There is no key 'folder'.…"),
        (
            START + "[reading]\ntimes = 'x'\n",
            "plant.toml, line 4: There is no key of [reading] 'times'. Did you mean 'time'…",
        ),
        (
            START + "[alarms.retention]\nyears = 1\n",
            "plant.toml, line 4: There is no key of [alarms.retention] 'years'.…",
        ),
        (
            START + "[reading]\nfollow = 1\n",
            "plant.toml, line 4: [reading] follow is 1; true or false is expected.",
        ),
        (
            START + "[reading]\nseparator = ';;'\n",
            'plant.toml, line 4: [reading] separator is ";;"; a single character is expected.',
        ),
        (
            START + "[reading]\nignore = [\n'a',\n5,\n]\n",
            "plant.toml, line 6: [reading] ignore is 5; text is expected.",
        ),
        (
            START + "[reading]\nignore = 'a'\n",
            'plant.toml, line 4: [reading] ignore is "a"; a list is expected.',
        ),
        (
            START + "[limits]\nqueue = 0\n",
            "plant.toml, line 4: [limits] queue is 0; a number of at least 1 is expected.",
        ),
        (
            START + "[limits]\nqueue = 1000000000000000\n",
            "plant.toml, line 4: [limits] queue is 1000000000000000; a number of at most 1000000"
            " is expected.",
        ),
        (
            START + "[limits]\npayload = 1073741825\n",
            "plant.toml, line 4: [limits] payload is 1073741825; a number of at most 1073741824…",
        ),
        (
            START + "[serve]\nviewers = 100000000000\n",
            "plant.toml, line 4: [serve] viewers is 100000000000; a number of at most 10000 is…",
        ),
        (
            START + "[alarms.retention]\nevents = 99999999999999999999\n",
            "plant.toml, line 4: [alarms.retention] events is 99999999999999999999; a number of"
            " at most 1000000000000 is…",
        ),
        (
            START + "[alarms]\nraise_after = 99999999999999999999\n",
            "plant.toml, line 4: [alarms] raise_after is 99999999999999999999; it must be a whole"
            " number of ticks, at least 1 and at most 100000000.",
        ),
        (
            START + "[alarms]\nsilent_after = 1" + 400 * "0" + "\n",
            "plant.toml, line 4: [alarms] silent_after is 1000…; a duration such as…",
        ),
        (
            START + "limits.payload = 1.5\n",
            "plant.toml, line 3: [limits] payload is 1.5; a whole number is expected.",
        ),
        (
            START + '[alarms]\nsilent_after = "soon"\n',
            'plant.toml, line 4: [alarms] silent_after is "soon"; a duration such as "90s" or'
            ' "5min", or "never", is expected.',
        ),
        (
            START + "[alarms]\nsilent_after = true\n",
            'plant.toml, line 4: [alarms] silent_after is true; a duration such as "90s" or'
            ' "5min", or "never", is expected.',
        ),
        (
            START + "[alarms]\nsilent_after = []\n",
            'plant.toml, line 4: [alarms] silent_after is a list; a duration such as "90s" or'
            ' "5min", or "never", is expected.',
        ),
        (
            START + "[alarms]\nsilent_after = 0\n",
            'plant.toml, line 4: [alarms] silent_after is 0; a duration such as "90s" or'
            ' "5min", or "never", is expected.',
        ),
        (
            START + "[reading]\ndecimal = 'x'\n",
            "plant.toml, line 4: [reading] decimal is \"x\"; '.' or ',' is expected.",
        ),
        (
            START + "[alarms]\nraise_after = 0\n",
            "plant.toml, line 4: [alarms] raise_after is 0; it must be a whole number of ticks,…",
        ),
        (
            START + "[alarms]\nclear_below = true\n",
            "plant.toml, line 4: [alarms] clear_below is true; a number is expected.",
        ),
        (
            START + "[alarms]\nretention = { days = -1 }\n",
            "plant.toml, line 4: [alarms.retention] days is -1; a number above 0 is expected.",
        ),
        (
            START + "[metrics]\nlisten = 'here'\n",
            'plant.toml, line 4: [metrics] listen is "here"; HOST:PORT such as 127.0.0.1:9464…',
        ),
        (
            START + "[metrics]\nlisten = '127.0.0.1:٩٤'\n",
            'plant.toml, line 4: [metrics] listen is "127.0.0.1:…"; HOST:PORT such as …',
        ),
        (
            START + "[outputs]\nper_signal = true\n",
            "plant.toml, line 4: [outputs] per_signal says what to write to scores;…",
        ),
        (
            START + "[tags]\na = 'x'\n[tags.b]\nsignal = 'x'\n",
            "plant.toml, line 6: the signal 'x' was named before (plant.toml, line 4);…",
        ),
        (
            START + "[tags.a]\nsignal = 'x'\nunit = 'barr'\nmodel_unit = 'bar'\n",
            "plant.toml, line 5: the unit 'barr' is not known;…",
        ),
        (START + "tags = 5\n", "plant.toml, line 3 holds 5; a list of tags or a table by…"),
        (START + "tags = 'no.csv'\n", "The tag file …/no.csv cannot be read: No such file…"),
        (START + "[reading\n", "plant.toml, line 3: expected ']' at the end of a table…"),
    ],
)
def test_mistakes_are_named_with_line_and_key(load, text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        load(text)
    first, _, last = message.partition("…")
    found = str(caught.value)
    assert found == message or (
        "…" in message and found.startswith(first) and last.rstrip("…") in found
    )
    assert "\n" not in found


def test_files_are_looked_for_if_asked(load, tmp_path) -> None:
    file = tmp_path / "plant.toml"
    (tmp_path / "m.cwm").touch()
    load('model = "m.cwm"\n[source]\nurl = "no.csv"\n')
    with pytest.raises(SettingError) as caught:
        load_config(file, look=True)
    assert str(caught.value) == (
        'plant.toml, line 3: [source] url is "no.csv", but there is no file'
        f" {str(tmp_path / 'no.csv')!r}; paths are relative to this configuration."
    )
    for source in ("-", "mqtt://broker/rows", "."):
        load(f'model = "m.cwm"\nsource = "{source}"\n')
        assert load_config(file, look=True).source.url == source


def test_what_is_to_hold_a_secret_is_looked_for(load, tmp_path, monkeypatch) -> None:
    file = tmp_path / "plant.toml"
    (tmp_path / "m.cwm").touch()
    load(
        'model = "m.cwm"\nstate = "postgresql://h/db?password_env=NO_STATE"\n'
        '[source]\nurl = "mqtt://h/rows"\npassword_env = "NO_SOURCE"\n'
        '[[sinks]]\nurl = "https://h/a"\ntoken_file = "no.txt"\n'
    )

    def refused() -> str:
        with pytest.raises(SettingError) as caught:
            load_config(file, look=True)
        return str(caught.value)

    assert refused() == (
        "plant.toml, line 5: [source] password_env: The password is to be in the environment"
        " variable 'NO_SOURCE', which is not set."
    )
    monkeypatch.setenv("NO_SOURCE", "x")
    assert refused().startswith("plant.toml, line 8: [[sinks]] token_file: The token is to be in")
    (tmp_path / "no.txt").write_text("x")
    assert refused().startswith("plant.toml, line 2: [state] password_env: The password is to be")
    monkeypatch.setenv("NO_STATE", "x")
    load_config(file, look=True)
    load_config(file)


def test_the_configuration_and_its_tags_are_not_written_to(load, tmp_path) -> None:
    for name in ("m.cwm", "rows.csv"):
        (tmp_path / name).touch()
    (tmp_path / "tags.csv").write_text("tag,signal\na,x\n")
    for name in ("plant.toml", "tags.csv", "rows.csv"):
        load(f'{START}tags = "tags.csv"\nsinks = ["{name}"]\n')
        with pytest.raises(SettingError, match=f"{name}' is read by this watch"):
            load_config(tmp_path / "plant.toml", look=True)


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (MQTT + 'password = "hunter2"\n', 4, "[source] password"),
        (MQTT + 'key_password = "hunter2"\n', 4, "[source] key_password"),
        (START + 'password = "hunter2"\n', 3, "password"),
        (START + '[[sinks]]\nurl = "https://x"\ntoken = "hunter2"\n', 5, "[[sinks]] token"),
        (START + '[x.y]\nSecret = "hunter2"\n', 4, "[x.y] Secret"),
        (START + 'sinks = [{ url = "https://x", secret = "hunter2" }]\n', 3, "[[sinks]] secret"),
        (MQTT.replace("rows", "rows?password=hunter2"), 3, "[source] password"),
        (START + 'state = "postgresql://db/x?password=hunter2"\n', 3, "password"),
        (MQTT + "[source.rdkafka.sasl]\npassword = 'hunter2'\n", 5, "password"),
    ],
)
def test_secrets_are_refused_and_never_shown(load, text: str, line: int, key: str) -> None:
    with pytest.raises(SettingError) as caught:
        load(text)
    found = str(caught.value)
    assert found.startswith(f"plant.toml, line {line}: ")
    assert f"{key} is a secret, which does not belong here; name what holds it with" in found
    name = key.split(" ")[-1]
    assert f'{name}_env = "VARIABLE" or {name}_file = "FILE".' in found
    assert "hunter2" not in found


@pytest.mark.parametrize(
    "text",
    [
        MQTT.replace("broker", "user:hunter2@broker"),
        START + 'state = "postgresql://u:hunter2@db/x"\n',
        START + 'sinks = ["nats://u:hunter2@host/x"]\n',
    ],
)
def test_passwords_in_addresses_are_refused_and_never_shown(load, text: str) -> None:
    with pytest.raises(SettingError, match="must not hold a password") as caught:
        load(text)
    assert "hunter2" not in str(caught.value)


def test_where_secrets_are_may_be_said(load) -> None:
    found = load(MQTT + 'password_file = "p"\n[tags]\npassword = "x"\n')
    assert found.tags.get("password") == Tag("password", "x")


def test_every_connector_says_which_options_it_has() -> None:
    for known in (SOURCES, SINKS):
        for module, name in known.values():
            assert fields(options_class(module, name))


pieces = st.lists(
    st.sampled_from(
        ["model", "source", "sinks", "tags", "state", "[", "]", "[[", "]]", "=", " = ", "\n", "\n",
         '"x"', "5", "{", "}", "url", ".", ",", "mqtt://h/t", '"mqtt://h/t?qos=5"', "true", "qos",
         "alarms", "reading", "retention", "-1", "nan", "inf", "1979-05-27", '""', "#"]
    ),
    max_size=40,
)  # fmt: skip


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=st.one_of(pieces.map("".join), pieces.map(lambda some: START + "".join(some))))
def test_any_text_makes_sense_or_is_refused_in_one_line(load, text: str) -> None:
    message = ""
    try:
        load(text).plan()
    except CausewatchError as error:
        message = str(error)
    assert "\n" not in message


def test_every_key_is_documented() -> None:
    page = (EXAMPLE.parent / "configuration.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"`\[*([a-z_.]+)\]*`", page))
    for name, field in WatchConfig.model_fields.items():
        if name != "folder":
            assert name in keys
        for part in [field.annotation, *get_args(field.annotation)]:
            if isinstance(part, type) and issubclass(part, pydantic.BaseModel):
                assert set(part.model_fields) - {"options", "retention"} <= keys
    assert {"alarms.retention", "days", "events"} <= keys
