"""Signatures of webhooks: for who sends them, and for receivers written in Python."""

from __future__ import annotations

import hashlib
import hmac

__all__ = ["signature", "verify_signature"]


def signature(secret: str, body: bytes, time: float) -> str:
    """The header ``X-Causewatch-Signature`` for a body that is sent at `time`.

    >>> signature("secret", b"{}", 1767225600.5)[:18]
    't=1767225600,v1=fa'
    """
    return f"t={int(time)},v1={_digest(secret, body, str(int(time)))}"


def verify_signature(
    secret: str, header: str, body: bytes, now: float, tolerance: float = 300.0
) -> bool:
    """Whether a request comes from who knows the secret, and is not an old one come again.

    Parameters
    ----------
    secret
        What both sides know.
    header
        What came as ``X-Causewatch-Signature``.
    body
        What came, byte by byte.
    now
        The time in seconds since 1970.
    tolerance
        Seconds by which the time in the header may differ. Within it, know a repetition by
        ``X-Causewatch-Delivery``.
    """
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    moment, found = parts.get("t", ""), parts.get("v1", "")
    if not (moment.isascii() and moment.isdigit() and len(moment) <= 15):
        return False
    genuine = hmac.compare_digest(
        _digest(secret, body, moment).encode(), found.encode("utf-8", "replace")
    )
    return genuine and abs(now - int(moment)) <= tolerance


def _digest(secret: str, body: bytes, moment: str) -> str:
    return hmac.new(secret.encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()
