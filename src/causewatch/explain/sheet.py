"""A sheet of paper to draw on: inches, y downwards, text that is never markup.

The only module that talks to matplotlib. It uses the object-oriented interface alone, so a
program's own figures and settings stay untouched.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.explain.colours import CROSS, INK, NODE, auto_limits, limits
from causewatch.explain.routes import Route

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

__all__ = ["Scale", "Sheet", "fill", "text_width", "two_lines"]

logger = logging.getLogger(__name__)

FONT = "DejaVu Sans"
POINT = 1 / 72
CAPITAL = 0.73
"""Height of a capital letter of the font, in font sizes."""

FIRST_WIDE = 0x2E80
"""Characters from here on (Chinese, Japanese, Korean) are about as wide as they are high."""

LINE = 1.35
"""Distance of two lines, in font sizes."""

Floats = NDArray[np.float64]


class Scale:
    """A colour scale: `colours` spread evenly from `low` to `high`; call it with a value."""

    def __init__(self, colours: Sequence[str], low: float, high: float) -> None:
        from matplotlib.colors import LinearSegmentedColormap, Normalize

        self.map: Colormap = LinearSegmentedColormap.from_list("causewatch", list(colours), N=64)
        self.low, self.high = low, high
        self.norm = Normalize(low, high, clip=True)

    def __call__(self, value: float) -> tuple[float, float, float, float]:
        """The colour of `value` as red, green, blue, alpha."""
        red, green, blue, alpha = self.map(float(self.norm(value)))
        return red, green, blue, alpha

    @classmethod
    def cross(cls, values: Iterable[float]) -> Scale:
        """The scale of arrows with these values, symmetric about zero."""
        limit = limits(values, least=0.4)
        return cls(CROSS, -limit, limit)

    @classmethod
    def auto(cls, values: Iterable[float]) -> Scale:
        """The scale of nodes with these values."""
        return cls(NODE, *auto_limits(values))


class Sheet:
    """A figure of `width` by `height` inches with the point `corner` at its top left."""

    def __init__(self, corner: tuple[float, float], width: float, height: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.left, self.top = corner
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height), facecolor="white")
        FigureCanvasAgg(self.figure)
        self.axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self.axes.set_xlim(self.left, self.left + width)
        self.axes.set_ylim(self.top + height, self.top)
        self.axes.axis("off")
        self.written: set[str] = set()

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 9,
        colour: str = INK,
        bold: bool = False,
        across: Literal["left", "center", "right"] = "center",
        down: Literal["top", "center"] = "center",
    ) -> None:
        """Write `text`, already clean and broken into lines; nothing in it is interpreted.

        Lines stand on baselines of our own, at even distances, with capitals centred on `y` or
        their top at it.
        """
        self.written.update(text)
        lines = text.split("\n")
        pitch = LINE * size * POINT
        baseline = y + CAPITAL * size * POINT
        if down == "center":
            baseline -= (CAPITAL * size * POINT + (len(lines) - 1) * pitch) / 2
        for k, line in enumerate(lines):
            self.axes.text(
                x,
                baseline + k * pitch,
                line,
                fontsize=size,
                color=colour,
                fontweight="bold" if bold else "normal",
                ha=across,
                va="baseline",
                zorder=10,
                parse_math=False,
            )

    def box(
        self,
        box: Sequence[float] | Floats,
        *,
        fill_with: str | tuple[float, float, float, float],
        edge: str | None = None,
        radius: float = 0.1,
        order: float = 5,
    ) -> None:
        """Draw a rounded box ``(x, y, half width, half height)``."""
        from matplotlib.patches import FancyBboxPatch

        x, y, half_width, half_height = box
        radius = min(radius, half_width, half_height)
        self.axes.add_patch(
            FancyBboxPatch(
                (x - half_width, y - half_height),
                2 * half_width,
                2 * half_height,
                boxstyle=f"round,pad=0,rounding_size={radius}",
                facecolor=fill_with,
                edgecolor=edge or "none",
                linewidth=0.9 if edge else 0.0,
                zorder=order,
            )
        )

    def dots(self, centres: Floats, colours: Iterable[object], size: float) -> None:
        """Draw small discs of diameter `size`."""
        from matplotlib.collections import EllipseCollection

        count = len(centres)
        self.axes.add_collection(
            EllipseCollection(
                [size] * count,
                [size] * count,
                [0.0] * count,
                units="xy",
                offsets=centres,
                offset_transform=self.axes.transData,
                facecolors=list(colours),
                edgecolors="#5f6b76",
                linewidths=0.4,
                zorder=8,
            )
        )

    def arrow(
        self, way: Route, colour: tuple[float, float, float, float], width: float, order: float
    ) -> None:
        """Draw a routed arrow or line, with a thin white rim that sets off crossings."""
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        path = Path(way.curve, [Path.MOVETO, Path.CURVE3, Path.CURVE3])
        for stroke, paint, above in ((width + 1.6, "white", 0.0), (width, colour, 0.001)):
            self.axes.add_patch(
                PathPatch(
                    path,
                    facecolor="none",
                    edgecolor=paint,
                    linewidth=stroke,
                    capstyle="butt",
                    zorder=order + above,
                )
            )
        if way.head is not None:
            self.axes.add_patch(
                Polygon(way.head, facecolor=colour, edgecolor="none", zorder=order + 0.002)
            )

    def colour_bar(self, x: float, y: float, width: float, scale: Scale, label: str) -> None:
        """Draw a horizontal colour bar with its top left at (`x`, `y`), its label above."""
        from matplotlib.cm import ScalarMappable

        self.text(x, y, label, size=8.5, across="left", down="top")
        place = (
            (x - self.left) / self.width,
            1 - (y - self.top + 0.33) / self.height,
            width / self.width,
            0.12 / self.height,
        )
        bar = self.figure.colorbar(
            ScalarMappable(scale.norm, scale.map),
            cax=self.figure.add_axes(place),
            orientation="horizontal",
        )
        ends = np.linspace(scale.low, scale.high, 5)
        bar.set_ticks(ends.tolist(), labels=[f"{end:.2g}".replace("-", "−") for end in ends])
        bar.ax.tick_params(
            labelsize=8, labelfontfamily=FONT, length=2, width=0.6, color=INK, labelcolor=INK
        )
        bar.outline.set_visible(False)

    def save(self, kind: Literal["svg", "png"]) -> bytes:
        """The finished sheet; the same drawing always gives the same bytes."""
        import matplotlib

        out = io.BytesIO()
        metadata: dict[str, str | None]
        if kind == "svg":
            metadata = {"Date": None, "Creator": "causewatch"}
        else:
            metadata = {"Software": "causewatch"}
        families = [FONT, *_fonts_with(self.written), "sans-serif"]
        for text in self.axes.texts:
            text.set_fontfamily(families)
        with (
            matplotlib.rc_context(
                {
                    "savefig.bbox": None,
                    "savefig.transparent": False,
                    "svg.fonttype": "none",
                    "svg.hashsalt": "causewatch",
                    "text.usetex": False,
                }
            ),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            self.figure.savefig(out, format=kind, dpi=160, metadata=metadata)
        return out.getvalue()


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width of the longest line of `text` in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family=FONT, size=size, weight="bold" if bold else "normal")
    measure = TextToPath().get_text_width_height_descent
    widest = 0.0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        for line in text.split("\n"):
            wide = sum(ord(char) > FIRST_WIDE for char in line)
            widest = max(widest, measure(line, font, False)[0] + 0.4 * size * wide)
    return widest * POINT


SLACK = 5
"""Characters by which a line may be longer where a name can only be broken between words so."""


def two_lines(text: str, most: int = 18) -> str:
    """`text` on at most two lines of about `most` characters: its beginning and its end."""
    if len(text) <= most:
        return text
    breaks = [m.end() for m in re.finditer(r"[\s/._:\-…]+", text) if 4 <= m.end() < len(text)]
    if len(text) <= 2 * most:
        longest = most + SLACK  # rather a bit longer than cut within a word
        fitting = [k for k in breaks if k <= longest and len(text) - k <= longest]
        cut = min(fitting, key=lambda k: abs(2 * k - len(text)), default=min(most, len(text) - 4))
        return f"{text[:cut].rstrip()}\n{text[cut:].lstrip()}"
    cut = max((k for k in breaks if k <= most), default=most)
    end = text[-(most - 1) :]
    later = [m.end() for m in re.finditer(r"[\s/._:\-]+", end[: most // 2])]
    return f"{text[:cut].rstrip()}\n…{end[later[0] :] if later else end}"


def fill(text: str, width: float, size: float) -> str:
    """`text` broken into lines of at most `width` inches."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def _fonts_with(characters: set[str]) -> list[str]:
    """Installed fonts that have the characters the usual one lacks."""
    from matplotlib.font_manager import findfont, fontManager, get_font

    missing = {ord(char) for char in characters} - set(get_font(findfont(FONT)).get_charmap())
    missing = {code for code in missing if code > 32}
    chosen: list[str] = []
    if missing:
        for entry in sorted(fontManager.ttflist, key=lambda entry: (entry.name, entry.fname)):
            if not missing:
                break
            if entry.name.startswith(("Last Resort", "cm", "STIX")) or entry.style != "normal":
                continue
            covered = missing & set(get_font(entry.fname).get_charmap())
            if covered:
                chosen.append(entry.name)
                missing -= covered
    if missing:
        logger.info(
            "No installed font has the characters %s; a PNG shows them as boxes, SVG and HTML use"
            " the fonts of whoever opens them.",
            " ".join(sorted(map(chr, missing))[:20]),
        )
    return list(dict.fromkeys(chosen))
