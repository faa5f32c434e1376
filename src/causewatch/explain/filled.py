"""Pages from the templates of this folder: names stand in them as text, whatever they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["filled"]


def filled(template: str, styles: Sequence[str], **values: Any) -> str:
    """A page.

    Parameters
    ----------
    template
        File with its frame.
    styles
        Files with its style sheets.
    values
        What stands in the frame.
    """
    from markupsafe import Markup

    folder = files("causewatch.explain") / "templates"
    style = "".join((folder / name).read_text(encoding="utf-8") for name in styles)
    return _environment().get_template(template).render(style=Markup(style), **values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, select_autoescape

    return Environment(
        loader=PackageLoader("causewatch.explain"), autoescape=select_autoescape(), trim_blocks=True
    )
