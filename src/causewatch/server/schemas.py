"""What the programming interface takes and gives, for its description and its checks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Act",
    "AlarmBody",
    "AlarmPage",
    "AlarmStory",
    "AuditTrail",
    "Events",
    "Failure",
    "Health",
    "ModelBody",
    "NoticedBody",
    "Now",
    "Plant",
    "ReplayBody",
    "ReplayList",
    "Series",
    "Session",
    "Sparklines",
    "Standing",
]

Numbers = list[float | None]
Clock = Literal["utc", "naive", "elapsed", "rows"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Failure(_Body):
    """Why something was not done."""

    error: str = Field(description="One sentence.")


class Health(_Body):
    """Whether the watch is alive."""

    ok: bool
    text: str


class Session(_Body):
    """Who asks, and what they may do."""

    name: str | None = Field(description="Name of the token; null where nobody is asked.")
    role: Literal["look", "operate"]
    version: str
    watch: str
    boot: str = Field(description="Names this run of the server.")


class Signal(_Body):
    """One signal."""

    name: str
    label: str | None
    unit: str | None
    stage: int | None = Field(description="Place in `stages`.")
    guarded: bool = Field(description="Without a mechanism, held against its range.")
    x: float
    y: float = Field(description="Grows downwards.")
    spread: float | None = Field(description="The band is three of these wide on each side.")
    low: float | None
    high: float | None
    explained: float | None = Field(description="Share of its variance that its causes explain.")


class Plant(_Body):
    """What does not change while the server runs."""

    watch: str
    boot: str
    clock: Clock = Field(description="What times count; the status says if that changes.")
    source: str
    every: float = Field(description="Seconds of a tick.")
    tick: str = Field(description="The same for people, e.g. `20 rows of 499 ms`.")
    interval: float = Field(description="Seconds between two rows.")
    max_lag: int
    lags: list[str] = Field(description="How much later effects with each lag follow: `20 s`.")
    preset: str
    stages: list[str]
    signals: list[Signal]
    links: list[list[float | None]] = Field(
        description="Source, target (places in `signals`), lag in ticks, strength, p-value,"
        " coefficient."
    )


class Unwell(_Body):
    """A signal that cannot be trusted."""

    state: str
    since: str | None
    t: float | None
    detail: str


class Standing(_Body):
    """How the watch stands."""

    clock: Clock = Field(description="What times count, settled by the first row.")
    rows: int
    ticks: int
    pace: float = Field(description="Rows in a second.")
    lag: float | None = Field(description="Seconds from the time of the last row to now.")
    source: str
    away: bool = Field(description="Whether no rows can come at present.")
    trouble: str = Field(description="Why the store takes nothing; empty if it does.")
    ended: bool = Field(description="Whether there are no more rows.")
    problems: dict[str, int]
    unwell: dict[str, Unwell]
    peaks: dict[str, float | None] = Field(description="Of each alarm that is on, by its id.")
    viewers: int


class Cause(_Body):
    """A signal where trouble may have started."""

    signal: str
    score: float | None
    confidence: float | None


class Broken(_Body):
    """A link that no longer acts as learnt."""

    source: str
    target: str
    lag: int
    normal: float | None
    observed: float | None
    deviation: float | None


class Comment(_Body):
    """What somebody said."""

    by: str
    time: str
    text: str


class AlarmBody(_Body):
    """An alarm at one of its events."""

    id: str
    event: Literal["raised", "updated", "cleared", "acknowledged", "shelved"]
    time: str
    kind: Literal["anomaly", "health"]
    raised_at: str
    cleared_at: str | None
    onset: str
    peak_score: float | None
    headline: str
    abstained: bool
    causes: list[Cause]
    broken_links: list[Broken]
    signals: dict[str, float | None]
    problem: str | None
    acknowledged_by: str | None
    acknowledged_at: str | None
    shelved_until: str | None
    comments: list[Comment]
    merged: int
    normal: bool


class Now(_Body):
    """Everything that is known at present; arrays are in the order of the plant's signals."""

    boot: str
    clock: Literal["utc", "naive", "elapsed", "rows"]
    n: int = Field(description="Ticks of this run so far.")
    t: float | None = Field(description="Of the last tick, be it in an earlier run.")
    time: str | None
    score: float | None = Field(description="1 is the limit of an alarm.")
    alarm: bool
    values: Numbers
    expected: Numbers
    evidence: Numbers = Field(description="1 is the limit of the signal.")
    alarms: list[AlarmBody]
    status: Standing


class Course(_Body):
    """One signal over time."""

    values: Numbers
    expected: Numbers
    evidence: Numbers


class Series(_Body):
    """Ticks; of many, those that stick out."""

    kept_from: float | None = Field(description="Time of the oldest tick that is kept.")
    t: list[float]
    score: Numbers
    signals: dict[str, Course]


class Sparklines(_Body):
    """The last values of all signals; of many ticks, those that stick out."""

    t: list[float]
    values: list[Numbers] = Field(description="A list for each of the plant's signals.")


class AlarmPage(_Body):
    """Alarms, the latest raised first."""

    alarms: list[AlarmBody]
    next: int | None = Field(description="Give it as `before` for those that come next.")


class Events(_Body):
    """What an action led to."""

    events: list[AlarmBody]


class Told(_Body):
    """Why an alarm was raised."""

    headline: str
    abstained: bool
    causes: list[Cause]
    broken_links: list[Broken]
    unwatched: list[Cause]
    consequences: list[str]
    checks: list[dict[str, Any]] = Field(description="What to look at next.")
    published_ranking: list[dict[str, Any]]


class AlarmStory(_Body):
    """All that is known about an alarm."""

    alarm: AlarmBody
    events: list[AlarmBody] = Field(description="Oldest first.")
    explanation: Told | None
    course: bool = Field(description="Whether the ticks around it are kept.")


class Act(_Body):
    """What a person says with an action."""

    by: Annotated[str, Field(max_length=200)] = Field(
        default="", description="Who; with tokens it is the name of the token."
    )
    text: Annotated[str, Field(max_length=4000)] = ""
    seconds: Annotated[float, Field(gt=0, le=3650 * 86_400, allow_inf_nan=False)] | None = Field(
        default=None, description="For how long to shelve."
    )


class ModelBody(_Body):
    """The model: what was found in its recording, where it comes from, its limits."""

    findings: list[dict[str, Any]]
    provenance: dict[str, Any]
    preprocessing: dict[str, Any]
    limits: dict[str, Any]
    settings: dict[str, Any]
    mechanisms: list[dict[str, Any]]
    guarded: list[dict[str, Any]]


class Least(_Body):
    """The smallest change of a signal that is noticed in time in half of the cases."""

    signal: str
    within_s: float
    bias: float | None = Field(description="An offset; null if none is noticed.")
    drift_per_s: float | None = Field(description="An offset that grows.")
    mechanism_share: float | None = Field(description="By how much weaker its causes act.")


class NoticedBody(_Body):
    """What would be noticed; empty for models of the published method."""

    signals: list[Least]


class ReplayBody(_Body):
    """A what-if replay of a recording."""

    id: str
    name: str
    state: Literal["waiting", "running", "done", "failed", "stopped"]
    progress: float | None
    error: str | None
    settings: dict[str, Any]
    begun: str
    result: dict[str, Any] | None = None


class ReplayList(_Body):
    """All of them, the latest first."""

    replays: list[ReplayBody]


class AuditTrail(_Body):
    """What operators did, the latest first."""

    entries: list[dict[str, Any]]
