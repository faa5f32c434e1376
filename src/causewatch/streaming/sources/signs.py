"""Signs between columns and before decimals that are not those of earlier recordings."""

from __future__ import annotations

from causewatch.data import Writing

__all__ = ["other_signs"]

_OPTIONS = {"\t": "tab", " ": "blank"}


def other_signs(
    name: str,
    usual: Writing | None,
    written: Writing | None,
    *,
    separator: str | None,
    decimal: str | None,
) -> str:
    """A sentence, if a text is not written with the usual signs; empty otherwise.

    Parameters
    ----------
    name
        What to call the text.
    usual
        How earlier recordings of the plant are written.
    written
        How this one is; only its signs matter.
    separator, decimal
        What the user says they are, which is not doubted.
    """
    if usual is None or written is None:
        return ""
    own, others, options = {}, {}, []
    for sign, given in (("separator", separator), ("decimal", decimal)):
        mine, theirs = getattr(written, sign), getattr(usual, sign)
        if given is None and None not in (mine, theirs) and mine != theirs:
            own[sign], others[sign] = mine, theirs
            options.append(f"--{sign} {_OPTIONS.get(theirs, theirs)!r}")
    if not options:
        return ""
    return (
        f"{name} is not written with the signs of other recordings of this plant"
        f" ({Writing(**others)}) but with its own ({Writing(**own)}), and was read by these. If"
        f" that is wrong, give {' and '.join(options)}."
    )
