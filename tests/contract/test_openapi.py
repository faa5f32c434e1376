"""The programming interface does what its description says, whatever it is asked.

Requests are made from the description: valid ones and invalid ones, with and without tokens.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from causewatch.server import ServeSettings, make_token
from causewatch.server.schemas import ReplayBody, ReplayList
from causewatch.streaming import runner
from causewatch.testing.waiting import PATIENCE
from services.dashboard import Dashboard, a_plant

ENDLESS = "/api/live"
"""Never ends, so it is asked by hand."""
ACT = "/api/alarms/{id}/{action}"
CHECKS: dict[str, Any] = {
    # What a 503 says is part of the description: the watch is away, or too much waits.
    "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "503"]},
    # It looks for a scheme of security, which only holds where tokens are set; see below for those.
    "ignored_auth": {"enabled": False},
    # What is no JSON is refused before it is looked at for whom it is; see below for methods.
    "unsupported_method": {"enabled": False},
}
EXCEPT: list[dict[str, Any]] = [
    # That only shelving needs seconds cannot be said in a schema.
    {"include-path": ACT, "checks": {"positive_data_acceptance": {"enabled": False}}},
    # Neither can that bytes must hold a table: a PDF is refused.
    {"include-path": "/api/replays", "checks": {"positive_data_acceptance": {"enabled": False}}},
    # What is posted there is taken for an action.
    {
        "include-path-regex": "/(course|report)$",
        "checks": {"allow_header_conformance": {"enabled": False}},
    },
]


@dataclass
class Findings:
    """What came of a run."""

    asked: int = 0
    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def run(url: str, token: str | None = None, *, examples: int, every_case: bool) -> Findings:
    """Ask everything in the description, and hold the answers against it."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    config = SchemathesisConfig.from_dict(
        {
            "base-url": url,
            "headers": headers,
            "request-timeout": PATIENCE,
            "seed": 1,
            "continue-on-failure": True,
            "checks": CHECKS,
            "operations": EXCEPT,
            "generation": {
                "mode": "all",
                "max-examples": examples,
                "deterministic": True,
                "no-shrink": True,
            },
            "phases": {
                "examples": {"enabled": False},
                "coverage": {"enabled": every_case},
                "stateful": {"enabled": False},
            },
        }
    )
    description = httpx.get(f"{url}/api/openapi.json", headers=headers, timeout=PATIENCE).json()
    schema = schemathesis.openapi.from_dict(description, config=config).exclude(path=ENDLESS)
    found = Findings()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            recorder = event.recorder
            statuses = found.statuses.setdefault(recorder.label, Counter())
            for one in recorder.interactions.values():
                found.asked += 1
                statuses[0 if one.response is None else one.response.status_code] += 1
            found.wrong += [
                f"{recorder.label}: {node.name}: {node.failure_info.failure.message}"
                f" [{node.failure_info.code_sample}]"[:800]
                for nodes in recorder.checks.values()
                for node in nodes
                if node.failure_info is not None
            ]
        elif isinstance(event, events.NonFatalError):
            found.wrong.append(f"{event.label}: {event.value!r}"[:800])
        elif isinstance(event, events.FatalError):
            raise event.exception
        elif isinstance(event, events.EngineFinished):
            assert event.stop_reason == "completed"
    return found


def all_operations(url: str, token: str | None = None) -> set[str]:
    """Labels of everything in the description that ends."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    paths = httpx.get(f"{url}/api/openapi.json", headers=headers, timeout=PATIENCE).json()["paths"]
    return {f"{m.upper()} {path}" for path, ms in paths.items() for m in ms if path != ENDLESS}


@pytest.fixture(scope="module")
def quick() -> Iterator[None]:
    """A watch that looks often for what people ask, of which there is much here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "LOOK_EVERY", 0.01)
        patch.setattr(runner, "WAIT", 0.01)
        yield


@pytest.fixture(scope="module")
def shown(quick: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    with Dashboard(a_plant(), tmp_path_factory.mktemp("shown"), keep=True) as dashboard:
        dashboard.send(a_plant().rows(200))
        dashboard.raise_alarm(1)
        work_out(dashboard)
        yield dashboard


@pytest.fixture(scope="module")
def guarded(
    quick: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Dashboard, str, str]]:
    folder = tmp_path_factory.mktemp("guarded")
    look = make_token(folder / "tokens", "screen", "look")
    operate = make_token(folder / "tokens", "desk", "operate")
    settings = ServeSettings(port=0, tokens=folder / "tokens", audit=folder / "audit.jsonl")
    with Dashboard(a_plant(), folder, settings=settings) as dashboard:
        dashboard.send(a_plant().rows(200))
        dashboard.raise_alarm(1)
        work_out(dashboard, Authorization=f"Bearer {look}")
        yield dashboard, look, operate


def work_out(dashboard: Dashboard, **headers: str) -> None:
    """Have done what is done once, by a process that gives way to all others."""
    answer = httpx.get(f"{dashboard.url}/api/noticed", headers=headers, timeout=PATIENCE)
    assert answer.status_code == 200


