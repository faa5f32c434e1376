"""What ``causewatch learn --update`` does and prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from causewatch.cli.output import refuse_existing
from causewatch.errors import SettingError

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.model.updating import UpdateResult

__all__ = ["check_paths", "doubts_of", "print_update", "update_dict", "update_model"]

Tell = Callable[[str, float | None], None]
MOST_SIGNALS = 5
MOST_LINKS = 8


def check_paths(old: Path, out: Path, force: bool) -> None:
    """Refuse to write over the old model, or any other file, unless `force` is set."""
    if old.exists() and out.exists() and out.samefile(old) and not force:
        msg = (
            f"{str(out)!r} is the model to be updated; name another file, or use --force to let an"
            " accepted update take its place."
        )
        raise SettingError(msg)
    refuse_existing([out], force)


def update_model(
    old: Path, normal: list[Path], out: Path, *, tell: Tell, reading: dict[str, Any]
) -> UpdateResult:
    """Update the model in `old` and write it to `out` if it is accepted; otherwise write nothing.

    Parameters
    ----------
    old, normal, out
        The model, the new recordings, the file for the new model.
    tell
        Told what is being done.
    reading
        Options of :func:`causewatch.open_table`.
    """
    from causewatch.model import load
    from causewatch.model.updating import update

    result = update(load(old), [str(path) for path in normal], progress=tell, **reading)
    if result.accepted:
        result.candidate.save(out)
    return result


def doubts_of(result: UpdateResult) -> list[str]:
    """What a user must know about how the new recording was read, as sentences."""
    from causewatch.data.day_order import DOUBTS

    kinds = {*DOUBTS, "anomalous_rows", "bad_lines", "labelled_rows", "second_labelled_rows"}
    return [finding.text for finding in result.candidate.report if finding.kind in kinds]


def update_dict(result: UpdateResult) -> dict[str, Any]:
    """Plain data about the comparison, for ``--json``."""
    found = result.comparison
    return {
        "accepted": result.accepted,
        "reasons": list(result.reasons),
        "notes": doubts_of(result),
        "compared_ticks": found.ticks,
        "error_growth": found.growth,
        "above_limit": {"before": found.above_before, "after": found.above_after},
        "alarms": {
            "before": found.alarms_before,
            "after": found.alarms_after,
            "expected": found.alarms_expected,
        },
        "signals": [
            {"signal": name, "error_before": before, "error_after": found.error_after[name]}
            for name, before in found.error_before.items()
        ],
        "gained": [_link(link) for link in found.gained],
        "lost": [_link(link) for link in found.lost],
    }


def print_update(result: UpdateResult, out: Console) -> None:
    """Whether the candidate was accepted, why, and what changed."""
    found = result.comparison
    word, style = ("ACCEPTED", "green") if result.accepted else ("REJECTED", "bold red")
    out.print(f"Update     {word}", style=style)
    for reason in result.reasons:
        out.print(f"             {reason}")
    out.print(f"Compared   on {found.ticks:,} recent ticks that neither model was learnt from")
    out.print(f"             above the limit: {found.above_before:.1%} → {found.above_after:.1%}")
    changes = {
        name: found.error_after[name] / before - 1.0
        for name, before in found.error_before.items()
        if before > 0
    }
    most = sorted(changes, key=lambda name: -abs(changes[name]))[:MOST_SIGNALS]
    for name in most:
        out.print(
            f"             {name}: prediction error {found.error_before[name]:.4g} →"
            f" {found.error_after[name]:.4g} ({changes[name]:+.1%})"
        )
    for title, links in (("gained", found.gained), ("lost", found.lost)):
        if links:
            shown = ", ".join(str(link) for link in links[:MOST_LINKS])
            more = f" and {len(links) - MOST_LINKS} more" if len(links) > MOST_LINKS else ""
            out.print(f"Links      {title}: {shown}{more}")
    if not result.accepted:
        out.print("Nothing was written; the old model stays.")


def _link(link: Any) -> dict[str, Any]:
    return {"source": link.source, "target": link.target, "lag": link.lag}
