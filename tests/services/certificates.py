"""Certificates for tests, made by openssl: who vouches, a server, a client, and a stranger."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from causewatch.testing.waiting import PATIENCE

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Certificates:
    """Files in PEM form."""

    ca: Path
    cert: Path
    key: Path
    client_cert: Path
    client_key: Path
    stranger: Path

    def server_context(self, ask: bool = False) -> ssl.SSLContext:
        """For a server on loopback; `ask` for one that wants a certificate of its clients."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        if ask:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.ca)
        return context


def make_certificates(folder: Path) -> Certificates:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    found = Certificates(
        *(folder / name for name in ("ca.pem", "cert.pem", "key.pem")),
        *(folder / name for name in ("client.pem", "client-key.pem", "stranger.pem")),
    )
    ca_key = folder / "ca-key.pem"
    for key, cert, name in ((ca_key, found.ca, "CA"), (folder / "s.pem", found.stranger, "S")):
        _openssl("req", "-x509", *CURVE, "-keyout", key, "-out", cert, "-subj", f"/CN={name}")
    for key, cert, name in (
        (found.key, found.cert, "localhost"),
        (found.client_key, found.client_cert, "client"),
    ):
        request, extra = folder / "request.pem", folder / "extra.cnf"
        extra.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        _openssl("req", *CURVE, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        _openssl(
            *("x509", "-req", "-in", request, "-CA", found.ca, "-CAkey", ca_key, "-days", "2"),
            *("-CAcreateserial", "-extfile", extra, "-out", cert),
        )
    return found


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(
        ["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=PATIENCE
    )
