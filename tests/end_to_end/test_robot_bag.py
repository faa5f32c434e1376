"""A robot's bag: learnt from and watched by the same commands as any recording."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from causewatch.cli import main
from services.bags import TOPICS, walk, write_bag

pytest.importorskip("rosbags")


@pytest.mark.parametrize("kind", ["mcap"])
def test_a_bag_is_learnt_from_and_watched(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "run", kind, walk(kind, 40.0), TOPICS)
    model = tmp_path / "robot.cwm"
    assert main(["learn", str(bag), "--out", str(model), "--every", "0.1s", "--json"]) == 0
    learnt = json.loads(capsys.readouterr().out)
    assert learnt["signals"]
    assert main(["watch", str(model), str(bag), "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["rows"] > 350
    assert said["ticks_judged"] > 100
    assert not said["dropped_rows"]
