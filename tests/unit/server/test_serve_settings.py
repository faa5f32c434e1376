"""Where the dashboard may listen, and who is let in there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from causewatch.errors import SettingError
from causewatch.server.access.settings import (
    ServeSettings,
    allowed_hosts,
    check_settings,
    open_role,
)
from causewatch.server.access.tokens import make_token
from causewatch.streaming.tls import is_loopback
from causewatch.testing.waiting import PATIENCE
from services.certificates import Certificates, make_certificates

HERE = ("127.0.0.1", "127.8.9.10", "::1", "localhost", "LOCALHOST")
ELSEWHERE = ("0.0.0.0", "::", "192.0.2.1", "plant.example", "localhost.example", "127.1", "fe80::1")


@pytest.fixture
def tokens(tmp_path) -> Path:
    path = tmp_path / "tokens"
    make_token(path, "anna", "operate")
    return path


@pytest.fixture(scope="module")
def tls(tmp_path_factory) -> Certificates:
    found = make_certificates(tmp_path_factory.mktemp("tls"))
    found.key.chmod(0o600)
    return found


def test_by_default_this_machine_alone(tokens):
    settings = ServeSettings()
    assert (settings.host, settings.port, settings.viewers) == ("127.0.0.1", 8765, 200)
    assert check_settings(settings) == []
    assert open_role(settings) == "operate"
    assert not settings.tls


@pytest.mark.parametrize("host", HERE)
def test_hosts_of_this_machine(host, tokens, tls):
    assert is_loopback(host)
    assert check_settings(ServeSettings(host=host)) == []
    assert open_role(ServeSettings(host=host)) == "operate"
    assert open_role(ServeSettings(host=host, cert=tls.cert, key=tls.key)) == "operate"
    settings = ServeSettings(host=host, tokens=tokens)
    assert check_settings(settings) == []
    assert open_role(settings) is None


@pytest.mark.parametrize("host", ELSEWHERE)
def test_elsewhere_there_must_be_tokens_or_tls(host, tokens, tls):
    assert not is_loopback(host)
    plain = ServeSettings(host=host)
    with pytest.raises(SettingError) as caught:
        check_settings(plain)
    for words in (host, "--tokens", "--cert", "127.0.0.1"):
        assert words in str(caught.value)
    assert open_role(plain) is None

    looking = ServeSettings(host=host, cert=tls.cert, key=tls.key)
    assert check_settings(looking) == []
    assert open_role(looking) == "look"

    readable = ServeSettings(host=host, tokens=tokens)
    (warning,) = check_settings(readable)
    assert "Without TLS, tokens travel" in warning
    assert open_role(readable) is None

    both = ServeSettings(host=host, tokens=tokens, cert=tls.cert, key=tls.key)
    assert check_settings(both) == []
    assert open_role(both) is None


def test_names_are_not_looked_up(monkeypatch):
    import socket

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("looked up"))
    assert not is_loopback("somewhere.example")


def test_hosts_that_may_be_asked_for(tokens, tls):
    usual = {"localhost", "127.0.0.1", "[::1]"}
    assert allowed_hosts(ServeSettings()) == usual
    assert allowed_hosts(ServeSettings(host="127.0.0.2")) == usual | {"127.0.0.2"}
    assert allowed_hosts(ServeSettings(host="0:0::1")) == usual | {"[0:0::1]"}
    assert allowed_hosts(ServeSettings(host="LOCALHOST")) == usual
    # A proxy passes on names that are not known here; then tokens keep strangers out.
    assert allowed_hosts(ServeSettings(tokens=tokens)) is None
    assert allowed_hosts(ServeSettings(host="0.0.0.0", cert=tls.cert, key=tls.key)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"host": ""},
        {"host": " 127.0.0.1"},
        {"host": "[::1]"},
        {"port": -1},
        {"port": 65536},
        {"viewers": 0},
        {"viewers": 10_001},
    ],
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(SettingError, match=r"expected|name one"):
        check_settings(ServeSettings(**wrong))


def test_certificate_and_key_go_together(tls, tmp_path):
    with pytest.raises(SettingError, match="--cert is given without --key"):
        check_settings(ServeSettings(cert=tls.cert))
    with pytest.raises(SettingError, match="--key is given without --cert"):
        check_settings(ServeSettings(key=tls.key))
    # A key alone is no TLS.
    with pytest.raises(SettingError, match="--tokens"):
        check_settings(ServeSettings(host="0.0.0.0", key=tls.key))
    for cert, key in ((tls.cert, tls.client_key), (tls.key, tls.cert)):
        with pytest.raises(SettingError, match="do not hold a certificate and its key"):
            check_settings(ServeSettings(cert=cert, key=key))
    with pytest.raises(SettingError, match="of --cert cannot be read"):
        check_settings(ServeSettings(cert=tmp_path / "absent", key=tls.key))
    with pytest.raises(SettingError, match="of --key cannot be read"):
        check_settings(ServeSettings(cert=tls.cert, key=tmp_path))


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(tls, tmp_path):
    locked = tmp_path / "locked.pem"
    command = ["openssl", "pkcs8", "-topk8", "-in", tls.key, "-out", locked, "-passout", "pass:x"]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    with pytest.raises(SettingError, match="without a password"):
        check_settings(ServeSettings(cert=tls.cert, key=locked))


@pytest.mark.parametrize(("bits", "warns"), [(0o600, 0), (0o640, 0), (0o644, 1), (0o602, 1)])
def test_a_key_that_everybody_may_read(tls, tmp_path, bits, warns):
    key = tmp_path / "key.pem"
    key.write_bytes(tls.key.read_bytes())
    key.chmod(bits)
    warnings = check_settings(ServeSettings(cert=tls.cert, key=key))
    assert len(warnings) == warns
    assert all("Every user" in warning for warning in warnings)


def test_the_file_of_tokens_is_read(tmp_path, tokens):
    with pytest.raises(SettingError, match="cannot be read"):
        check_settings(ServeSettings(tokens=tmp_path / "absent"))
    tokens.chmod(0o644)
    (warning,) = check_settings(ServeSettings(tokens=tokens))
    assert "names and hashes" in warning
