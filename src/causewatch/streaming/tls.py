"""Connections that nobody else can read, for connectors that open sockets themselves."""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from pathlib import Path

from causewatch.errors import SettingError, shorten
from causewatch.streaming.address import Tls

__all__ = ["is_loopback", "tls_context", "why"]


def tls_context(options: Tls) -> ssl.SSLContext:
    """What a client needs for TLS. The server's certificate and name are always checked.

    Raises `SettingError` for files that are missing or of no use.
    """
    if options.key and not options.cert:
        msg = "The option 'key' is given without 'cert'; give both, or the certificate alone."
        raise SettingError(msg)
    for name in ("ca", "cert", "key"):
        _check_readable(name, getattr(options, name))
    try:
        context = ssl.create_default_context(cafile=options.ca or None)
    except ssl.SSLError as error:
        msg = f"The file {options.ca!r} of the option 'ca' holds no certificates in PEM form."
        raise SettingError(msg) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if options.cert:
        try:
            # With a password at hand, OpenSSL does not ask for one at the terminal.
            context.load_cert_chain(options.cert, options.key or None, password="")
        except ssl.SSLError as error:
            msg = (
                f"The files of the options 'cert' ({options.cert!r}) and 'key' ({options.key!r})"
                " do not hold a certificate and its key, in PEM form and without a password."
            )
            raise SettingError(msg) from error
    return context


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`; a name other than localhost is not looked up."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def why(error: OSError | ValueError) -> str:
    """Why a connection failed, in a few words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message.rstrip('.')})"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shorten(text).rstrip(".").lower()


def _check_readable(name: str, file: str) -> None:
    try:
        if file:
            with Path(file).open("rb"):
                pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        msg = f"The file {file!r} of the option {name!r} cannot be read: {reason}."
        raise SettingError(msg) from error
