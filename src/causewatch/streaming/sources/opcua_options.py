"""The options of the OPC UA source."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from causewatch.errors import SettingError
from causewatch.streaming.address import Address, Seconds
from causewatch.streaming.opcua_security import Security, policy_of
from causewatch.streaming.sources.opcua_nodes import is_node_id, path_of
from causewatch.streaming.sources.opcua_values import Pace
from causewatch.streaming.tls import is_loopback

__all__ = ["OpcuaOptions", "check", "pace_of"]

log = logging.getLogger(__name__)

AHEAD, TIMEOUT = Seconds(60.0), Seconds(4.0)


@dataclass(frozen=True)
class OpcuaOptions(Security):
    """Options of ``opc.tcp://`` as a source.

    Attributes
    ----------
    server_cert
        File of the server's certificate; no other server is talked to then.
    any_server
        Whether a server may be believed whose certificate is not known.
    user_cert, user_key
        Files of a certificate, and its key, that say who the user is, instead of a password.
    root
        Node id or browse path of the node below which tags are; the server's Objects otherwise.
    depth, most_nodes
        How far to browse where there is no tag map.
    every
        Time between two rows; as in the normal recording otherwise.
    publishing
        How often the server sends what has changed.
    sampling
        How often the server looks at a variable; 0 for as often as it can.
    queue
        Values of one variable that wait at the server; 0 for 100, or what ten publishing intervals
        need if that is more.
    keep_alive
        After how long without changes the server says that it is alive.
    late
        How late values may come.
    stale
        After how long a value that did not change no longer counts; never, unless given.
    times
        Whose timestamps count: those of the ``source`` of a value, or those of the ``server``, for
        sources whose clocks are not to be trusted.
    ahead
        How far the clock of a source may be ahead of the server's.
    timeout
        How long to wait for an answer.
    """

    server_cert: str = ""
    any_server: bool = False
    user_cert: str = ""
    user_key: str = ""
    root: str = ""
    depth: int = 10
    most_nodes: int = 20_000
    every: Seconds | None = None
    publishing: Seconds | None = None
    sampling: Seconds | None = None
    queue: int = 0
    keep_alive: Seconds | None = None
    late: Seconds | None = None
    stale: Seconds | None = None
    times: Literal["source", "server"] = "source"
    ahead: Seconds = AHEAD
    timeout: Seconds = TIMEOUT


def check(address: Address, options: OpcuaOptions) -> None:
    """Options that make no sense together."""
    if not address.host:
        msg = "An OPC UA address needs a host, like opc.tcp://plc.example:4840/."
        raise SettingError(msg)
    if options.password() and policy_of(options) is None and not is_loopback(address.host):
        log.warning(
            "%s: unless the server asks for more, the password is sent as it is; use security=….",
            address.name,
        )
    if policy_of(options) is not None and not options.server_cert and not options.any_server:
        msg = (
            "Protected messages are of little use if anybody may be the server; give"
            " server_cert=FILE, or any_server=true to believe whoever answers."
        )
        raise SettingError(msg)
    if bool(options.user_cert) != bool(options.user_key):
        msg = "A user certificate needs its key; give both user_cert=FILE and user_key=FILE."
        raise SettingError(msg)
    if options.user_cert and policy_of(options) is None:
        msg = "A user certificate needs protected messages; give security=Basic256Sha256 too."
        raise SettingError(msg)
    for name in (options.server_cert, options.user_cert, options.user_key):
        if name and not Path(name).is_file():
            msg = f"There is no file {name!r} with the certificate or key for OPC UA."
            raise SettingError(msg)
    if options.root and not is_node_id(options.root):
        path_of(options.root)
    for name in ("queue", "depth", "most_nodes"):
        if getattr(options, name) < (0 if name == "queue" else 1):
            msg = f"The option {name!r} of opc.tcp:// must be a positive number."
            raise SettingError(msg)
    if 0.0 in (options.timeout, options.publishing, options.keep_alive):
        msg = "The options timeout, publishing and keep_alive must be more than nothing."
        raise SettingError(msg)


def pace_of(options: OpcuaOptions, every: float) -> Pace:
    """How often what happens, where the options do not say."""
    publishing = options.publishing or min(max(every, 0.1), 1.0)
    sampling = min(every / 2, publishing) if options.sampling is None else options.sampling
    # Ten intervals' worth, so that a watch that is busy for a moment loses nothing.
    queue = options.queue or min(1000, max(100, round(10 * publishing / max(sampling, 0.01))))
    keep_alive = options.keep_alive or min(max(every, publishing), 5.0)
    return Pace(
        publishing=publishing,
        sampling=sampling,
        keep_alive=keep_alive,
        timeout=options.timeout,
        queue=queue,
        ahead=round(options.ahead * 1e9),
        by_source=options.times == "source",
    )
