"""What the OPC UA source and sink share: who one is, and how messages are protected.

asyncua writes to the loggers below ``asyncua``, with tracebacks for every lost connection. `quiet`
keeps them off the terminal; causewatch says in one sentence of its own what happened.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from causewatch.errors import SettingError, StreamError, shorten
from causewatch.extras import needed
from causewatch.streaming.address import Login, secret

__all__ = [
    "POLICIES",
    "Security",
    "application_uri",
    "check_files",
    "ignore_loop_errors",
    "policy_of",
    "quiet",
    "secure",
]

POLICIES = ("Basic256Sha256", "Aes128Sha256RsaOaep", "Aes256Sha256RsaPss")
"""Security policies that are still thought safe."""

MODES = ("SignAndEncrypt", "Sign")


@dataclass(frozen=True)
class Security(Login):
    """Options for who one is and how messages are protected.

    Attributes
    ----------
    security
        ``None``, or a policy and a mode: ``Basic256Sha256,SignAndEncrypt``.
    cert, key
        Files of our certificate and its key, as PEM or DER.
    key_password_env, key_password_file
        What holds the password of the key, if it has one.
    """

    security: str = "None"
    cert: str = ""
    key: str = ""
    key_password_env: str = ""
    key_password_file: str = ""

    def key_password(self) -> str | None:
        """The password of the key; None if it has none."""
        return secret(self.key_password_env, self.key_password_file, "key_password")


def policy_of(options: Security) -> tuple[str, str] | None:
    """Policy and mode; None if messages are not protected. Raises `SettingError`."""
    if options.security.lower() == "none":
        return None
    policy, _, mode = (part.strip() for part in options.security.partition(","))
    mode = mode or MODES[0]
    if policy not in POLICIES or mode not in MODES:
        msg = (
            f"The option 'security' is {shorten(options.security)!r}; None is expected, or a policy"
            f" ({', '.join(POLICIES)}) and a mode ({' or '.join(MODES)}) with a comma between."
        )
        raise SettingError(msg)
    if not (options.cert and options.key):
        msg = f"security={policy} needs a certificate of our own; give cert=FILE and key=FILE."
        raise SettingError(msg)
    for name in (options.cert, options.key):
        if not Path(name).is_file():
            msg = f"There is no file {name!r} with the certificate or key for OPC UA."
            raise SettingError(msg)
    return policy, mode


def quiet() -> None:
    """Keep asyncua's chatter off the terminal, unless somebody asked for it.

    Without any handler Python prints warnings to the terminal. So asyncua's logger gets a handler
    that does nothing, and a level above all of its messages, also for those whose own handlers
    print. Whoever wants to read them sets another level, before or after:
    ``logging.getLogger("asyncua").setLevel("INFO")``.
    """
    chatter = logging.getLogger("asyncua")
    if chatter.level == logging.NOTSET:
        chatter.setLevel(logging.CRITICAL + 1)
    if not chatter.handlers:
        chatter.addHandler(logging.NullHandler())


async def secure(client: Any, options: Any) -> None:
    """Set a client up as the options of the source say; talks to nobody unless any server will do.

    Parameters
    ----------
    client
        An asyncua client that is not connected.
    options
        `Security` with ``server_cert``, ``user_cert`` and ``user_key`` besides.
    """
    uacrypto: Any = needed("asyncua.crypto.uacrypto", "opcua")
    chosen = policy_of(options)
    if chosen is not None:
        ua: Any = needed("asyncua.ua", "opcua")
        policies: Any = needed("asyncua.crypto.security_policies", "opcua")
        client.application_uri = await application_uri(options.cert, client.application_uri)
        key = uacrypto.CertProperties(options.key, password=options.key_password())
        await client.set_security(
            getattr(policies, f"SecurityPolicy{chosen[0]}"),
            options.cert,
            key,
            server_certificate=options.server_cert or None,
            mode=getattr(ua.MessageSecurityMode, chosen[1]),
        )
    if options.user:
        client.set_user(options.user)
        client.set_password(options.password() or "")
    if options.user_cert:
        await client.load_client_certificate(options.user_cert)
        await client.load_private_key(Path(options.user_key), options.key_password())


async def application_uri(cert: str, otherwise: str) -> str:
    """The name of the application that a certificate is for.

    Most servers turn away a client that calls itself otherwise than its certificate does.
    """
    uacrypto: Any = needed("asyncua.crypto.uacrypto", "opcua")
    x509: Any = needed("cryptography.x509", "opcua")
    found = await uacrypto.load_certificate(cert)
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return otherwise
    uris: list[str] = names.get_values_for_type(x509.UniformResourceIdentifier)
    return uris[0] if uris else otherwise


async def check_files(options: Security) -> None:
    """Raise `StreamError` if a certificate or key cannot be read."""
    uacrypto: Any = needed("asyncua.crypto.uacrypto", "opcua")
    password = options.key_password()
    for name in ("cert", "server_cert", "user_cert", "key", "user_key"):
        path = getattr(options, name, "")
        if not path:
            continue
        try:
            if name.endswith("key"):
                await uacrypto.load_private_key(path, password)
            else:
                await uacrypto.load_certificate(path)
        except Exception as error:  # of several libraries
            kind = "key" if name.endswith("key") else "certificate"
            msg = (
                f"{name}={shorten(path)!r} cannot be read as a {kind} ({_first_line(error)}); a"
                " name that ends in .pem is read as PEM, any other as DER."
            )
            raise StreamError(msg) from error


def _first_line(error: Exception) -> str:
    return shorten(str(error).partition("\n")[0] or type(error).__name__)


def ignore_loop_errors(loop: Any, say: Callable[[str], None]) -> None:
    """Tell `say` what asyncio would print about tasks of asyncua that ended with an error.

    When a connection breaks, several of them do; that it broke is noticed elsewhere.
    """
    loop.set_exception_handler(
        lambda _, context: say(shorten(str(context.get("exception") or context.get("message"))))
    )
