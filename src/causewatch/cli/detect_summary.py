"""How small a change a model would notice, for people and for programs."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.detectors.detectability import Detectability
    from causewatch.model import NormalModel

__all__ = [
    "detectability_dicts",
    "detectability_of",
    "print_detectability",
    "print_signal_detectability",
]

UNSEEN = "not noticed"
"""Said of causes that may lose all their effect."""


def detectability_of(model: NormalModel, signals: list[str] | None = None) -> Detectability | None:
    """The smallest changes that are noticed; None for the `paper` preset.

    Only for `signals` if given: the others stay NaN.
    """
    from causewatch.detectors.detectability import detectability

    if model.watching.limits is None:
        return None
    columns = None if signals is None else [model.signals.index(name) for name in signals]
    return detectability(model.equations, model.watching.limits, signals=columns)


def detectability_dicts(
    model: NormalModel, signals: list[str] | None = None
) -> list[dict[str, Any]]:
    """Plain data for ``--json``, one entry for each signal; None where nothing is noticed in time.

    Empty for the `paper` preset.
    """
    found = detectability_of(model, signals)
    if found is None:
        return []
    return [
        {
            "signal": name,
            "within_ticks": found.within,
            "within_s": found.within * model.preprocessing.every,
            "bias": _number(found.bias[k]),
            "drift_per_tick": _number(found.drift[k]),
            "drift_per_s": _number(found.drift[k] / model.preprocessing.every),
            "mechanism_share": _number(found.mechanism[k]),
        }
        for k, name in enumerate(model.signals)
        if signals is None or name in signals
    ]


def print_detectability(model: NormalModel, out: Console, most: int = 5) -> None:
    """The signals whose changes are hardest to notice, in standard deviations."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from causewatch.data import format_duration

    found = detectability_of(model)
    if found is None or not most:
        return
    scale = [max(model.scale[name], 1e-300) for name in model.signals]
    sizes = found.bias / scale
    worst = sorted(range(len(sizes)), key=lambda k: -sizes[k])[:most]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("hardest to watch", overflow="fold", max_width=40)
    for name in ("bias", "in std", "drift per tick", "mechanism"):
        table.add_column(name, justify="right")
    for k in worst:
        unit = model.knowledge.unit_of(model.signals[k])
        table.add_row(
            Text(model.signals[k]),
            _sized(found.bias[k], unit),
            _sized(sizes[k], None),
            _sized(found.drift[k], unit),
            f"{found.mechanism[k]:.0%}" if found.mechanism[k] <= 1.0 else UNSEEN,
        )
    out.print(table)
    time = format_duration(found.within * model.preprocessing.every, model.clock)
    out.print(
        f"Smallest changes noticed within {found.within} ticks ({time}) half of the time:"
        " --json shows all signals.",
        style="dim",
    )


def print_signal_detectability(model: NormalModel, name: str, out: Console) -> None:
    """One signal: what would be noticed within ten ticks."""
    found = detectability_of(model, [name])
    if found is None:
        return
    k, unit = model.signals.index(name), model.knowledge.unit_of(name)
    out.print(f"Noticed within {found.within} ticks half of the time")
    out.print(f"  a bias of {_sized(found.bias[k], unit)}")
    out.print(f"  a drift of {_sized(found.drift[k], unit)} per tick")
    share = found.mechanism[k]
    if share <= 1.0:
        out.print(f"  causes that lose {share:.0%} of their effect")
    else:
        out.print("Not noticed: causes that lose their effect, even all of it")


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _sized(value: float, unit: str | None) -> str:
    return f"{value:.3g}{f' {unit}' if unit else ''}" if isfinite(value) else "not in time"