def test_whatever_is_asked(shown: Dashboard) -> None:
    found = run(shown.url, examples=6, every_case=True)
    assert found.wrong == []
    assert set(found.statuses) == all_operations(shown.url)
    assert found.asked > 500
    # Both what makes sense and what makes none was asked, of every one that takes anything.
    answered = {label: set(statuses) for label, statuses in found.statuses.items()}
    assert {200, 422} <= answered["GET /api/alarms"]
    assert {200, 422} <= answered["GET /api/alarms/{id}"]
    assert {200, 422} <= answered["POST " + ACT]
    assert set().union(*answered.values()) <= {200, 202, 400, 404, 405, 409, 415, 422, 503}


def test_whoever_asks(guarded: tuple[Dashboard, str, str]) -> None:
    dashboard, look, operate = guarded
    for token in (look, operate):
        found = run(dashboard.url, token, examples=3, every_case=False)
        assert found.wrong == []
        assert set(found.statuses) == all_operations(dashboard.url, token)
        for label, statuses in found.statuses.items():
            operates = not label.startswith("GET ") or label == "GET /api/audit"
            assert (set(statuses) == {403}) is (operates and token == look), (label, statuses)


@pytest.mark.parametrize("token", [None, "cw_no_token_of_anybody_here"])
def test_strangers_get_one_documented_answer(
    guarded: tuple[Dashboard, str, str], token: str | None
) -> None:
    dashboard, look, _ = guarded
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with dashboard.client() as client:
        known = {"Authorization": f"Bearer {look}"}
        paths = client.get("/api/openapi.json", headers=known).json()["paths"]
        for path, methods in paths.items():
            if path == "/healthz":
                continue
            for method, about in methods.items():
                answer = client.request(method, path, headers=headers)
                # Somebody who goes on guessing has to wait.
                assert answer.status_code in ((401,) if token is None else (401, 429)), path
                assert str(answer.status_code) in about["responses"]
                assert set(answer.json()) == {"error"}


def test_every_refusal_is_described(shown: Dashboard) -> None:
    """What the guard says to requests that no description leads to."""
    kind = {"Content-Type": "application/json"}
    with shown.client() as client:
        paths = client.get("/api/openapi.json").json()["paths"]
        wrong: list[tuple[str, str, dict[str, Any], int]] = [
            ("GET", "/api/now", {"headers": {"Host": "elsewhere.example"}}, 421),
            ("GET", "/api/now", {"headers": {"Sec-Fetch-Site": "cross-site"}}, 403),
            ("GET", "/api/series", {"params": {"signal": "x" * 9000}}, 414),
            ("POST", "/api/replays", {"content": b"a", "headers": kind}, 415),
            ("GET", "/api/now", {"headers": {"Host": "?"}}, 400),
            ("POST", ACT, {"content": b"x" * 70_000, "headers": kind}, 413),
        ]
        for method, path, how, status in wrong:
            address = path.format(id="0" * 12, action="ack")
            answer = client.request(method, address, **how)
            assert answer.status_code == status, answer.text
            assert set(answer.json()) == {"error"}
            assert str(status) in paths[path][method.lower()]["responses"]
        for path, methods in paths.items():
            assert {"405", "408", "429"} <= set(next(iter(methods.values()))["responses"]), path


def test_recordings_that_are_none(shown: Dashboard) -> None:
    """No name that is made up ends as one of a recording does."""
    kind = {"Content-Type": "application/octet-stream"}
    with shown.client() as client:
        for name, content in (("a.csv", b""), ("<b>.parquet", b"PAR1"), ("\x00.json", b"[" * 9)):
            how: dict[str, Any] = {"params": {"name": name}, "content": content, "headers": kind}
            answer = client.post("/api/replays", **how)
            assert answer.status_code == 202, answer.text
            begun = ReplayBody.model_validate(answer.json())
            address = f"/api/replays/{begun.id}"
            ReplayBody.model_validate(client.get(address).json())
            ReplayBody.model_validate(client.delete(address).json())
        ReplayList.model_validate(client.get("/api/replays").json())


def test_methods_that_are_not_answered(shown: Dashboard) -> None:
    kind = {"Content-Type": "application/json"}
    with shown.client() as client:
        for path, methods in client.get("/api/openapi.json").json()["paths"].items():
            address = path.format(id="0" * 12, action="ack", kind="gml")
            if path == "/api/replays/{id}":
                address = "/api/replays/" + "0" * 16
            answered = {method.upper() for method in methods}
            # What follows an alarm is taken for an action.
            acts = {"POST"} if path.startswith("/api/alarms/{id}/") else set()
            for method in {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - answered - acts:
                answer = client.request(method, address, headers=kind)
                assert answer.status_code == 405, (method, path, answer.text)
                assert set(answer.headers["allow"].split(", ")) == answered | acts, path
                assert set(answer.json()) == {"error"}


def test_the_endless_one(shown: Dashboard) -> None:
    with shown.client() as client:
        about = client.get("/api/openapi.json").json()["paths"][ENDLESS]["get"]
        assert list(about["responses"]["200"]["content"]) == ["text/event-stream"]
        now = client.get("/api/now").json()
        with client.stream("GET", ENDLESS, params={"odd": "\x00"}) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].split(";")[0] == "text/event-stream"
            lines = answer.iter_lines()
            assert next(lines) == "event: hello"
            hello = json.loads(next(lines).removeprefix("data: "))
        assert set(hello) == set(now)  # which is held against its schema above
        assert client.head(ENDLESS).status_code == 405
