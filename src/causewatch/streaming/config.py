"""`load_config`: everything that a watch is asked to do, from one TOML file.

Every mistake is one sentence that names the file, the line and the key. Paths are relative to the
file. Nothing is expanded in it, and no secret belongs into it: it names the environment variable or
the file that holds one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from causewatch.errors import SettingError
from causewatch.monitor import AlarmSettings
from causewatch.streaming.address import check_secret, parse_address
from causewatch.streaming.config_check import check_place, checked_address
from causewatch.streaming.config_words import Words, is_secret, table_of
from causewatch.streaming.lined import show
from causewatch.streaming.open import is_address
from causewatch.streaming.plan import Place, Plan
from causewatch.streaming.plan_check import check_files, metrics_place
from causewatch.streaming.silence import parse_silence
from causewatch.streaming.source import MOST_PAYLOAD, MOST_QUEUE, Limits, Reading
from causewatch.streaming.store.base import Retention
from causewatch.streaming.tag_file import read_tags, tags_of
from causewatch.streaming.tags import TagMap
from causewatch.streaming.toml_lines import KeyPath, read_toml

__all__ = ["WatchConfig", "load_config"]

MOST_VIEWERS = 10_000
"""Who may look on at once; `causewatch.server` knows no more than these, either."""
MOST_EVENTS = 10**12
"""Events that a history may be told to keep: more than any disk holds."""

Text = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[str, ...], Field(strict=False)]
Sign = Annotated[str, Field(min_length=1, max_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


class PlaceConfig(_Part):
    """A source or a sink: a file, a folder or an address, with options beside it."""

    url: Text
    options: dict[str, Any] = Field(default_factory=dict)

    def place(self, folder: Path) -> Place:
        """The same with paths as seen from the working directory."""
        url, options = self.url, dict(self.options)
        parts = urlsplit(url, allow_fragments=False) if is_address(url) else None
        if parts is not None and parts.query:
            asked = parse_qsl(parts.query, keep_blank_values=True)
            files = {name: value for name, value in asked if _is_path(name)}
            if files:  # they are relative to the file of the configuration, too
                rest = urlencode([(name, value) for name, value in asked if name not in files])
                url, options = urlunsplit(parts._replace(query=rest)), options | files
        for name, value in options.items():
            if value and isinstance(value, str) and _is_path(name):
                options[name] = str(folder / value)
        return Place(_beside(folder, url), options)


class OutputConfig(_Part):
    """Files to write: events of alarms, scores, and a page about each alarm."""

    alarms: Text | None = None
    scores: Text | None = None
    per_signal: bool = False
    report: Text | None = None


class MetricsConfig(_Part):
    """Where to tell Prometheus."""

    listen: Text = "127.0.0.1:9464"


class ServeConfig(_Part):
    """Where and to whom `causewatch serve` shows its page."""

    host: Text = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8765
    tokens_file: Text | None = None
    cert: Text | None = None
    key: Text | None = None
    audit: Text | None = None
    viewers: Annotated[int, Field(ge=1, le=MOST_VIEWERS)] = 200


class RetentionConfig(_Part):
    """How much history is kept: `days` may be infinite."""

    days: Annotated[float, Field(gt=0)] = Retention().days or math.inf
    events: Annotated[int, Field(ge=1, le=MOST_EVENTS)] = Retention().events or MOST_EVENTS


class LimitConfig(_Part):
    """How much a source may bring."""

    payload: Annotated[int, Field(ge=1, le=MOST_PAYLOAD)] = Limits().payload
    queue: Annotated[int, Field(ge=1, le=MOST_QUEUE)] = Limits().queue


class ReadingConfig(_Part):
    """How rows are read."""

    time: Text | None = None
    time_format: Text | None = None
    ignore: Names = ()
    separator: Sign | None = None
    decimal: Literal[".", ","] | None = None
    follow: bool = False


# What may be said about alarms is what the monitor knows, so it is taken from there.
_ALARMS: Any = {
    one.name: (get_type_hints(AlarmSettings)[one.name], one.default)
    for one in fields(AlarmSettings)
} | {
    "retention": (RetentionConfig, RetentionConfig()),
    "silent_after": (Any, None),  # `parse_silence` says what it may be
}
AlarmConfig: Any = create_model(
    "AlarmConfig",
    __base__=_Part,
    __doc__="How alarms come and go, and how long they are remembered.",
    **_ALARMS,
)


class WatchConfig(_Part):
    """A configuration file, as it was written; `plan` is what it means.

    Attributes
    ----------
    folder
        Where the file is; paths in it are relative to that.
    model
        File of the model.
    source
        What to watch.
    name
        What the watch is called.
    state
        Folder or ``postgresql://`` address of the store.
    tags
        Which tag is which signal, from a file or from the table itself.
    outputs, sinks, metrics
        Where events, scores and figures go.
    serve
        Where `causewatch serve` shows its page; a plain watch has none.
    alarms, limits, reading
        See the parts.
    """

    folder: Path
    model: Text
    source: PlaceConfig
    name: str = ""
    state: Text | None = None
    tags: TagMap = Field(default_factory=TagMap)
    outputs: OutputConfig = OutputConfig()
    sinks: Annotated[tuple[PlaceConfig, ...], Field(strict=False)] = ()
    metrics: MetricsConfig | None = None
    serve: ServeConfig = ServeConfig()
    alarms: AlarmConfig = AlarmConfig()
    limits: LimitConfig = LimitConfig()
    reading: ReadingConfig = ReadingConfig()

    def plan(self) -> Plan:
        """What to do, with all paths as seen from the working directory."""
        said, out, kept = self.reading, self.outputs, self.alarms.retention
        return Plan(
            model=self.folder / self.model,
            source=self.source.place(self.folder),
            name=self.name,
            follow=said.follow,
            silent_after=self.silence(),
            reading=Reading(said.time, said.time_format, said.ignore, said.separator, said.decimal),
            tags=self.tags,
            limits=Limits(self.limits.payload, self.limits.queue),
            state=None if self.state is None else _beside(self.folder, self.state),
            alarms=None if out.alarms is None else self.folder / out.alarms,
            scores=None if out.scores is None else self.folder / out.scores,
            report=None if out.report is None else self.folder / out.report,
            per_signal=out.per_signal,
            sinks=tuple(one.place(self.folder) for one in self.sinks),
            metrics=None if self.metrics is None else self.metrics.listen,
            settings=self.settings(),
            retention=Retention(None if kept.days == math.inf else kept.days, kept.events),
        )

    def settings(self) -> AlarmSettings:
        """How alarms come and go."""
        return AlarmSettings(**self.alarms.model_dump(exclude={"retention", "silent_after"}))

    def silence(self) -> float | None:
        """Seconds without rows after which an alarm is raised; None for what is usual."""
        said = self.alarms.silent_after
        return None if said is None else parse_silence(said)


def load_config(path: str | os.PathLike[str], *, look: bool = False) -> WatchConfig:
    """The configuration in a TOML file.

    Raises `SettingError`, with the line, for anything that makes no sense.

    Parameters
    ----------
    path
        The file.
    look
        Whether to look for the model, for a source that is a file, and for what is to hold secrets,
        which must be there, and whether a file that is written to has another use.
    """
    file = Path(path)
    data, lines = read_toml(file, "configuration")
    words = Words(file.name, lines)
    _refuse_secrets(data, (), words)
    if "folder" in data:
        raise words.unknown(("folder",), WatchConfig)
    for inside, key in _places(data):
        inside[key] = _split(inside[key])
    tags = _tags(data.get("tags"), file, words)
    try:
        found = WatchConfig.model_validate(data | {"folder": file.parent, "tags": tags})
    except ValidationError as error:
        raise words.of(error, WatchConfig) from None
    check_place(found.source.url, found.source.options, ("source",), words)
    for number, sink in enumerate(found.sinks):
        check_place(sink.url, sink.options, ("sinks", number), words)
    _check_rest(found, words)
    if look:
        _look_for_files(found, words)
        _look_for_secrets(found, words)
        tag_file = [data["tags"]] if isinstance(data.get("tags"), str) else []
        _check_uses(found, [file.name, *tag_file])
    return found


def _refuse_secrets(data: Mapping[str, Any], path: KeyPath, words: Words) -> None:
    """Raise if a secret stands in the file; what the plant calls its tags is no matter."""
    for name, value in data.items():
        where = (*path, name)
        if where == ("tags",):
            continue
        if is_secret(name):
            raise words.secret(where, where)
        for number, one in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(one, dict):
                inside = (*where, number) if isinstance(value, list) else where
                _refuse_secrets(one, inside, words)


def _places(data: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Where a source or sink may stand: what it is part of, and its key there."""
    sinks = data.get("sinks")
    entries = [(sinks, number) for number in range(len(sinks))] if isinstance(sinks, list) else []
    return [(data, "source"), *entries] if "source" in data else entries


