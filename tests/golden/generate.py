"""Freeze what tigramite finds: ``python tests/golden/generate.py`` rewrites every file here.

Each ``.npz`` holds the settings, the recording (or, for large ones, its recipe and SHA-256),
tigramite's values, p-values and parents, and a text `about` with seed, versions, tolerance and
the reason for it. Regenerate only from an installed tigramite release, and say why in the commit.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

import recordings  # noqa: E402  (found once the folder above is on the path)

TOLERANCE = 1e-9
REASON = (
    "both programs compute in double precision or better; nearly collinear signals cost tigramite"
    " up to seven digits"
)

# name: (recipe, its arguments, max_lag, min_lag, alpha, starts)
CASES = {
    "var_3_lag_1": ("stable", (1, 3, 150, 1), 1, 0, 0.05, (0,)),
    "var_5_lag_3": ("stable", (2, 5, 250, 3), 3, 1, 0.05, (0,)),
    "var_6_lag_5": ("stable", (3, 6, 250, 5), 5, 0, 0.01, (0,)),
    "var_8_lag_2": ("stable", (4, 8, 200, 2), 2, 1, 0.01, (0,)),
    "var_4_lag_4": ("stable", (5, 4, 60, 4), 4, 0, 0.05, (0,)),
    "var_20_lag_2": ("stable", (6, 20, 400, 2), 2, 0, 0.05, (0,)),
    "var_40_lag_2": ("stable", (7, 40, 500, 2), 2, 1, 0.05, (0,)),
    "stretches": ("stable", (8, 4, 300, 2), 2, 1, 0.05, (0, 90, 100, 200)),
    "two_valued": ("two_valued", (9, 5, 300), 3, 0, 0.05, (0,)),
    "units": ("odd_units", (10, 200), 2, 0, 0.05, (0,)),
    "offsets": ("offsets", (11, 200), 2, 1, 0.05, (0,)),
    "constant": ("quiet", (12,), 2, 0, 0.05, (0,)),
    "constant_later": ("quiet", (13, 200, 3), 2, 0, 0.05, (0,)),
    "missing": ("with_gaps", (14,), 2, 0, 0.05, (0,)),
    **{
        f"nearly_{kind.replace(' ', '_')}_{power}": (
            "nearly",
            (20 + power, 10.0**-power, kind),
            2,
            k % 2,
            0.05,
            (0,),
        )
        for k, (kind, power) in enumerate(
            [
                ("copy", 2),
                ("copy", 4),
                ("copy", 6),
                ("late copy", 3),
                ("late copy", 5),
                ("late copy", 6),
                ("sum", 3),
                ("sum", 5),
                ("late sum", 2),
                ("late sum", 4),
                ("late sum", 6),
            ]
        )
    },
}
LARGE = 1400
"""Numbers above which a recording is not stored: its recipe and hash are enough."""


def recording(name):
    """The recording of a case, from its recipe."""
    recipe, arguments, *_ = CASES[name]
    if recipe == "nearly":
        seed, eps, kind = arguments
        return recordings.nearly(seed, eps, kind=kind, rows=200)
    return getattr(recordings, recipe)(*arguments)


def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def main():
    from yardstick import tigramite_pcmci

    for name, (recipe, arguments, max_lag, min_lag, alpha, starts) in CASES.items():
        values = recording(name)
        found = tigramite_pcmci(values, max_lag, min_lag, alpha, starts=starts)
        about = {
            "recipe": [recipe, *arguments],
            "seed": arguments[0],
            "tigramite": found.version,
            "numpy": np.__version__,
            "tolerance": TOLERANCE,
            "reason": REASON,
            "sha256": digest(values),
        }
        parents = [(j, i, lag) for j, nodes in enumerate(found.parents) for i, lag in nodes]
        np.savez_compressed(
            FOLDER / f"{name}.npz",
            about=json.dumps(about),
            data=np.empty((0, 0)) if values.size > LARGE else values,
            setting=np.array([max_lag, min_lag]),
            alpha=alpha,
            starts=np.array(starts),
            value=found.value[:, :, min_lag:],
            p_value=found.p_value[:, :, min_lag:],
            parents=np.array(parents, dtype=np.int16).reshape(-1, 3),
        )
        logging.info("%s: %d links", name, np.sum(found.p_value <= alpha))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
