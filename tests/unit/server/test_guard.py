"""The guard: nothing passes that should not, and every answer has its headers."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError
from causewatch.server.access import exchange
from causewatch.server.access import failures as failures_module
from causewatch.server.access.exchange import CSP, MOST_BODY
from causewatch.server.access.failures import Failures
from causewatch.server.access.guard import MOST_TARGET, Guard, token_of
from causewatch.server.access.tokens import Tokens, Visitor, digest_of

LOOK, OPERATE = "look-at-the-plant-01", "operate-the-plant-02"
SAME = [(b"origin", b"http://plant:8765"), (b"content-type", b"application/json")]


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


class Answer:
    """What came back."""

    def __init__(self) -> None:
        self.messages: list[dict] = []

    @property
    def status(self) -> int | None:
        return self.messages[0]["status"] if self.messages else None

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.messages[0]["headers"])

    @property
    def names(self) -> list[bytes]:
        return [name for name, _ in self.messages[0]["headers"]]

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages[1:])

    @property
    def error(self) -> str:
        said = json.loads(self.body)
        assert list(said) == ["error"]
        return said["error"]


class Echo:
    """An application that says whom it has seen, and what came."""

    def __init__(self, headers: Iterable[tuple[bytes, bytes]] = (), status: int = 200) -> None:
        self.headers, self.status = list(headers), status
        self.seen: list[dict] = []
        self.body = b""

    async def __call__(self, scope, receive, send) -> None:
        self.seen.append(scope)
        self.body = b""
        while scope["type"] == "http":
            message = await receive()
            assert message["type"] == "http.request"
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        if scope["type"] == "http":
            await send(
                {"type": "http.response.start", "status": self.status, "headers": self.headers}
            )
            await send({"type": "http.response.body", "body": b"hello"})

    @property
    def visitor(self) -> Visitor | None:
        return self.seen[-1]["state"]["visitor"]


def ask(
    app,
    method="GET",
    path="/",
    headers=(),
    body=(b"",),
    client=("10.0.0.1", 4000),
    host=b"plant:8765",
    scheme="http",
    query=b"",
    more=None,
) -> Answer:
    """Send one request; `body` comes in these parts, and then nothing more."""
    answer = Answer()
    parts = list(body)

    async def receive():
        if parts:
            part = parts.pop(0)
            if isinstance(part, dict):
                return part
            return {"type": "http.request", "body": part, "more_body": bool(parts)}
        await asyncio.Event().wait()

    async def send(message):
        answer.messages.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "scheme": scheme,
        "client": client,
        "headers": [*([(b"host", host)] if host is not None else []), *headers],
        **(more or {}),
    }
    asyncio.run(app(scope, receive, send))
    return answer


def bearer(token: str) -> tuple[bytes, bytes]:
    return (b"authorization", b"Bearer " + token.encode())


def basic(token: str, user: str = "anybody") -> tuple[bytes, bytes]:
    return (b"authorization", b"Basic " + base64.b64encode(f"{user}:{token}".encode()))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app() -> Echo:
    return Echo()


@pytest.fixture
def tokens(tmp_path, clock) -> Tokens:
    path = tmp_path / "tokens"
    path.write_text(f"look wall {LOOK}\noperate anna {OPERATE}\n")
    path.chmod(0o600)
    return Tokens(path, now=clock)


@pytest.fixture
def closed(app, tokens, clock) -> Guard:
    return Guard(app, tokens=tokens, open_role=None, hosts=None, now=clock)


@pytest.fixture
def opened(app, clock) -> Guard:
    return Guard(app, tokens=None, open_role="operate", hosts=None, now=clock)


# Who


@pytest.mark.parametrize("role", [None, "look"])
def test_a_guard_has_tokens_or_an_open_role(app, tokens, role):
    with pytest.raises(SettingError):
        Guard(app, tokens=tokens if role else None, open_role=role, hosts=None)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "DELETE", "TRACE", "X"])
@pytest.mark.parametrize(
    "path",
    ["/", "/static/js/main.js", "/api/now", "/api/openapi.json", "/docs", "/healthz/", "//healthz"],
)
def test_nothing_answers_without_a_token(closed, app, method, path):
    answer = ask(closed, method, path, SAME)
    assert answer.status == 401
    assert not app.seen
    assert answer.names.count(b"www-authenticate") == 1
    assert answer.headers[b"www-authenticate"] == b'Basic realm="causewatch", charset="UTF-8"'
    if method != "HEAD":
        assert "token" in answer.error


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_health_check_answers_everybody(closed, app, method):
    assert ask(closed, method, "/healthz").status == 200
    assert app.visitor is None
    assert ask(closed, method, "/healthz", [bearer("wrong")]).status == 200
    assert ask(closed, "POST", "/healthz", SAME).status == 401


@pytest.mark.parametrize("how", [bearer, basic])
def test_tokens_say_who_asks(closed, app, how):
    assert ask(closed, headers=[how(LOOK)]).status == 200
    assert app.visitor == Visitor("wall", "look")
    assert ask(closed, headers=[how(OPERATE)]).status == 200
    assert app.visitor == Visitor("anna", "operate")


def test_where_nobody_is_asked_credentials_do_not_matter(opened, app):
    assert ask(opened, headers=[bearer("left over from elsewhere")]).status == 200
    assert app.visitor == Visitor(None, "operate")


def test_the_state_of_the_server_is_kept_and_not_changed(opened, app):
    state = {"kept": 1}
    ask(opened, more={"state": state})
    assert app.seen[0]["state"] == {"kept": 1, "visitor": Visitor(None, "operate")}
    assert state == {"kept": 1}


@given(user=st.text().filter(lambda u: ":" not in u), token=st.text(min_size=1))
def test_a_basic_password_is_the_token(user, token):
    value = b"basic " + base64.b64encode(f"{user}:{token}".encode("utf-8", "replace"))
    sent = token.encode("utf-8", "replace").decode()
    assert token_of(value) == (sent if sent.split() == [sent] else None)


@given(st.binary())
def test_whatever_comes_is_a_token_or_none(value):
    found = token_of(value)
    assert found is None or (found and found.split() == [found])
    for scheme in (b"Bearer ", b"Basic ", b"Digest "):
        found = token_of(scheme + value)
        assert found is None or isinstance(found, str)
    assert token_of(b"Digest " + value) is None


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1))
def test_a_bearer_token_is_taken_as_it_is(token):
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert token_of(f"{scheme}  {token} ".encode()) == token


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer two words",
        b"Basic",
        b"Basic !!!!",
        b"Basic " + base64.b64encode(b"no colon"),
        b"Basic " + base64.b64encode(b"user:"),
        b"Basic " + base64.b64encode(b"user:\xff\xfe"),
        b"Basic " + base64.b64encode(b"user:tok\nen"),
        b"Bearer \xff\xfe",
        b"Bearer " + b"x" * 100_000 + b" y",
        b"Negotiate abc",
        OPERATE.encode(),
    ],
)
def test_what_is_no_token_is_a_wrong_one(closed, app, value):
    assert token_of(value) is None
    for _ in range(10):
        assert ask(closed, headers=[(b"authorization", value)]).status == 401
    assert ask(closed, headers=[(b"authorization", value)]).status == 429
    assert not app.seen


def test_the_client_cannot_choose_its_address(closed, app):
    for number in range(11):
        address = f"192.0.2.{number}".encode()
        headers = [(name, address) for name in (b"x-forwarded-for", b"forwarded", b"x-real-ip")]
        status = ask(closed, headers=[bearer("wrong"), *headers]).status
    assert status == 429


# Failures


def wrong(guard, times=1, client=("10.0.0.1", 1), token="wrong"):
    return [ask(guard, headers=[bearer(token)], client=client).status for _ in range(times)]


def test_ten_failures_lock_an_address_for_a_minute(closed, clock, caplog):
    with caplog.at_level(logging.WARNING):
        assert wrong(closed, 10) == [401] * 10
        assert wrong(closed, 5) == [429] * 5
        # Even the right token, which is not compared.
        answer = ask(closed, headers=[bearer(OPERATE)])
        assert answer.status == 429
        assert answer.headers[b"retry-after"] == b"60"
    assert len(caplog.records) == 1
    assert "10.0.0.1" in caplog.text
    assert "wrong tokens" in caplog.text
    clock.time += 59.5
    answer = ask(closed, headers=[bearer(OPERATE)])
    assert (answer.status, answer.headers[b"retry-after"]) == (429, b"1")
    clock.time += 0.5
    assert ask(closed, headers=[bearer(OPERATE)]).status == 200
    assert wrong(closed, 10) == [401] * 10
    assert wrong(closed) == [429]


def test_a_locked_address_is_not_compared(closed, tokens, monkeypatch):
    wrong(closed, 10)
    monkeypatch.setattr(tokens, "find_digest", lambda digest: pytest.fail("compared"))
    assert wrong(closed) == [429]


def test_failures_that_are_spread_out_lock_nobody(closed, clock):
    for _ in range(40):
        assert wrong(closed) == [401]
        clock.time += 6.7


def test_other_addresses_are_not_locked(closed):
    wrong(closed, 11)
    assert wrong(closed, client=("10.0.0.2", 1)) == [401]
    assert ask(closed, headers=[bearer(LOOK)], client=("10.0.0.2", 1)).status == 200


def test_whoever_was_let_in_before_is_not_locked_out_by_others(closed):
    assert ask(closed, headers=[basic(LOOK)]).status == 200
    wrong(closed, 11)
    assert ask(closed, headers=[bearer(LOOK)]).status == 200
    # It is the token that is known there, not the address.
    assert ask(closed, headers=[bearer(OPERATE)]).status == 429
    assert wrong(closed) == [429]


def test_asking_without_credentials_is_no_failure(closed):
    for _ in range(30):
        assert ask(closed).status == 401
    assert ask(closed, headers=[bearer(LOOK)]).status == 200
    wrong(closed, 11)
    answer = ask(closed)  # a browser asks in this way first
    assert answer.status == 401
    assert b"www-authenticate" in answer.headers


def test_the_health_check_answers_a_locked_address(closed):
    wrong(closed, 11)
    assert ask(closed, path="/healthz").status == 200


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("not:an:address", "not:another", False),
    ],
)
def test_ipv6_counts_by_network(closed, one, other, same):
    wrong(closed, 10, client=(one, 1))
    assert wrong(closed, client=(other, 1)) == [429 if same else 401]


def test_a_client_without_an_address_is_counted_too(closed):
    assert wrong(closed, 11, client=None)[-1] == 429


def test_memory_is_bounded(clock, monkeypatch):
    monkeypatch.setattr(failures_module, "MOST_ADDRESSES", 50)
    failures = Failures(clock, logging.getLogger("quiet"))
    for number in range(500):
        address = f"10.0.{number // 250}.{number % 250}"
        for _ in range(10):
            failures.failed(address, b"x")
        failures.failed(address + "0", b"x")
        failures.accepted(address, str(number).encode())
    kept = [len(part) for part in (failures._times, failures._locked, failures._known)]
    assert kept == [50, 50, 50]
    # The latest are those that are kept.
    assert failures.wait("10.0.1.249", b"y") == 60
    assert failures.wait("10.0.1.249", b"499") is None
    assert failures.wait("10.0.0.0", b"y") is None


def test_somebody_active_is_not_pushed_out_by_many_others(clock, monkeypatch):
    monkeypatch.setattr(failures_module, "MOST_ADDRESSES", 5)
    failures = Failures(clock, logging.getLogger("quiet"))
    for number in range(40):
        failures.accepted("10.0.0.1", b"mine")
        failures.accepted(f"10.0.1.{number}", b"other")
    for _ in range(10):
        failures.failed("10.0.0.1", b"x")
    assert failures.wait("10.0.0.1", b"mine") is None


def test_a_token_taken_away_counts_as_wrong_from_then_on(closed, tokens, tmp_path, clock):
    assert ask(closed, headers=[bearer(LOOK)]).status == 200
    (tmp_path / "tokens").write_text(f"operate anna {OPERATE}\n")
    clock.time += 2
    assert wrong(closed, 10, token=LOOK) == [401] * 10
    assert wrong(closed, token=LOOK) == [429]


# Roles


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "post", "X"])
def test_to_change_something_one_must_operate(closed, app, method):
    headers = [*SAME, bearer(LOOK)]
    answer = ask(closed, method, "/api/alarms/x/ack", headers, [b"{}"])
    assert answer.status == 403
    assert "operate" in answer.error
    assert not app.seen
    headers = [*SAME, bearer(OPERATE)]
    assert ask(closed, method, "/api/alarms/x/ack", headers, [b"{}"]).status == 200


@pytest.mark.parametrize("path", ["/api/audit", "/api/audit/", "/api/audit//"])
def test_the_audit_log_is_for_those_who_operate(closed, path):
    for method in ("GET", "HEAD", "OPTIONS"):
        assert ask(closed, method, path, [bearer(LOOK)]).status == 403
        assert ask(closed, method, path, [bearer(OPERATE)]).status == 200


def test_where_everybody_may_look_nobody_operates(app):
    guard = Guard(app, tokens=None, open_role="look", hosts=None)
    assert ask(guard).status == 200
    assert ask(guard, "POST", "/api/alarms/x/ack", SAME, [b"{}"]).status == 403
    assert ask(guard, path="/api/audit").status == 403


# Hosts


@pytest.fixture
def local(app) -> Guard:
    hosts = frozenset({"localhost", "127.0.0.1", "[::1]"})
    return Guard(app, tokens=None, open_role="operate", hosts=hosts)


@pytest.mark.parametrize(
    "host", [b"localhost", b"LocalHost:8765", b"localhost.:1", b"127.0.0.1:80", b"[::1]:8765"]
)
def test_names_of_this_machine_are_answered(local, host):
    assert ask(local, host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [b"evil.example", b"evil.example:8765", b"localhost.evil.example", b"127.0.0.1.nip.io", b"::1"],
)
def test_other_names_are_not(local, app, host):
    for path in ("/", "/api/now", "/healthz"):
        assert ask(local, path=path, host=host).status in (400, 421)
    assert ask(local, "POST", "/api/alarms/x/ack", SAME, [b"{}"], host=host).status in (400, 421)
    assert not app.seen


@pytest.mark.parametrize(
    "host",
    [None, b"", b" ", b"localhost:", b"localhost:x", b"localhost@evil.example", b"a b", b"\xff"],
)
def test_what_names_no_host_is_refused(local, app, host):
    assert ask(local, host=host).status == 400
    assert not app.seen


@pytest.mark.parametrize("name", [b"host", b"authorization", b"content-length", b"origin"])
def test_of_two_headers_none_is_taken(closed, app, name):
    value = {b"host": b"plant", b"content-length": b"0"}.get(name, bearer(OPERATE)[1])
    answer = ask(closed, headers=[(name, value), (name.upper(), value)])
    assert answer.status == 400
    assert not app.seen


# Pages from elsewhere

POST = ("POST", "/api/alarms/x/ack")
JSON = (b"content-type", b"application/json")


@pytest.mark.parametrize(
    ("scheme", "host", "origin"),
    [
        ("http", b"plant:8765", b"http://plant:8765"),
        ("http", b"Plant", b"http://plant:80"),
        ("https", b"plant:443", b"https://plant"),
        ("https", b"[::1]:8765", b"https://[::1]:8765"),
        ("http", b"plant.example", b"https://plant.example"),  # behind a proxy with TLS
        ("http", b"plant.example:8443", b"https://plant.example:8443"),
        ("http", b"plant:8765", None),
    ],
)
def test_our_own_page_may_change_something(opened, scheme, host, origin):
    headers = [JSON] if origin is None else [JSON, (b"origin", origin)]
    assert ask(opened, *POST, headers, [b"{}"], host=host, scheme=scheme).status == 200


@pytest.mark.parametrize(
    ("scheme", "origin"),
    [
        ("http", b"http://evil.example"),
        ("http", b"http://plant:8766"),
        ("http", b"https://plant"),
        ("https", b"http://plant:8765"),
        ("http", b"http://plant:8765.evil.example"),
        ("http", b"http://plant:8765/"),
        ("http", b"http://plant:8765@evil.example"),
        ("http", b"null"),
        ("http", b""),
        ("http", b"plant:8765"),
        ("http", b"ftp://plant:8765"),
        ("http", b"\xff://plant:8765"),
    ],
)
def test_other_origins_may_not(opened, app, scheme, origin):
    answer = ask(opened, *POST, [JSON, (b"origin", origin)], [b"{}"], scheme=scheme)
    assert answer.status == 403
    assert not app.seen


@pytest.mark.parametrize("site", [b"cross-site", b"same-site", b"", b"Same-Origin", b"\xff"])
def test_sec_fetch_site_is_believed(opened, app, site):
    headers = [*SAME, (b"sec-fetch-site", site)]
    assert ask(opened, *POST, headers, [b"{}"]).status == 403
    assert ask(opened, "DELETE", "/api/replays/1", headers).status == 403
    # Nor may it embed anything, or take up a place among the viewers.
    assert ask(opened, path="/api/live", headers=headers).status == 403
    assert ask(opened, "OPTIONS", POST[1], headers).status == 403
    assert not app.seen


def test_links_from_elsewhere_work(opened):
    headers = [(b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"navigate")]
    assert ask(opened, path="/alarm/3f2a", headers=headers).status == 200
    # But no form from elsewhere, whatever it says.
    assert ask(opened, *POST, [*SAME, *headers], [b"{}"]).status == 403


@pytest.mark.parametrize("site", [b"same-origin", b"none"])
def test_requests_of_our_own_pages_pass(opened, site):
    headers = [*SAME, (b"sec-fetch-site", site)]
    assert ask(opened, *POST, headers, [b"{}"]).status == 200
    assert ask(opened, path="/api/live", headers=headers).status == 200


@pytest.mark.parametrize(
    "kind",
    [
        None,
        b"",
        b"text/plain",
        b"application/x-www-form-urlencoded",
        b"multipart/form-data",
        b"text/plain; application/json",
        b"application/jsonp",
        b"application/octet-stream",
    ],
)
def test_what_a_form_can_send_is_not_taken(opened, app, kind):
    headers = [] if kind is None else [(b"content-type", kind)]
    assert ask(opened, *POST, headers, [b"{}"]).status == 415
    assert not app.seen


def test_types_of_content(opened, app):
    headers = [(b"content-type", b"Application/JSON ; charset=utf-8")]
    assert ask(opened, *POST, headers, [b"{}"]).status == 200
    upload = [(b"content-type", b"application/octet-stream")]
    assert ask(opened, "POST", "/api/replays", upload, [b"a,b"]).status == 200
    assert app.body == b"a,b"
    assert ask(opened, "POST", "/api/replays", [JSON], [b"a,b"]).status == 415
    assert ask(opened, "POST", "/api/replays/x", upload, [b"a,b"]).status == 415
    # Without a body there is nothing that could have a type.
    assert ask(opened, "DELETE", "/api/replays/1").status == 200
    length = (b"content-length", b"2")
    assert ask(opened, "DELETE", "/api/replays/1", [length], [b"{}"]).status == 415


# Sizes


def length(count: int | bytes) -> tuple[bytes, bytes]:
    return (b"content-length", count if isinstance(count, bytes) else str(count).encode())


def test_a_body_of_the_largest_size_arrives_whole(opened, app):
    parts = [b"a" * 1000, b"", b"b" * (MOST_BODY - 1000)]
    assert ask(opened, *POST, [JSON, length(MOST_BODY)], parts).status == 200
    assert app.body == b"".join(parts)


def test_a_body_said_to_be_too_long_is_not_read(opened, app):
    unread = [{"type": "never"}]  # would fail if it were looked at
    answer = ask(opened, *POST, [JSON, length(MOST_BODY + 1)], unread)
    assert answer.status == 413
    assert answer.headers[b"connection"] == b"close"
    headers = [(b"content-type", b"application/octet-stream"), length((256 << 20) + 1)]
    assert ask(opened, "POST", "/api/replays", headers, unread).status == 413
    assert ask(opened, "GET", "/", [length(MOST_BODY + 1)], unread).status == 413
    assert not app.seen


def test_a_body_that_grows_is_cut_off(opened, app):
    chunked = (b"transfer-encoding", b"chunked")
    parts = [b"a" * 1024] * 65 + [{"type": "never"}]
    for method, path in (POST, ("GET", "/")):
        answer = ask(opened, method, path, [JSON, chunked], parts)
        assert answer.status == 413
        assert str(MOST_BODY) in answer.error
    assert not app.seen


@pytest.mark.parametrize("value", [b"", b"-1", b"+1", b"1_0", b"x", b"\xb2", b"9" * 5000, b"1, 1"])
def test_a_length_that_is_none_is_refused(opened, app, value):
    assert ask(opened, *POST, [JSON, length(value)], [b"{}"]).status == 400
    assert not app.seen


def test_two_ways_of_saying_the_length_are_refused(opened):
    headers = [JSON, length(2), (b"transfer-encoding", b"chunked")]
    assert ask(opened, *POST, headers, [b"{}"]).status == 400


def test_an_upload_that_grows_too_long_is_cut_off(opened, app, monkeypatch):
    monkeypatch.setattr(exchange, "MOST_UPLOAD", 3000)
    headers = [(b"content-type", b"application/octet-stream")]
    assert ask(opened, "POST", "/api/replays", headers, [b"a" * 1000] * 3).status == 200
    assert len(app.body) == 3000
    # The application learns it as a client that hung up, and whatever it does the client is told.
    parts = [b"a" * 1000] * 4 + [{"type": "never"}]
    assert ask(opened, "POST", "/api/replays", headers, parts).status == 413

    async def stubborn(scope, receive, send):
        while (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body", "body": b"eh?"})

    guard = Guard(stubborn, tokens=None, open_role="operate", hosts=None)
    answer = ask(guard, "POST", "/api/replays", headers, parts)
    assert answer.status == 413
    assert "3000 bytes" in answer.error


def test_slow_bodies_are_given_up(app, monkeypatch):
    monkeypatch.setattr(exchange, "DROP_PAUSE", 0.01)
    guard = Guard(
        app, tokens=None, open_role="operate", hosts=None, patience=0.01, upload_patience=0.02
    )
    half = [{"type": "http.request", "body": b"{", "more_body": True}]
    answer = ask(guard, *POST, [JSON, length(2)], half)
    assert answer.status == 408
    assert not app.seen
    headers = [(b"content-type", b"application/octet-stream"), length(2)]
    answer = ask(guard, "POST", "/api/replays", headers, half)
    assert answer.status == 408
    assert "0.02 s" in answer.error


def test_a_client_that_hangs_up_is_not_answered(opened, app, caplog):
    parts = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    answer = ask(opened, *POST, [JSON, length(2)], parts)
    assert answer.messages == []
    assert not app.seen

    class ClientDisconnect(Exception):
        pass

    async def reads(scope, receive, send):
        while (await receive())["type"] != "http.disconnect":
            pass
        raise ClientDisconnect

    guard = Guard(reads, tokens=None, open_role="operate", hosts=None)
    headers = [(b"content-type", b"application/octet-stream")]
    assert ask(guard, "POST", "/api/replays", headers, parts).messages == []
    assert not caplog.records


def test_a_long_address_is_refused(opened, app):
    path = "/" + "a" * 4000
    assert ask(opened, path=path, query=b"q" * (MOST_TARGET - 4002)).status == 200
    answer = ask(opened, path=path, query=b"q" * (MOST_TARGET - 4001))
    assert answer.status == 414
    assert len(answer.body) < 200
    assert len(app.seen) == 1


def test_the_application_sees_the_client_hang_up_after_the_body(opened):
    got = []

    async def waits(scope, receive, send):
        got.extend([await receive(), await receive()])

    guard = Guard(waits, tokens=None, open_role="operate", hosts=None)
    parts = [{"type": "http.request", "body": b"{}"}, {"type": "http.disconnect"}]
    ask(guard, *POST, [JSON], parts)
    assert [message["type"] for message in got] == ["http.request", "http.disconnect"]
    ask(guard, "GET", "/api/live", [], parts)
    assert [message["type"] for message in got[2:]] == ["http.request", "http.disconnect"]


# What every response has

EVERYWHERE = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"x-frame-options": b"DENY",
}


def responses(app, tokens, clock):
    """Answers of all kinds."""
    guard = Guard(app, tokens=tokens, open_role=None, hosts=frozenset({"plant"}), now=clock)
    me = bearer(OPERATE)
    yield ask(guard, headers=[me])
    yield ask(guard, path="/static/js/main.js", headers=[me])
    yield ask(guard, path="/api/now", headers=[me])
    yield ask(guard, path="/healthz")
    yield ask(guard)  # 401
    yield ask(guard, host=b"evil.example")  # 421
    yield ask(guard, host=b"")  # 400
    yield ask(guard, "POST", "/x", [me, *SAME, length(1 << 20)])  # 413
    yield ask(guard, path="/" + "a" * 9000, headers=[me])  # 414
    yield ask(guard, "POST", "/x", [me])  # 415
    wrong(guard, 10, client=("10.9.9.9", 1))
    yield ask(guard, headers=[bearer("wrong")], client=("10.9.9.9", 1))  # 429

    async def fails(scope, receive, send):
        raise RuntimeError

    yield ask(Guard(fails, tokens=tokens, open_role=None, hosts=None, now=clock), headers=[me])


def test_every_response_has_the_headers(app, tokens, clock):
    app.headers = [(b"Server", b"x"), (b"X-Frame-Options", b"ALLOWALL"), (b"x-own", b"1")]
    found = list(responses(app, tokens, clock))
    expected = [200, 200, 200, 200, 401, 421, 400, 413, 414, 415, 429, 500]
    assert [answer.status for answer in found] == expected
    for answer in found:
        names = [name.lower() for name in answer.names]
        assert len(names) == len(set(names))
        assert EVERYWHERE.items() <= answer.headers.items()
        assert answer.headers[b"content-security-policy"] == CSP.encode()
        assert b"camera=()" in answer.headers[b"permissions-policy"]
        assert b"server" not in names
        assert b"strict-transport-security" not in names
        assert not any(name.startswith(b"access-control-") for name in names)
        assert b"set-cookie" not in names
        if answer.status != 200:
            assert answer.headers[b"cache-control"] == b"no-store"
            assert answer.headers[b"content-type"] == b"application/json"
            assert answer.error.endswith(".")
    assert found[0].headers[b"x-own"] == b"1"
    kept = [answer.headers[b"cache-control"] for answer in found[:4]]
    assert kept == [b"no-cache", b"no-cache", b"no-store", b"no-store"]


def test_the_policy_allows_no_script_from_elsewhere():
    rules = dict(rule.strip().split(" ", 1) for rule in CSP.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in CSP


def test_a_response_may_bring_its_own_policy(clock):
    app = Echo([(b"Content-Security-Policy", b"default-src 'none'"), (b"Cache-Control", b"x")])
    guard = Guard(app, tokens=None, open_role="look", hosts=None)
    headers = ask(guard, path="/page").headers
    assert headers[b"Content-Security-Policy"] == b"default-src 'none'"
    assert b"content-security-policy" not in headers
    assert headers[b"Cache-Control"] == b"x"
    # What the API says is never kept by anybody.
    headers = ask(guard, path="/api/now").headers
    assert headers[b"cache-control"] == b"no-store"
    assert b"Cache-Control" not in headers


def test_tls_is_promised_where_it_is_spoken(opened):
    name = b"strict-transport-security"
    assert ask(opened, scheme="https").headers[name] == b"max-age=31536000"
    assert name not in ask(opened).headers
    # Not for everything else that runs on the same machine.
    assert name not in ask(opened, scheme="https", host=b"localhost:8765").headers


def test_head_is_answered_without_a_body(closed):
    answer = ask(closed, "HEAD")
    assert answer.status == 401
    assert answer.body == b""
    assert int(answer.headers[b"content-length"]) > 0


# Errors

SECRET = "secret of the inside"


def test_an_error_is_logged_and_not_told(caplog):
    async def fails(scope, receive, send):
        raise RuntimeError(SECRET)

    guard = Guard(fails, tokens=None, open_role="operate", hosts=None)
    answer = ask(guard)
    assert answer.status == 500
    assert answer.error == "Something went wrong here; the log says what."
    assert b"secret" not in answer.body
    assert SECRET in caplog.text


def test_what_an_application_says_with_500_is_not_told(caplog):
    async def fails(scope, receive, send):
        start = {"type": "http.response.start", "status": 500, "headers": []}
        await send(start)
        await send({"type": "http.response.body", "body": b"Traceback: secret"})
        if scope["path"] == "/raises":  # as Starlette does
            raise RuntimeError(SECRET)

    guard = Guard(fails, tokens=None, open_role="operate", hosts=None)
    for path in ("/raises", "/returns"):
        caplog.clear()
        answer = ask(guard, path=path)
        assert (answer.status, len(answer.messages)) == (500, 2)
        assert b"secret" not in answer.body
        assert len(caplog.records) == 1
        assert ("secret" in caplog.text) == (path == "/raises")


def test_an_error_in_the_middle_leaves_the_answer_unfinished(caplog):
    async def fails(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise RuntimeError(SECRET)

    answer = ask(Guard(fails, tokens=None, open_role="operate", hosts=None))
    assert [message["type"] for message in answer.messages] == [
        "http.response.start",
        "http.response.body",
    ]
    assert SECRET in caplog.text


def test_tokens_are_never_logged(closed, caplog):
    with caplog.at_level(logging.DEBUG):
        for _ in range(12):
            ask(closed, headers=[bearer("my-secret-guess-0001")])
            ask(closed, headers=[bearer(OPERATE)])
    assert caplog.records
    for text in ("my-secret-guess", OPERATE, digest_of(OPERATE).hex()):
        assert text not in caplog.text


# Other kinds of traffic


def talk(app, scope, incoming):
    sent = []

    async def receive():
        return incoming.pop(0)

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def test_web_sockets_are_closed(opened, app):
    scope = {"type": "websocket", "path": "/api/live", "headers": []}
    sent = talk(opened, scope, [{"type": "websocket.connect"}])
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert not app.seen


def test_lifespan_passes_and_what_is_unknown_does_not(opened, app):
    talk(opened, {"type": "lifespan"}, [])
    talk(opened, {"type": "webtransport", "path": "/"}, [])
    assert [scope["type"] for scope in app.seen] == ["lifespan"]


@pytest.mark.parametrize("gone", [True, False])
def test_a_live_view_ends_when_its_token_is_taken_away(tokens, tmp_path, clock, gone):
    frames = []

    async def live(scope, receive, send):
        kind = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        for number in range(10):
            frames.append(number)
            if gone and number == 3:
                (tmp_path / "tokens").write_text(f"operate anna {OPERATE}\n")
            clock.time += 2
            await send({"type": "http.response.body", "body": b"%d" % number, "more_body": True})

    answer = ask(
        Guard(live, tokens=tokens, open_role=None, hosts=None, now=clock), headers=[bearer(LOOK)]
    )
    ended = not answer.messages[-1]["more_body"]
    assert ended == gone
    assert answer.body == (b"01234" if gone else b"0123456789")
