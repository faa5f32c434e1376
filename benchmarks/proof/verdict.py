"""How a proof ends: with an error that names what fell short, after everything was printed."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["above", "below", "end"]


def above(what: str, found: float, most: float, unit: str = "") -> list[str]:
    """What to say if something is more than it may be; nothing if it is not."""
    if found <= most:  # not so where it is no number
        return []
    return [f"{what}: {found:.4g}{unit}, at most {most:g}{unit} asked for"]


def below(what: str, found: float, least: float, unit: str = "") -> list[str]:
    """What to say if something is less than it has to be; nothing if it is not."""
    if found >= least:
        return []
    return [f"{what}: {found:.4g}{unit}, at least {least:g}{unit} asked for"]


def end(short: Sequence[str]) -> None:
    """Raise `SystemExit` if something fell short."""
    if short:
        raise SystemExit("Fell short. " + "; ".join(short))
