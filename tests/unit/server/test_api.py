"""The programming interface, asked over the network."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from causewatch.errors import StreamError
from causewatch.server import ServeSettings, make_token
from causewatch.server.api import alarms
from causewatch.server.api.filters import _line
from causewatch.server.plant import seconds_in
from causewatch.testing import until
from causewatch.testing.waiting import PATIENCE
from services.dashboard import START, Dashboard, a_plant


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    with Dashboard(a_plant(), tmp_path_factory.mktemp("shown"), keep=True) as dashboard:
        dashboard.send(a_plant().rows(200))
        dashboard.alarm = dashboard.raise_alarm(1)  # type: ignore[attr-defined]
        yield dashboard


@pytest.fixture
def client(shown: Dashboard) -> Iterator[httpx.Client]:
    with shown.client() as client:
        yield client


def got(client: httpx.Client, path: str, **params: Any) -> Any:
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def error(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    said = answer.json()
    assert set(said) == {"error"}
    assert said["error"].endswith(".")
    return str(said["error"])


def test_who_one_is(client: httpx.Client) -> None:
    session = got(client, "/api/session")
    assert session["role"] == "operate"
    assert session["name"] is None


def test_the_plant(client: httpx.Client) -> None:
    plant = got(client, "/api/plant")
    model = a_plant().model
    names = [one["name"] for one in plant["signals"]]
    assert tuple(names) == model.signals
    assert plant["stages"] == ["intake", "outlet"]
    assert len(plant["links"]) == len(model.graph)
    for source, target, lag, *_, coefficient in plant["links"]:
        link = cw_link(names[source], names[target], lag)
        assert model.mechanisms[names[target]].coefficients[link] == pytest.approx(
            coefficient, 1e-5
        )


def cw_link(source: str, target: str, lag: int) -> Any:
    from causewatch.graph import Link

    return Link(source, target, lag)


def test_now(client: httpx.Client, shown: Dashboard) -> None:
    now = got(client, "/api/now")
    assert now["n"] == shown.watch.counts.ticks
    assert now["time"].startswith("2026-03-02T08:0")
    assert len(now["values"]) == len(now["expected"]) == len(now["evidence"]) == 6
    assert now["status"]["rows"] > 0


def test_events_as_they_come(client: httpx.Client, shown: Dashboard) -> None:
    with client.stream("GET", "/api/live") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines) == "event: hello"
        hello = json.loads(next(lines).removeprefix("data: "))
        shown.send(a_plant().rows(1))
        found: dict[str, Any] = {}
        while "ticks" not in found:
            line = next(lines)
            if line.startswith("event: "):
                found[line.removeprefix("event: ")] = json.loads(next(lines).removeprefix("data: "))
        assert found["ticks"]["n"] == hello["n"] + 1


def test_series(client: httpx.Client) -> None:
    whole = got(client, "/api/series", signal=["T02", "T01"])
    assert list(whole["signals"]) == ["T02", "T01"]
    assert whole["kept_from"] == whole["t"][0]
    assert len(whole["t"]) == len(whole["score"]) == len(whole["signals"]["T02"]["values"])
    part = got(client, "/api/series", **{"from": whole["t"][10], "to": whole["t"][20]})
    assert part["t"] == whole["t"][10:21]
    few = got(client, "/api/series", signal="T02", most=7)
    assert len(few["t"]) == 7
    assert max(x for x in few["score"] if x) == max(x for x in whole["score"] if x)


def test_the_last_values_of_all_signals(client: httpx.Client) -> None:
    names = [one["name"] for one in got(client, "/api/plant")["signals"]]
    whole = got(client, "/api/series", signal=names)
    lines = got(client, "/api/sparklines", ticks=50, most=200)
    assert lines["t"] == whole["t"][-50:]
    assert lines["values"] == [whole["signals"][name]["values"][-50:] for name in names]
    # Of many ticks those that stick out: what was wrong with T02 is seen.
    few = got(client, "/api/sparklines", ticks=300, most=20)
    assert len(few["t"]) == 20
    assert {len(values) for values in few["values"]} == {20}
    assert set(few["values"][1]) <= set(whole["signals"]["T02"]["values"])
    assert few["t"][-1] == whole["t"][-1]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/api/sparklines?most=1", 422, "most"),
        ("/api/series?signal=T99", 404, "T99"),
        ("/api/series?from=nan", 422, "from"),
        ("/api/series?from=1e300", 422, "from"),
        ("/api/series?most=0", 422, "most"),
        ("/api/series?" + "signal=T01&" * 13, 422, "signal"),
        ("/api/alarms?kind=odd", 422, "kind"),
        ("/api/alarms?before=-1", 422, "before"),
        ("/api/alarms/000000000000", 404, "no alarm 000000000000"),
        ("/api/alarms/../../etc/passwd", 404, "nothing"),
        ("/api/alarms/xyz", 422, "id"),
        ("/api/alarms/000000000000/course", 404, "no alarm"),
        ("/api/alarms/000000000000/report", 404, "no alarm"),
        ("/api/replays/0000000000000000", 404, "0000000000000000"),
        ("/api/graph.exe", 422, "kind"),
        ("/api/nothing", 404, "nothing"),
        ("/static/js/../../app.py", 404, "no"),
        ("/static/%2e%2e/app.py", 404, "no file"),
        ("/api/audit?most=0", 422, "most"),
    ],
)
def test_one_sentence_for_what_makes_no_sense(
    client: httpx.Client, path: str, status: int, words: str
) -> None:
    assert words in error(client.get(path), status)


def test_history_in_pages(client: httpx.Client, shown: Dashboard) -> None:
    known = shown.watch.store.alarms()
    found: list[Any] = []
    before: int | None = None
    while True:
        params = {"most": 1} | ({} if before is None else {"before": before})
        page = got(client, "/api/alarms", **params)
        found += page["alarms"]
        before = page["next"]
        if before is None:
            break
    assert [one["id"] for one in found] == [one["id"] for one in known]


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ({"signal": "T02"}, True),
        ({"kind": "health"}, False),
        ({"kind": "anomaly"}, True),
        ({"text": "t02"}, True),
        ({"text": "no such words"}, False),
        ({"since": 0}, True),
        ({"until": 0}, False),
    ],
)
def test_history_that_is_asked_for(
    client: httpx.Client, shown: Dashboard, wanted: dict[str, Any], there: bool
) -> None:
    id = shown.alarm  # type: ignore[attr-defined]
    found = [one["id"] for one in got(client, "/api/alarms", **wanted)["alarms"]]
    assert (id in found) is there
    exported = got(client, "/api/alarms.json", **wanted)
    assert [one["id"] for one in exported] == found
    table = client.get("/api/alarms.csv", params=wanted)
    assert 'filename="alarms.csv"' in table.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["id"] for row in rows] == found


def test_one_alarm(client: httpx.Client, shown: Dashboard) -> None:
    id = shown.alarm  # type: ignore[attr-defined]
    story = got(client, f"/api/alarms/{id}")
    assert story["alarm"]["id"] == id
    assert story["events"][0]["event"] == "raised"
    assert story["course"] is True
    assert story["explanation"]["causes"][0]["signal"] == "T02"
    course = got(client, f"/api/alarms/{id}/course", signal="T02")
    assert len(course["t"]) == len(course["signals"]["T02"]["values"]) > 20
    page = client.get(f"/api/alarms/{id}/report")
    assert page.headers["content-type"].startswith("text/html")
    assert "sandbox" in page.headers["content-security-policy"]
    assert "T02" in page.text


def test_actions(client: httpx.Client, shown: Dashboard) -> None:
    id = shown.alarm  # type: ignore[attr-defined]

    def act(action: str, **body: Any) -> httpx.Response:
        return client.post(f"/api/alarms/{id}/{action}", json=body)

    done = act("comment", by="Ada", text="valve <b>V2</b>").json()
    assert done["events"][0]["comments"][-1]["text"] == "valve <b>V2</b>"
    assert act("ack", by="Ada").json()["events"][0]["acknowledged_by"] == "Ada"
    assert "seconds" in error(act("shelve"), 422)
    assert act("shelve", seconds=60, by="Ada").json()["events"][0]["shelved_until"]
    assert act("unshelve", by="Ada").status_code == 200
    assert act("normal", by="Ada").json()["events"][0]["normal"] is True
    assert act("undo", by="Ada").json()["events"][0]["normal"] is False
    assert "action" in error(act("explode"), 422)
    for nothing in ("", "  ", "\ufeff"):
        assert "needs text" in error(act("comment", text=nothing), 422)
    assert "by" in error(act("ack", by="x" * 500), 422)
    no_alarm = client.post("/api/alarms/000000000000/ack", json={})
    assert "no alarm" in error(no_alarm, 404)
    entries = got(client, "/api/audit")["entries"]
    assert entries[0]["action"] == "undo"
    assert entries[0]["outcome"] == "done"
    assert entries[1]["outcome"] == "asked"
    assert entries[0]["who"] == "Ada (says so)"
    noted = (shown.folder / "audit.jsonl").exists()
    assert not noted  # in memory, unless a file is named


def test_an_action_that_makes_no_sense_now(client: httpx.Client, shown: Dashboard) -> None:
    id = shown.alarm  # type: ignore[attr-defined]
    client.post(f"/api/alarms/{id}/undo", json={})
    answer = client.post(f"/api/alarms/{id}/undo", json={})
    assert error(answer, 409)
    assert got(client, "/api/audit")["entries"][0]["outcome"].startswith("refused: ")


def comment(client: httpx.Client, id: str, text: str) -> httpx.Response:
    return client.post(f"/api/alarms/{id}/comment", json={"by": "Ada", "text": text})


def said_about(shown: Dashboard, id: str) -> list[str]:
    alarm = shown.watch.store.alarm(id)
    assert alarm is not None
    return [one["text"] for one in alarm["comments"]]


def test_what_the_watch_does_not_take_is_not_done(
    client: httpx.Client, shown: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, store = shown.alarm, shown.watch.store  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setattr(alarms, "PATIENCE", 0.1)
        patch.setattr(store, "asked", list)
        said = error(comment(client, id, "never said"), 503)
    assert said == "The watch did not answer within 0 s; nothing was done, try again."
    assert got(client, "/api/audit")["entries"][0]["outcome"] == f"refused: {said}"
    assert comment(client, id, "said").status_code == 200
    assert said_about(shown, id)[-1] == "said"
    assert "never said" not in said_about(shown, id)


@pytest.fixture
def saving(
    shown: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[threading.Event, threading.Event]]:
    """The watch takes what is asked for before it can be taken back, and saves when told to.

    Gives two events: somebody has tried to take it back, and it may be saved.
    """
    store = shown.watch.store
    save, withdraw = store.save, store.withdraw
    taken, tried, go_on = (threading.Event() for _ in range(3))

    def slow(checkpoint: Any, events: Any, answers: Any = None) -> None:
        if answers:
            taken.set()
            assert go_on.wait(PATIENCE)
        save(checkpoint, events, answers)

    def late(number: int) -> bool:
        assert taken.wait(PATIENCE)
        done = withdraw(number)
        tried.set()
        return done

    monkeypatch.setattr(alarms, "PATIENCE", 0.1)
    monkeypatch.setattr(store, "save", slow)
    monkeypatch.setattr(store, "withdraw", late)
    yield tried, go_on
    go_on.set()


def test_nobody_is_told_that_nothing_was_done_while_it_is_done(
    client: httpx.Client,
    shown: Dashboard,
    saving: tuple[threading.Event, threading.Event],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(alarms, "MORE_PATIENCE", 0.1)
    id, go_on = shown.alarm, saving[1]  # type: ignore[attr-defined]
    said = error(comment(client, id, "late"), 504)
    assert said.endswith("it will be done as soon as possible, do not repeat it.")
    assert got(client, "/api/audit")["entries"][0]["outcome"].startswith("unknown: ")
    assert "late" not in said_about(shown, id)
    go_on.set()
    assert until(lambda: "late" in said_about(shown, id))


def test_what_the_watch_has_taken_is_waited_for_a_little_longer(
    client: httpx.Client, shown: Dashboard, saving: tuple[threading.Event, threading.Event]
) -> None:
    id, (tried, go_on) = shown.alarm, saving  # type: ignore[attr-defined]

    def save_then() -> None:
        assert tried.wait(PATIENCE)
        go_on.set()

    thread = threading.Thread(target=save_then)
    thread.start()
    answer = comment(client, id, "in the end")
    thread.join(PATIENCE)
    assert answer.status_code == 200, answer.text
    assert said_about(shown, id)[-1] == "in the end"


def test_a_store_that_goes_away_meanwhile(
    client: httpx.Client, shown: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, store = shown.alarm, shown.watch.store  # type: ignore[attr-defined]

    def away(number: int) -> None:
        msg = "The store cannot be reached."
        raise StreamError(msg)

    with monkeypatch.context() as patch:
        patch.setattr(store, "answer", away)
        said = error(comment(client, id, "perhaps"), 504)
    assert said.startswith("Whether this will be done is not known")
    assert got(client, "/api/audit")["entries"][0]["outcome"].startswith("unknown: ")
    assert until(lambda: "perhaps" in said_about(shown, id))


def test_the_model(client: httpx.Client) -> None:
    model = got(client, "/api/model")
    assert {one["signal"] for one in model["mechanisms"]} == set(a_plant().names)
    assert model["provenance"]["rows"] == 3000
    assert model["limits"]["false_alarm_every"] > 0
    least = got(client, "/api/noticed")["signals"]
    assert [one["signal"] for one in least] == list(a_plant().names)
    assert all(one["bias"] > 0 for one in least)
    assert model["settings"]["raise_after"] == 1
    for kind in ("json", "gml", "dot"):
        answer = client.get(f"/api/graph.{kind}")
        assert answer.status_code == 200
        assert "T02" in answer.text


def test_pages_and_their_parts(client: httpx.Client) -> None:
    for path in ("/", "/graph", "/signals", "/history", "/alarm/0123456789ab", "/model"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
    script = client.get("/static/js/main.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    again = client.get("/static/js/main.js", headers={"If-None-Match": script.headers["etag"]})
    assert again.status_code == 304
    assert client.head("/").status_code == 200
    assert "POST is not answered" in error(
        client.post("/", json={}, headers={"Origin": str(client.base_url).rstrip("/")}), 405
    )


def test_an_address_that_is_none(client: httpx.Client) -> None:
    """People get the page, programs a sentence."""
    people = client.get("/grpah", headers={"Accept": "text/html,*/*"})
    assert people.status_code == 404
    assert "<!doctype html>" in people.text.lower()
    for path in ("/grpah", "/api/grpah", "/static/grpah"):
        accept = "*/*" if path == "/grpah" else "text/html"
        error(client.get(path, headers={"Accept": accept}), 404)


def test_a_replay(client: httpx.Client) -> None:
    plant = a_plant()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["time", *plant.names])
    for k, row in enumerate(plant.rows(200, 77, attacked=1).tolist()):
        writer.writerow([f"2026-03-05T00:{k // 60:02}:{k % 60:02}Z", *row])
    answer = client.post(
        "/api/replays",
        params={"name": "day.csv", "limit": 0.9},
        content=text.getvalue().encode(),
        headers={"Content-Type": "application/octet-stream"},
    )
    assert answer.status_code == 202, answer.text
    id = answer.json()["id"]
    over = ("done", "failed", "stopped")
    assert until(lambda: got(client, f"/api/replays/{id}")["state"] in over)
    replay = got(client, f"/api/replays/{id}")
    assert replay["state"] == "done", replay["error"]
    assert replay["settings"]["limit"] == 0.9
    assert replay["result"]["rows"] == 200
    assert any("T02" in one["signals"] for one in replay["result"]["alarms"])
    assert [one["id"] for one in got(client, "/api/replays")["replays"]] == [id]
    assert client.delete(f"/api/replays/{id}").status_code == 200
    assert got(client, "/api/replays")["replays"] == []


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({}, 422),
        ({"name": "x.exe"}, 409),
        ({"name": "x.csv", "limit": "-1"}, 422),
        ({"name": "x.csv", "raise_after": "1.5"}, 422),
        ({"name": "x.csv", "bogus": "1"}, 422),
    ],
)
def test_replays_that_make_no_sense(
    client: httpx.Client, params: dict[str, str], status: int
) -> None:
    kind = {"Content-Type": "application/octet-stream"}
    error(client.post("/api/replays", params=params, content=b"a,b\n", headers=kind), status)


def test_the_course_of_an_alarm_goes_on_to_its_end(tmp_path: Path) -> None:
    plant = a_plant()
    with Dashboard(plant, tmp_path) as dashboard:
        dashboard.send(plant.rows(200))
        id = dashboard.raise_alarm(1, rows=900)
        dashboard.send(plant.rows(300))
        with dashboard.client() as client:
            over = f"/api/alarms/{id}"
            assert until(lambda: got(client, over)["alarm"]["cleared_at"] is not None)
            story = got(client, over)["alarm"]
            course = got(client, f"/api/alarms/{id}/course", signal="T02")
        assert story["cleared_at"] is not None
        assert course["t"][-1] >= seconds_in(story["cleared_at"])
        assert course["t"] == sorted(set(course["t"]))
        assert max(x for x in course["score"] if x) >= story["peak_score"] * 0.999


def test_the_peak_of_an_alarm_that_is_on_is_that_of_now(tmp_path: Path) -> None:
    """It goes on while nothing happens to the alarm that would be written down."""
    plant = a_plant()
    rows = plant.rows(240, 91, 1)
    rows[150:, 1] += 20.0
    rows[152:, 1] += 12.0  # worse, but not by so much that it is told
    with (
        Dashboard(plant, tmp_path) as dashboard,
        dashboard.client() as client,
    ):
        dashboard.send(plant.rows(200))
        dashboard.send(rows[:153])
        (alarm,) = (one for one in dashboard.watch.status().alarms if one["kind"] == "anomaly")
        id, peak = alarm["id"], alarm["peak_score"]
        assert until(lambda: dashboard.watch.store.alarm(id) is not None)
        told = dashboard.watch.store.alarm(id)
        assert told["peak_score"] < peak
        assert until(lambda: got(client, "/api/now")["status"]["peaks"].get(id) == peak)
        assert got(client, f"/api/alarms/{id}")["alarm"]["peak_score"] == peak
        (listed,) = (one for one in got(client, "/api/alarms")["alarms"] if one["id"] == id)
        assert listed["peak_score"] == peak
        assert any(one["peak_score"] == peak for one in got(client, "/api/alarms.json"))


def test_the_health_of_a_watch_that_gets_no_rows(tmp_path: Path) -> None:
    with (
        Dashboard(a_plant(), tmp_path, silent_after=0.5) as dashboard,
        dashboard.client() as client,
    ):

        def said() -> Any:
            return client.get("/healthz").json()["text"]

        def runs_while_rows_come() -> bool:
            dashboard.send(a_plant().rows(5))
            return bool(said() == "The watch is running.")

        assert until(runs_while_rows_come)
        assert until(lambda: said() == "The watch is running, but no rows come.")
        assert got(client, "/healthz")["ok"] is True  # starting it again would not help
        dashboard.source.finish()
        assert until(lambda: said() == "The source has ended; the page stays.")


def test_the_health_of_a_watch_whose_rows_are_not_judged(tmp_path: Path) -> None:
    with (
        Dashboard(a_plant(), tmp_path) as dashboard,
        dashboard.client() as client,
    ):
        rows = a_plant().rows(300)
        dashboard.send(rows[:100])
        assert client.get("/healthz").status_code == 200
        named = [dict(zip(a_plant().names, row, strict=True)) for row in rows[:50].tolist()]
        dashboard.source.add(named, [START + timedelta(seconds=99)] * 50)

        def answer() -> tuple[int, bool]:
            health = client.get("/healthz")
            return health.status_code, health.json()["ok"]

        assert until(lambda: answer() == (503, False))
        unwell = got(client, "/api/now")["status"]["unwell"]["(stream)"]
        assert unwell["state"] == "not_judged"
        assert "the clock stands still" in unwell["detail"]
        dashboard.send(rows[100:])
        assert until(lambda: answer() == (200, True))


def test_the_ticks_of_a_health_alarm(tmp_path: Path) -> None:
    plant = a_plant()
    with Dashboard(plant, tmp_path) as dashboard:
        dashboard.send(plant.rows(100))
        rows = plant.rows(60)
        rows[:, 2] = np.nan
        dashboard.send(rows)

        def health() -> list[str]:
            known = dashboard.watch.store.alarms()
            return [one["id"] for one in known if one["kind"] == "health"]

        assert until(lambda: bool(health()))
        id = health()[0]
        with dashboard.client() as client:
            assert got(client, f"/api/alarms/{id}")["course"] is True
            course = got(client, f"/api/alarms/{id}/course", signal="T03")
        assert None in course["signals"]["T03"]["values"]
        assert course["signals"]["T03"]["values"][0] is not None


def test_reports_that_wait_keep_nobody_from_acting(
    shown: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have a queue of their own, which is short."""
    draw, go_on = alarms._Reports._draw, threading.Event()

    def slow(reports: Any, id: str) -> str:
        assert go_on.wait(PATIENCE)
        return draw(reports, id)

    monkeypatch.setattr(alarms._Reports, "_draw", slow)

    async def run() -> None:
        async with httpx.AsyncClient(base_url=shown.url, timeout=PATIENCE) as client:
            id = shown.alarm  # type: ignore[attr-defined]
            paths = [f"/api/alarms/{id}/report"] * 60
            waiting = [asyncio.create_task(client.get(path)) for path in paths]
            done = await client.post(f"/api/alarms/{id}/comment", json={"text": "meanwhile"})
            assert done.status_code == 200
            go_on.set()
            found = [one.status_code for one in await asyncio.gather(*waiting)]
            assert set(found) <= {200, 503}
            assert 200 in found

    asyncio.run(run())


