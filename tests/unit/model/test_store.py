"""Models in files: what is saved comes back, and nothing else is let in."""

from __future__ import annotations

import copy
import io
import json
import pickle
import zipfile
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import causewatch as cw
from causewatch.archive import read_archive, write_archive
from causewatch.discovery import LaggedMoments
from causewatch.errors import ModelFileError
from causewatch.graph import CausalGraph
from causewatch.model.store import KIND, VERSION, unpack
from recordings import stable

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def table(rows=600):
    values = stable(1, 5, rows)
    return {
        **{name: values[:, k] for k, name in enumerate(["P 101", "LIT301", "größe", "d", "e"])},
        "flat": np.full(rows, 3.5),
    }


@pytest.fixture(scope="module")
def model():
    import polars as pl

    known = cw.Knowledge.from_dict(
        {
            "groups": {"Stage 1": ["P 101", "LIT301"]},
            "roles": {"P*": "actuator"},
            "units": {"LIT301": "mm"},
            "labels": {"LIT301": "raw-water level"},
            "required": ["P 101 -> LIT301 (1)"],
            "forbidden": ["d -> e"],
        }
    )
    return cw.learn(pl.DataFrame(table()), knowledge=known, now=NOW)


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "plant.cwm"
    model.save(path)
    return path


def assert_alike(one, other, where):
    """Equal to the last bit and of one kind, all the way down; NaN is like NaN."""
    assert type(one) is type(other), where
    if isinstance(one, LaggedMoments):
        assert_alike(one.to_arrays(), other.to_arrays(), where)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, where, strict=True)
    elif is_dataclass(one):
        for field in fields(one):
            mine, theirs = getattr(one, field.name), getattr(other, field.name)
            assert_alike(mine, theirs, f"{where}.{field.name}")
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_alike(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), where
        for k, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_alike(mine, theirs, f"{where}[{k}]")
    else:
        assert one == other or (one != one and other != other), where


def assert_same(one, other):
    for name in one.__dataclass_fields__:
        mine, theirs = getattr(one, name), getattr(other, name)
        if name in ("watching", "moments"):  # arrays: not to be compared by ==
            assert_alike(mine, theirs, name)
        else:
            assert mine == theirs, name
    assert type(other.preprocessing.signals) is tuple
    assert type(other.report) is tuple
    assert type(other.provenance.files) is tuple


def refused(path):
    """The sentence with which loading is refused."""
    with pytest.raises(ModelFileError) as error:
        cw.load(path)
    sentence = str(error.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert Path(path).name in sentence
    return sentence


def test_everything_comes_back(model, saved):
    back = cw.load(saved)
    assert_same(model, back)
    assert repr(back) == repr(model)
    assert back.signals == ("P 101", "LIT301", "größe", "d", "e")
    assert back.preprocessing.dropped == {"flat": "constant"}
    assert back.knowledge.label_of("LIT301") == "raw-water level"
    assert cw.Link("P 101", "LIT301", 1) in back.graph


def test_models_know_what_they_came_of(model, saved, tmp_path):
    """Files written before models did are read as ever."""
    forge(saved, lambda content, arrays: content["provenance"].pop("predecessors"))
    assert_same(model, cw.load(saved))
    updated = tmp_path / "updated.cwm"
    came = replace(model.provenance, predecessors=(model.fingerprint,))
    replace(model, provenance=came).save(updated)
    back = cw.load(updated)
    assert back.provenance.predecessors == (model.fingerprint,)
    assert back.succeeds(model.fingerprint)
    assert not back.succeeds("0" * 16)


def test_saving_again_gives_the_same_bytes(saved, tmp_path):
    again = tmp_path / "again.cwm"
    cw.load(saved).save(again)
    assert again.read_bytes() == saved.read_bytes()


@pytest.mark.parametrize("again", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy])
def test_a_model_is_pickled_and_copied_as_its_file(model, saved, again, tmp_path):
    assert_same(model, again(model))
    assert again(model.graph) == model.graph
    assert saved.read_bytes() in pickle.dumps(model)
    with pytest.raises(ModelFileError, match="'model' is not a causewatch model file"):
        unpack(saved.read_bytes()[:100])


