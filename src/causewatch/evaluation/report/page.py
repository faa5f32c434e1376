"""Pages of the evaluation: one HTML file each, without network and without script."""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from causewatch.errors import SettingError
from causewatch.explain.view import clean
from causewatch.files import write_atomically

__all__ = ["render", "write_page"]


def render(template: str, *, title: str, **told: Any) -> str:
    """A page as text.

    What it is told stands in it as text, never as markup; its policy allows no script and no
    request, and no style but its own.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("causewatch.evaluation.report"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    looks = files("causewatch.explain") / "templates"
    own = files("causewatch.evaluation.report") / "templates"
    style = "".join(
        place.read_text(encoding="utf-8")
        for place in (looks / "alarm.css", looks / "story.css", own / "evaluation.css")
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(template).render(
        title=clean(title), style=Markup(style), style_hash=f"sha256-{digest}", **told
    )


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page; the file is there whole or not at all."""
    try:
        write_atomically(path, text)
    except OSError as error:
        reason = error.strerror or str(error)
        msg = f"Cannot write {str(Path(path))!r}: {reason}; choose a place that can be written to."
        raise SettingError(msg) from error