def test_a_clock_that_is_known_with_the_first_row(tmp_path: Path) -> None:
    plant = a_plant()
    with Dashboard(plant, tmp_path) as dashboard:
        with dashboard.client() as client:
            dashboard.send(plant.rows(1))
            assert until(lambda: got(client, "/api/now")["clock"] == "utc")
            assert until(lambda: got(client, "/api/now")["status"]["clock"] == "utc")
            assert got(client, "/api/plant")["clock"] == "utc"


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=1+1", "'=1+1"), ("\x1b[31mred\u202e", "�[31mred�"), ("two\nlines", "two\nlines")],
)
def test_cells_that_are_only_text(text: str, cell: str) -> None:
    line = _line([text])
    assert next(csv.reader(io.StringIO(line))) == [cell]
    assert line == f'"{cell}"\r\n'  # also where semicolons part cells


def test_alarms_of_an_earlier_run_keep_their_ticks(tmp_path: Path) -> None:
    with Dashboard(a_plant(), tmp_path, keep=True) as dashboard:
        dashboard.send(a_plant().rows(200))
        id = dashboard.raise_alarm(1)
        with dashboard.client() as client:
            before = got(client, f"/api/alarms/{id}")
            boot = got(client, "/api/session")["boot"]
        dashboard.restart()
        with dashboard.client() as client:
            after = got(client, f"/api/alarms/{id}")
            assert got(client, "/api/session")["boot"] != boot
        assert after["explanation"] == before["explanation"]
        assert after["course"] is True


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Dashboard, str, str]]:
    folder = tmp_path_factory.mktemp("guarded")
    look = make_token(folder / "tokens", "screen", "look")
    operate = make_token(folder / "tokens", "control-room", "operate")
    settings = ServeSettings(port=0, tokens=folder / "tokens", audit=folder / "audit.jsonl")
    with Dashboard(a_plant(), folder, settings=settings) as dashboard:
        dashboard.send(a_plant().rows(200))
        dashboard.raise_alarm(1)
        yield dashboard, look, operate