def test_paper_models_and_files_come_back_too(tmp_path):
    path = tmp_path / "normal.csv"
    names = ",".join("abc")
    np.savetxt(path, stable(2, 3, 400), delimiter=",", header=names, comments="", fmt="%.6f")
    made = cw.learn(str(path), preset="paper", max_lag=1)
    made.save(tmp_path / "paper.cwm")
    back = cw.load(tmp_path / "paper.cwm")
    assert_same(made, back)
    assert back.preprocessing.step is not None
    assert back.provenance.files[0]["name"] == "normal.csv"


def test_settings_factor_and_how_a_second_recording_fared_come_back(tmp_path):
    numbers = cw.detectors.DetectorSettings(means=(1, 4), squares=(), lifts=False, margin=2.0)
    made = cw.learn(stable(1, 3, 800), calibrate=stable(2, 3, 600), detector=numbers)
    made = replace(made, watching=replace(made.watching, factor=1.25))
    assert made.watching.second is not None
    made.save(tmp_path / "tuned.cwm")
    back = cw.load(tmp_path / "tuned.cwm")
    assert_same(made, back)
    assert back.watching.limits.settings == numbers
    assert back.watching.limits.statistics.shape == (3, 3)


def test_the_range_of_a_signal_that_was_never_seen_comes_back(model, tmp_path):
    limits = model.watching.limits
    assert (limits.low < limits.high).all()
    low, high = limits.low.copy(), limits.high.copy()
    low[2] = high[2] = np.nan
    unseen = replace(limits, low=low, high=high)
    partly = replace(model, watching=replace(model.watching, limits=unseen))
    partly.save(tmp_path / "partly.cwm")
    back = cw.load(tmp_path / "partly.cwm")
    assert_same(partly, back)
    assert np.isnan(back.watching.limits.low[2])


def test_a_model_without_links_comes_back(model, tmp_path):
    bare = replace(
        model,
        watching=replace(model.watching, limits=replace(model.watching.limits, links=np.empty(0))),
        graph=CausalGraph(model.signals, {}),
        mechanisms={k: replace(m, coefficients={}) for k, m in model.mechanisms.items()},
    )
    bare.save(tmp_path / "bare.cwm")
    assert_same(bare, cw.load(tmp_path / "bare.cwm"))


def test_an_existing_file_is_replaced_and_a_failure_leaves_it(model, saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "writestr", full)
        with pytest.raises(OSError, match="No space left"):
            replace(model, interval=9.0).save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]
    replace(model, interval=9.0).save(saved)
    assert cw.load(saved).interval == 9.0


def test_a_damaged_byte_is_seen_or_does_no_harm(model, saved):
    data = saved.read_bytes()
    rng = np.random.default_rng(20)
    refusals = 0
    for place in rng.integers(0, len(data), 200).tolist():
        damaged = bytearray(data)
        damaged[place] ^= int(rng.integers(1, 256))
        saved.write_bytes(damaged)
        try:
            back = cw.load(saved)
        except ModelFileError:
            refused(saved)
            refusals += 1
        else:
            assert_same(model, back)  # a date or attribute of the zip, say
    assert refusals > 150  # the rest lies between members, where nothing is read


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_a_file_cut_short(saved, share):
    data = saved.read_bytes()
    saved.write_bytes(data[: int(share * len(data))])
    assert "cut short or damaged" in refused(saved)


def test_a_folder_or_nothing(tmp_path):
    assert "There is no file" in refused(tmp_path / "nothing.cwm")
    assert "folder" in refused(tmp_path)


