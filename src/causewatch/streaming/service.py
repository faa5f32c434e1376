"""`prepare`: a plan becomes a `Watch`, with everything it needs open and locked."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from causewatch.errors import SettingError
from causewatch.explain.described import describe
from causewatch.model import NormalModel, load
from causewatch.monitor import Monitor
from causewatch.monitor.state import WRONG_PARTS
from causewatch.streaming.adopting import adopt, damaged
from causewatch.streaming.open import open_sink, open_source
from causewatch.streaming.plan import Plan
from causewatch.streaming.plan_check import check_plan_alone
from causewatch.streaming.played import PlayedSource
from causewatch.streaming.reports import Reports, check_index
from causewatch.streaming.runner import Watch
from causewatch.streaming.scores import ScoreFile
from causewatch.streaming.silence import Silence, usual_silence
from causewatch.streaming.sink import Sink
from causewatch.streaming.sinks.lines import LinesSink
from causewatch.streaming.source import Source, Wanted
from causewatch.streaming.store.base import Checkpoint, Store
from causewatch.streaming.store.open import open_store
from causewatch.streaming.store.sqlite import MemoryStore
from causewatch.streaming.views import Observer, View
from causewatch.streaming.watchdog import watchdog_of

__all__ = ["check_plan", "prepare"]

log = logging.getLogger(__name__)

NAME = "watch"
"""What a watch is called that was given no name."""


@contextmanager
def prepare(
    plan: Plan,
    views: Sequence[View] = (),
    observers: Sequence[Observer] = (),
    *,
    force: bool = False,
) -> Iterator[Watch]:
    """A watch that is ready to run; everything it has opened is closed afterwards.

    Parameters
    ----------
    plan
        What to do. Those that its `metrics` ask for are among the `observers` that
        `causewatch.server.probes` gives.
    views, observers
        Who looks on.
    force
        Whether files that exist already, and do not belong to the state, are overwritten.
    """
    check_plan_alone(plan)
    model = load(plan.model)
    name = plan.name or NAME
    with ExitStack() as stack:
        store = MemoryStore(name) if plan.state is None else open_store(plan.state, name)
        stack.callback(store.close)
        stack.enter_context(store.lock())
        saved = store.load() if plan.state is not None else None
        monitor = Monitor(model, settings=plan.settings, stream=plan.name, describe=describe)
        if saved is not None:
            saved = _of_this_model(saved, model, store, plan)
            _restore(monitor, saved, store)
        _check_new(plan, store, saved, force)
        for sentence in plan.tags.check(model.watched):
            log.warning("%s", sentence)
        source = _source(plan, model)
        signals = model.watched if plan.per_signal else ()
        if plan.report is not None:
            plan.report.mkdir(parents=True, exist_ok=True)
        yield Watch(
            monitor,
            source,
            store,
            name=name,
            keep=plan.state is not None,
            saved=saved,
            sinks=_sinks(plan, store),
            views=[*views, *filter(None, [watchdog_of()])],
            observers=observers,
            scores=None if plan.scores is None else ScoreFile(plan.scores, signals),
            reports=_reports(plan, model, source),
            retention=plan.retention,
            silence=_silence(plan, model),
        )


def _reports(plan: Plan, model: NormalModel, source: Source) -> Reports | None:
    if plan.report is None:
        return None
    return Reports(plan.report, model, {"watched": source.name, "model": plan.model.name})


def check_plan(plan: Plan) -> None:
    """Raise for what would keep a watch from beginning, as far as it can be told beforehand.

    Nothing is opened or written. What the tags do not fit is logged.
    """
    check_plan_alone(plan)
    model = load(plan.model)
    for sentence in plan.tags.check(model.watched):
        log.warning("%s", sentence)
    _source(plan, model).close()
    for one in plan.sinks:
        open_sink(one.where, one.options).close()


def _source(plan: Plan, model: NormalModel) -> Source:
    wanted = Wanted(
        model.watched,
        model.interval,
        model.clock == "rows",
        plan.reading,
        plan.tags,
        plan.limits,
        model.provenance.writing,
    )
    where, options = plan.source.where, plan.source.options
    source = open_source(where, wanted, follow=plan.follow, options=options)
    return source if plan.speed <= 0 else PlayedSource(source, model.interval, plan.speed)


def _silence(plan: Plan, model: NormalModel) -> Silence:
    after = plan.silent_after
    if after is None:
        every = model.preprocessing.every
        after = usual_silence(plan.source.where, model.interval, every)
    return Silence(after)


def _of_this_model(saved: Checkpoint, model: NormalModel, store: Store, plan: Plan) -> Checkpoint:
    """The state, taken over from the model before if this one is an update of it."""
    before = str(saved.monitor.get("model"))
    if before == model.fingerprint:
        return saved
    if not model.succeeds(before):
        own = saved.monitor.get("stream")  # a folder may have been given another name now
        name = f" --name {own}" if own else ""
        msg = (
            f"The state in {store.name} belongs to another model, and {plan.model.name!r} is no"
            f" update of it; 'causewatch adopt {plan.state} {plan.model}{name}' lets it take over,"
            " or start with an empty --state."
        )
        raise SettingError(msg)
    saved, done = adopt(store, saved, model)
    log.info("%s is an update of the model before. %s", plan.model.name, done.kept)
    for sentence in done.lost:
        log.warning("%s", sentence)
    return saved


def _restore(monitor: Monitor, saved: Checkpoint, store: Store) -> None:
    """Bring the monitor to where it was; whatever a foreign part leads to is one sentence."""
    try:
        monitor.restore(saved.monitor)
    except WRONG_PARTS as error:
        raise damaged(store, error) from error


def _sinks(plan: Plan, store: Store) -> list[Sink]:
    sinks: list[Sink] = []
    if plan.alarms is not None:
        path = plan.alarms.absolute()
        sinks.append(LinesSink(path, anew=store.delivered(str(path)) is None))
    sinks += [open_sink(one.where, one.options) for one in plan.sinks]
    names = [sink.name for sink in sinks]
    for name in names:
        if names.count(name) > 1:
            msg = f"Alarms are to go to {name} twice; name it once."
            raise SettingError(msg)
    return sinks


def _check_new(plan: Plan, store: Store, saved: Checkpoint | None, force: bool) -> None:
    """Raise if a file exists already that would be begun anew and is none of this watch."""
    for path in (plan.alarms, plan.scores):
        if path is None or not path.exists() or force:
            continue
        name = str(path.absolute())
        kept = saved is not None and name in saved.outputs
        if not kept and store.delivered(name) is None:
            msg = f"{str(path)!r} exists already; use --force to overwrite it."
            if plan.state is not None:  # this may be all that is left of what a state held
                msg = (
                    f"{str(path)!r} exists already, and the state in {store.name} knows nothing of"
                    " it: that state was lost, or is another one. Name another file to keep this"
                    " one; --force overwrites it."
                )
            raise SettingError(msg)
    if plan.report is not None and not force:
        check_index(plan.report)