class TestTokens:
    """With tokens nothing but the health check answers without one."""

    def test_nothing_answers_without_one(self, guarded: tuple[Dashboard, str, str]) -> None:
        dashboard, look, _ = guarded
        id = dashboard.watch.store.alarms()[0]["id"]
        with dashboard.client() as client:
            paths = list(got_with(client, look, "/api/openapi.json")["paths"])
            paths += ["/", "/graph", "/alarm/1", "/static/js/main.js", "/nothing", "/docs"]
            for path in paths:
                path = path.replace("{id}", id).replace("{action}", "ack").replace("{kind}", "gml")
                for method in ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT"):
                    answer = client.request(method, path)
                    if path == "/healthz" and method in ("GET", "HEAD"):
                        assert answer.status_code == 200
                    else:
                        assert answer.status_code == 401, (method, path)
                        assert "screen" not in answer.text

    def test_what_comes_after_a_body_is_no_header(
        self, guarded: tuple[Dashboard, str, str]
    ) -> None:
        dashboard, _, operate = guarded
        id = dashboard.watch.store.alarms()[0]["id"]
        request = (
            f"POST /api/alarms/{id}/comment HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            'Transfer-Encoding: chunked\r\n\r\nd\r\n{"text":"tr"}\r\n0\r\n'
            f"Authorization: Bearer {operate}\r\nContent-Type: application/json\r\n\r\n"
        )
        place = httpx.URL(dashboard.url)
        with socket.create_connection((place.host, place.port), 10) as client:
            client.sendall(request.encode())
            assert client.recv(100).startswith(b"HTTP/1.1 401 ")

    def test_roles(self, guarded: tuple[Dashboard, str, str]) -> None:
        dashboard, look, operate = guarded
        id = dashboard.watch.store.alarms()[0]["id"]
        with dashboard.client() as client:
            assert got_with(client, look, "/api/session")["role"] == "look"
            assert got_with(client, operate, "/api/session")["name"] == "control-room"
            basic = client.get("/api/session", auth=("anybody", operate))
            assert basic.json()["name"] == "control-room"
            body = {"by": "Mallory", "text": "was me"}
            path = f"/api/alarms/{id}/ack"
            assert client.post(path, json=body, headers=bearer(look)).status_code == 403
            assert client.get("/api/audit", headers=bearer(look)).status_code == 403
            done = client.post(path, json=body, headers=bearer(operate))
            assert done.json()["events"][0]["acknowledged_by"] == "control-room"
            entry = got_with(client, operate, "/api/audit")["entries"][0]
            assert (entry["who"], entry["action"], entry["about"]) == ("control-room", "ack", id)
        assert "control-room" in (dashboard.folder / "audit.jsonl").read_text()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def got_with(client: httpx.Client, token: str, path: str) -> Any:
    answer = client.get(path, headers=bearer(token))
    assert answer.status_code == 200, answer.text
    return answer.json()