class Trap:
    """Leaves a mark if it is ever unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def test_a_pickle_is_not_run(tmp_path):
    mark, path = tmp_path / "mark", tmp_path / "pickled.cwm"
    path.write_bytes(pickle.dumps(Trap(mark)))
    refused(path)
    assert not mark.exists()


def test_an_array_of_objects_is_not_run(model, saved, tmp_path):
    """Not even with a correct checksum."""
    mark = tmp_path / "mark"
    content, arrays = read_archive(saved, KIND, VERSION)
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap(mark)], dtype=object), allow_pickle=True)
    write_archive(saved, KIND, VERSION, content, arrays)
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["arrays/value.npy"] = buffer.getvalue()
    rewrite(saved, members)
    assert "damaged" in refused(saved)
    assert not mark.exists()


def rewrite(path, members):
    """Write a zip whose header fits its members."""
    import hashlib

    header = json.loads(members["header.json"])
    for name, data in members.items():
        if name != "header.json":
            header["members"][name] = {
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_a_foreign_zip(tmp_path):
    path = tmp_path / "foreign.cwm"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    assert "not a causewatch model file" in refused(path)


def test_a_moments_file_is_no_model(tmp_path):
    path = tmp_path / "moments.cwm"
    LaggedMoments(["a", "b"], max_lag=1).update(stable(1, 2, 50)).save(path)
    assert "a model was expected" in refused(path)


def test_a_newer_version_says_so(saved):
    content, arrays = read_archive(saved, KIND, VERSION)
    write_archive(saved, KIND, VERSION + 1, content, arrays)
    assert "install a newer causewatch" in refused(saved)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_model_of_a_former_detector_says_how_to_learn_again(saved, version):
    content, arrays = read_archive(saved, KIND, VERSION)
    write_archive(saved, KIND, version, content, arrays)
    sentence = refused(saved)
    assert f"format version {version}" in sentence
    assert "learn the model again" in sentence
    assert "'causewatch learn'" in sentence


def test_a_bomb_is_not_unfolded(saved):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["arrays/value.npy"] = bytes(50_000_000)
    rewrite(saved, members)
    assert saved.stat().st_size < 200_000
    assert "would unfold" in refused(saved)


def forge(path, change):
    """Change what a file says and write it with correct checksums."""
    content, arrays = read_archive(path, KIND, VERSION)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(content, arrays)
    write_archive(path, KIND, VERSION, content, arrays)


def put(where, *path_and_value):
    """A change of one place in the content."""
    *path, last, value = path_and_value

    def change(content, arrays):
        place = {"content": content, "arrays": arrays}[where]
        for step in path:
            place = place[step]
        place[last] = value

    return change


def links(*rows):
    def change(content, arrays):
        arrays["links"][: len(rows)] = rows

    return change


FORGERIES = {
    "NaN in an array": lambda c, a: a["coefficient"].__setitem__(0, np.nan),
    "infinity in an array": lambda c, a: a["spread"].__setitem__(0, np.inf),
    "wrong dtype": lambda c, a: a.__setitem__("value", a["value"].astype(np.float32)),
    "text for numbers": lambda c, a: a.__setitem__("value", a["value"].astype("U9")),
    "wrong shape": lambda c, a: a.__setitem__("centre", a["centre"][:-1]),
    "one dimension too many": lambda c, a: a.__setitem__("scale", a["scale"][:, None]),
    "links of two columns": lambda c, a: a.__setitem__("links", a["links"][:, :2].copy()),
    "links without dimension": lambda c, a: a.__setitem__("links", np.int32(3)),
    "no links array": lambda c, a: a.pop("links"),
    "no positions": lambda c, a: a.pop("positions"),
    "source out of range": links([5, 0, 1]),
    "source below range": links([-1, 0, 1]),
    "target out of range": links([0, 99, 1]),
    "lag out of range": links([0, 0, 99]),
    "negative lag": links([0, 0, -1]),
    "the same link twice": links([0, 0, 1], [0, 0, 1]),
    "the same signal twice": put("content", "preprocessing", "signals", 1, "P 101"),
    "a nameless signal": put("content", "preprocessing", "signals", 1, ""),
    "a number for a name": put("content", "preprocessing", "signals", 1, 7),
    "fewer signals": lambda c, a: c["preprocessing"]["signals"].pop(),
    "no signals": put("content", "preprocessing", "signals", []),
    "signals as text": put("content", "preprocessing", "signals", "abcde"),
    "text for a lag": put("content", "preprocessing", "max_lag", "3"),
    "a fraction for a lag": put("content", "preprocessing", "max_lag", 2.5),
    "no lag": put("content", "preprocessing", "max_lag", 0),
    "a huge lag": put("content", "preprocessing", "max_lag", 10**9),
    "no time at all": put("content", "preprocessing", "every", 0.0),
    "a step of nothing": put("content", "preprocessing", "step", 0),
    "truth for a number": put("content", "interval", True),
    "an unknown preset": put("content", "preset", "mine"),
    "an unknown clock": put("content", "clock", "sun"),
    "an unknown severity": put("content", "report", 0, "severity", "fatal"),
    "a span of one": put("content", "report", 0, "span", ["2026"]),
    "a report as text": put("content", "report", "all is well"),
    "knowledge as a list": put("content", "knowledge", []),
    "knowledge of nonsense": put("content", "knowledge", {"groups": 5}),
    "unknown knowledge": put("content", "knowledge", {"grups": {}}),
    "no provenance": lambda c, a: c.pop("provenance"),
    "something extra": put("content", "command", "rm -rf /"),
    "files as numbers": put("content", "provenance", "files", [1]),
    "files without a name": put("content", "provenance", "files", [{"sha256": "", "rows": 1}]),
    "no settings": put("content", "provenance", "settings", {}),
    "settings of nonsense": put("content", "provenance", "settings", "alpha", "small"),
    "settings with depth": put("content", "provenance", "settings", "seed", [[1]]),
    "no watching": lambda c, a: c.pop("watching"),
    "no limits of statistics": lambda c, a: a.pop("limit_statistics"),
    "a limit of zero": lambda c, a: a["limit_statistics"].__setitem__((0, 0), 0.0),
    "a limit that is no number": lambda c, a: a["limit_links"].__setitem__(0, np.nan),
    "no ranges": lambda c, a: a.pop("limit_low"),
    "a range without end": lambda c, a: a["limit_high"].__setitem__(0, np.inf),
    "a range without beginning": lambda c, a: a["limit_low"].__setitem__(0, -np.inf),
    "fewer ranges than signals": lambda c, a: a.__setitem__("limit_low", a["limit_low"][1:]),
    "ranges of text": lambda c, a: a.__setitem__("limit_high", a["limit_high"].astype("U9")),
    "fewer statistics than limits": put("content", "watching", "limits", "settings", "means", [1]),
    "a memory of nothing": put("content", "watching", "limits", "settings", "means", [0, 8]),
    "a memory of half a tick": put("content", "watching", "limits", "settings", "means", [1.5, 8]),
    "a margin below none": put("content", "watching", "limits", "settings", "margin", -1.0),
    "a margin as text": put("content", "watching", "limits", "settings", "margin", "wide"),
    "a window without end": put("content", "watching", "limits", "settings", "link_window", 10**9),
    "an unknown setting": put("content", "watching", "limits", "settings", "speed", 1.0),
    "a setting of old": put("content", "watching", "limits", "settings", "square_clip", 80.0),
    "a cut below the limit": put("content", "watching", "limits", "settings", "memory_cut", 0.5),
    "settings as a list": put("content", "watching", "limits", "settings", []),
    "fewer columns": lambda c, a: c["preprocessing"]["columns"].pop(),
    "no columns": lambda c, a: c["preprocessing"].pop("columns"),
    "a column twice": lambda c, a: c["preprocessing"]["columns"].append("flat"),
    "a guard that is no column": put("content", "watching", "guarded", ["flatter"]),
    "fewer than no moving signals": put("content", "watching", "limits", "moving", -1.0),
    "a factor of zero": put("content", "watching", "factor", 0.0),
    "a factor beyond reach": put("content", "watching", "factor", 1e9),
    "an interval of ages": put("content", "interval", 1e12),
    "ticks of ages": put("content", "preprocessing", "every", 1e300),
    "ticks of nothing": put("content", "preprocessing", "every", 1e-300),
    "a gap of ages": put("content", "watching", "gap", 1e300),
    "a step of ages": put("content", "preprocessing", "step", 10**30),
    "values held for ages": put("content", "preprocessing", "hold", 10**9),
    "a share of many": lambda c, a: a["habit_missing"].__setitem__(0, 7.0),
    "a run of less than nothing": lambda c, a: a["habit_longest_still"].__setitem__(0, -1),
    "a value beyond measure": lambda c, a: a["centre"].__setitem__(0, 1e200),
    "a range upside down": lambda c, a: a["limit_low"].__setitem__(0, 1e9),
    "a guard upside down": lambda c, a: a["guard_low"].__setitem__(0, 1e9),
    "a name that clears the screen": put("content", "preprocessing", "signals", 1, "P\x1b[2J"),
    "a name on two lines": put("content", "preprocessing", "signals", 1, "P\n101"),
    "a name turned around": put("content", "preprocessing", "signals", 1, "P\u202e101"),
    "a text turned around": put("content", "preprocessing", "reason", "x\u2066y"),
    "a text that clears the screen": put("content", "provenance", "created", "\x9b2J"),
    "a label turned around": put("content", "knowledge", "labels", {"LIT301": "\u202elevel"}),
    "a fingerprint that is none": put("content", "provenance", "predecessors", ["plant"]),
    "rows below none": put("content", "provenance", "rows", -1),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_what_makes_no_sense_is_refused_even_with_correct_checksums(change, saved):
    forge(saved, change)
    sentence = refused(saved)
    assert "not a usable model" in sentence or "damaged" in sentence
    assert sentence.isprintable()


def test_limits_that_nothing_reaches_are_told_of(saved, caplog):
    cw.load(saved)
    assert caplog.text == ""

    def deafen(content, arrays):
        arrays["limit_statistics"][:, 1] = np.inf
        arrays["limit_statistics"][:, 2] = 1e30
        arrays["guard_low"][0], arrays["guard_high"][0] = -1e99, 1e99

    forge(saved, deafen)
    assert cw.load(saved).signals
    assert (
        "no limit that can be reached for 3 of its 6 signals: LIT301, größe, flat." in caplog.text
    )


@pytest.mark.parametrize("text", ["[]", "null", "3", '"x"', "{", "", '{"preset": NaN}', "[" * 9999])
def test_content_that_is_no_object(saved, text):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["content.json"] = text.encode()
    rewrite(saved, members)
    refused(saved)


@pytest.mark.parametrize("header", ["[]", "null", "{", '{"kind": "model"}', '{"kind": []}'])
def test_headers_that_make_no_sense(saved, header):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["header.json"] = header.encode()
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    refused(saved)


def test_how_the_recording_was_written_is_kept_and_older_files_know_nothing_of_it(tmp_path):
    path, old = tmp_path / "normal.csv", tmp_path / "old.cwm"
    rows = stable(1, 3, 400)
    path.write_text(
        "When;a;b;c\n"
        + "".join(
            f"5/8/2009 10:{k // 60:02}:{k % 60:02};" + ";".join(f"{x:.4f}" for x in row) + "\n"
            for k, row in enumerate(rows)
        ).replace(".", ",")
    )
    model = cw.learn(path, time_format="%m/%d/%Y %H:%M:%S", time="When", now=NOW)
    written = cw.data.Writing("When", "%m/%d/%Y %H:%M:%S", ";", ",")
    assert model.provenance.writing == written
    model.save(tmp_path / "new.cwm")
    assert cw.load(tmp_path / "new.cwm").provenance.writing == written
    content, arrays = read_archive(tmp_path / "new.cwm", KIND, VERSION)
    del content["provenance"]["writing"]
    write_archive(old, KIND, VERSION, content, arrays)
    assert cw.load(old).provenance.writing is None
    assert cw.load(old).provenance.first == "2009-05-08T10:00:00"


def test_the_order_of_columns_is_kept(tmp_path):
    learnt = cw.learn(np.insert(stable(1, 3, 400), 1, 5.0, axis=1), now=NOW)
    assert learnt.columns == ("x0", "x1", "x2", "x3")
    assert learnt.watched == ("x0", "x2", "x3", "x1")
    learnt.save(tmp_path / "plant.cwm")
    back = cw.load(tmp_path / "plant.cwm")
    assert (back.columns, back.watched) == (learnt.columns, learnt.watched)