def _split(said: Any) -> Any:
    """Put options apart from the address."""
    if isinstance(said, str):
        return {"url": said}
    if not isinstance(said, dict):
        return said
    options = _flat({name: value for name, value in said.items() if name != "url"})
    return {"options": options} | {name: said[name] for name in ("url",) if name in said}


def _flat(options: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Options of which some have dots in their names, which TOML takes for tables."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[before + name] = value
    return found


def _tags(said: Any, file: Path, words: Words) -> TagMap:
    """The tag map, from another file or from the table itself."""
    if said is None:
        return TagMap()
    if isinstance(said, str):
        return read_tags(file.parent / said)
    return tags_of(said, lambda where: words.place(("tags", *where)), words.place(("tags",)))


def _check_rest(found: WatchConfig, words: Words) -> None:
    """What the parts cannot say about themselves."""
    if found.state is not None and is_address(found.state):
        checked_address(found.state, {}, ("state",), words)
    try:
        found.settings()
    except SettingError as error:
        key = str(error).split(" ", 1)[0]
        raise words.at(("alarms", key), f"[alarms] {error}") from None
    try:
        found.silence()
    except (SettingError, OverflowError):
        raise words.wrong(
            ("alarms", "silent_after"),
            found.alarms.silent_after,
            'a duration such as "90s" or "5min", or "never",',
        ) from None
    if found.metrics is not None:
        try:
            metrics_place(found.metrics.listen)
        except SettingError:
            raise words.wrong(
                ("metrics", "listen"), found.metrics.listen, "HOST:PORT such as 127.0.0.1:9464"
            ) from None
    if found.outputs.per_signal and found.outputs.scores is None:
        raise words.at(
            ("outputs", "per_signal"),
            "[outputs] per_signal says what to write to scores; name that file, too.",
        )


def _look_for_files(found: WatchConfig, words: Words) -> None:
    """Raise for what is to be read and is not there; says where that was looked for."""
    source = found.source.url
    read: list[tuple[KeyPath, str]] = [(("model",), found.model)]
    if not is_address(source) and source != "-":
        at: KeyPath = ("source", "url")
        read.append((at if words.has(at) else at[:1], source))
    for where, name in read:
        path = found.folder / name
        if not path.exists():
            text = f"{table_of(where)}is {show(name)}, but there is no file {str(path)!r}"
            raise words.at(where, f"{text}; paths are relative to this configuration.")


def _look_for_secrets(found: WatchConfig, words: Words) -> None:
    """Raise for an environment variable or a file that is to hold a secret and is not there."""
    places: dict[KeyPath, Place] = {("source",): found.source.place(found.folder)}
    places |= {("sinks", k): sink.place(found.folder) for k, sink in enumerate(found.sinks)}
    if found.state is not None:
        places |= {("state",): Place(found.state)}
    for where, place in places.items():
        if not is_address(place.where):
            continue
        for name, value in parse_address(place.where, place.options).options.items():
            try:
                check_secret(name, str(value))
            except SettingError as error:
                raise words.about((*where, name), error) from None


def _check_uses(found: WatchConfig, read: Sequence[str]) -> None:
    """Raise if a file that is written to has another use; `read` are further ones that are read."""
    said = found.serve
    secrets = [name for name in (said.tokens_file, said.cert, said.key) if name is not None]
    written = [] if said.audit is None else [found.folder / said.audit]
    check_files(found.plan(), [found.folder / name for name in (*read, *secrets)], written)


def _is_path(option: str) -> bool:
    """Whether an option names a file."""
    return option in ("ca", "credentials") or option.split("_")[-1] in ("file", "cert", "key")


def _beside(folder: Path, where: str) -> str:
    """An address as it is, a path as seen from the working directory."""
    return where if is_address(where) or where == "-" else str(folder / where)
