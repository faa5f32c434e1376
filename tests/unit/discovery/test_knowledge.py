"""Plant knowledge: reading it, expanding it, and refusing what contradicts itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from causewatch.discovery.knowledge import Knowledge, load_knowledge
from causewatch.errors import KnowledgeError, SettingError
from causewatch.graph import Link

SIGNALS = ["FIT101", "LIT101", "P101", "P102", "LIT301", "FIT601"]

PLANT = """\
groups:
  Stage 1: [FIT101, LIT101, "P10*"]
  Stage 3: LIT301
  Stage 6:
    - FIT601
roles:
  "P*": actuator
  "[FL]IT*": sensor
units: {LIT101: mm, "FIT*": "m³/h"}
labels:
  LIT101: raw-water tank level
required:
  - {source: P101, target: LIT101, lag: 1}
  - FIT101 -> LIT101
  - LIT101 -> LIT301 (2)
forbidden:
  - FIT601 -> LIT101
  - {source: group:Stage 6, target: "group:Stage 1"}
  - LIT301 →(1) P101
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="plant.yaml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def refusal(path, *needed, signals=SIGNALS, max_lag=3):
    """The message with which a file is refused, at reading or at resolving it."""
    with pytest.raises(KnowledgeError) as caught:
        load_knowledge(path).resolve(signals, max_lag)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    for text in needed:
        assert text in message, message
    return message


def test_a_file_says_what_it_says(write):
    plant = load_knowledge(write(PLANT))
    assert plant.stages == ("Stage 1", "Stage 3", "Stage 6")
    assert plant.group_of("P102") == "Stage 1"
    assert plant.group_of("AIT201") is None
    assert plant.role_of("P101") == "actuator"
    assert plant.role_of("LIT301") == "sensor"
    assert plant.unit_of("FIT601") == "m³/h"
    assert plant.label_of("LIT101") == "raw-water tank level"
    assert plant.groups_for(["FIT601", "P101", "AIT201", "FIT101"]) == {
        "Stage 1": ["P101", "FIT101"],
        "Stage 6": ["FIT601"],
    }
    assert [(r.source, r.target, r.lag) for r in plant.required] == [
        ("P101", "LIT101", 1),
        ("FIT101", "LIT101", None),
        ("LIT101", "LIT301", 2),
    ]
    assert plant.forbidden[2].lag == 1


def test_the_example_of_the_manual_works(write):
    manual = Path(__file__).parents[3] / "docs" / "knowledge.md"
    example = re.search(r"```yaml\n(.*?)```", manual.read_text("utf-8"), re.DOTALL)
    plant = load_knowledge(write(example[1]))
    constraints = plant.resolve(["FIT101", "LIT101", "P101", "FIT201"], max_lag=2)
    assert constraints.required_links()[-1] == Link("P101", "LIT101", 1)
    assert not constraints.allows(Link("FIT201", "P101", 2))
    assert constraints.allows(Link("LIT101", "P101", 2))


def test_rules_become_arrays(write):
    constraints = load_knowledge(write(PLANT)).resolve(SIGNALS, max_lag=3)
    assert constraints.allowed.shape == constraints.required.shape == (6, 6, 4)
    assert constraints.required_links() == [
        Link("FIT101", "LIT101", 1),
        Link("FIT101", "LIT101", 2),
        Link("FIT101", "LIT101", 3),
        Link("LIT101", "LIT301", 2),
        Link("P101", "LIT101", 1),
    ]
    assert constraints.requires(Link("P101", "LIT101", 1))
    assert not constraints.requires(Link("P101", "LIT101", 2))
    for name in SIGNALS[:4]:
        assert not any(constraints.allows(Link("FIT601", name, lag)) for lag in range(4))
    assert not constraints.allows(Link("LIT301", "P101", 1))
    assert constraints.allows(Link("LIT301", "P101", 2))
    assert not constraints.allows(Link("LIT301", "P102", 0))  # below the shortest lag
    assert not constraints.allows(Link("LIT301", "P102", 4))  # beyond the longest
    assert not constraints.allows(Link("LIT301", "nobody", 1))
    assert constraints.allowed[:, :, 1:].sum() == 6 * 6 * 3 - 4 * 3 - 1
    with pytest.raises(ValueError, match="read-only"):
        constraints.allowed[0, 0, 0] = True


def test_links_within_one_tick_need_min_lag_0():
    plant = Knowledge.from_dict({"required": ["A -> B (0)", "B -> C"], "forbidden": ["C -> A"]})
    constraints = plant.resolve("ABC", max_lag=2, min_lag=0)
    assert constraints.required_links() == [Link("A", "B", 0), Link("B", "C", 1), Link("B", "C", 2)]
    assert constraints.allows(Link("B", "A", 0))
    assert not constraints.allows(Link("C", "A", 0))
    assert not constraints.allowed[[0, 1, 2], [0, 1, 2], 0].any()
    with pytest.raises(KnowledgeError, match=r"lag 0, but lags from 1 to 2"):
        plant.resolve("ABC", max_lag=2)


def test_patterns_never_mean_a_signals_own_past():
    everything = Knowledge.from_dict({"forbidden": ["* -> *"]}).resolve("AB", max_lag=1)
    assert everything.allowed[:, :, 1].tolist() == [[True, False], [False, True]]
    own = Knowledge.from_dict({"forbidden": ["A -> A"]}).resolve("AB", max_lag=1)
    assert own.allowed[:, :, 1].tolist() == [[False, True], [True, True]]


def test_roles_stand_for_their_signals():
    plant = Knowledge.from_dict(
        {"roles": {"P*": "actuator", "L*": "sensor"}, "forbidden": ["role:sensor -> role:actuator"]}
    )
    allowed = plant.resolve(["L1", "P1", "P2"], max_lag=1).allowed[:, :, 1]
    assert allowed.tolist() == [[True, False, False], [True, True, True], [True, True, True]]


def test_an_empty_knowledge_allows_everything(write):
    for plant in (Knowledge(), load_knowledge(write("")), load_knowledge(write("groups:\n"))):
        constraints = plant.resolve("AB", max_lag=2)
        assert plant == Knowledge()
        assert constraints.allowed[:, :, 1:].all()
        assert not constraints.required.any()


def test_signals_not_under_study_are_passed_over(write):
    plant = load_knowledge(write(PLANT))
    signals = ["LIT301", "LIT101"]
    with pytest.raises(KnowledgeError, match="no signal is called 'FIT101'"):
        plant.resolve(signals, max_lag=2)
    constraints = plant.resolve(signals, max_lag=2, known=SIGNALS)
    assert constraints.signals == ("LIT301", "LIT101")
    assert constraints.required_links() == [Link("LIT101", "LIT301", 2)]


def test_it_survives_being_saved(write):
    plant = load_knowledge(write(PLANT))
    saved = json.loads(json.dumps(plant.to_dict()))
    assert Knowledge.from_dict(saved) == plant
    assert Knowledge.from_dict(saved).to_dict() == saved
    assert hash(Knowledge.from_dict(saved)) == hash(plant)
    assert load_knowledge(write(json.dumps(saved, indent="\t"), "plant.json")) == plant
    assert load_knowledge(write(json.dumps(saved, separators=(",", ":")), "plant.json")) == plant
    assert plant != Knowledge()


def test_names_are_taken_as_written(write):
    plant = load_knowledge(write("groups: {on: [no, 007, 1e3, 2015-12-28]}\n"))
    assert [fact.pattern for fact in plant.groups] == ["no", "007", "1e3", "2015-12-28"]
    assert plant.group_of("no") == "on"
    smile = load_knowledge(write(json.dumps({"labels": {"A": "😀 ok"}}), "a.json"))
    assert smile.label_of("A") == "😀 ok"
    tank = Knowledge.from_dict({"units": {"T [C]": "°C"}, "groups": {"all": "T [C]"}})
    assert tank.unit_of("T [C]") == "°C"
    tank.resolve(["T [C]"], max_lag=1)


def both_lines(message):
    return [int(number) for number in re.findall(r"[Ll]ine (\d+) of", message)]


@pytest.mark.parametrize(
    ("text", "lines", "needed"),
    [
        (
            "required:\n- P101 -> LIT101\nforbidden:\n- P1* -> LIT101\n",
            [2, 4],
            ["P101 →(1) LIT101"],
        ),
        ("forbidden: [P101 -> LIT101 (2)]\nrequired:\n- P101 -> LIT101 (2)\n", [3, 1], ["forbids"]),
        ("groups:\n  A: [P101]\n  B: ['P10*']\n", [3, 2], ["'P101'", "'A'", "'B'"]),
        ("groups:\n  A: [Q1]\n  B: [Q1]\n", [3, 2], ["'Q1'"]),
        ("roles:\n  P*: actuator\n  P101: sensor\n", [3, 2], ["role 'sensor'"]),
        ("units:\n  '*101': mm\n  L*: m\n", [3, 2], ["'LIT101'"]),
        ("units:\n  LIT101: mm\nlabels: {}\nunits: {}\n", [4, 1], ["repeats the key 'units'"]),
        ("roles:\n  P101: sensor\n  P101: sensor\n", [3, 2], ["repeats the key 'P101'"]),
    ],
)
def test_contradictions_name_both_lines(write, text, lines, needed):
    message = refusal(write(text), *needed)
    assert both_lines(message) == lines
    for line in lines:
        assert f"({text.splitlines()[line - 1].strip()})" in message


def test_saying_the_same_twice_is_no_contradiction(write):
    text = "groups: {A: [P101, 'P*', P101]}\nroles: {P101: actuator, P*: actuator}\n"
    load_knowledge(write(text)).resolve(SIGNALS, max_lag=1)
    # "At any lag" leaves room for a lag that is forbidden.
    free = Knowledge.from_dict({"required": ["A -> B"], "forbidden": ["A -> B (1)"]})
    assert free.resolve("AB", max_lag=2).required_links() == [Link("A", "B", 2)]


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("grups: {}\n", ["Line 1", "'grups'", "Did you mean 'groups'", "forbidden"]),
        ("- a\n", ["a list", "mapping of sections"]),
        ("just text\n", ["the text 'just text'"]),
        ("groups: [A]\n", ["a list", "group names"]),
        ("groups:\n  A: {b: c}\n", ["Line 2", "a mapping", "list of signals"]),
        ("groups:\n  A: [[b]]\n", ["Line 2", "a list"]),
        ("groups:\n  A: [b, ]\n  ? [x]\n  : y\n", ["Line 3", "as a key"]),
        ("roles: {P101: pump}\n", ["Line 1", "'pump'", "sensor or actuator"]),
        ("units:\n  P101:\n", ["Line 2", "nothing"]),
        ('labels:\n  P101: "\\e[2J"\n', ["Line 2", "control characters"]),
        ("labels: {P101: \u202epump}\n", ["Line 1", "turn the direction"]),
        ('groups: {"A\\e": [P101]}\n', ["Line 1", "control characters"]),
        ("required:\n- P101 LIT101\n", ["Line 2", "not a link"]),
        ("required:\n- P101 -> LIT101 -> P102\n", ["Line 2", "not a link"]),
        ("required:\n- -> LIT101\n", ["Line 2", "not a link"]),
        ("required:\n- {source: P101}\n", ["Line 2", "without target"]),
        ("required:\n- {source: P101, target: P102, lags: 1}\n", ["Line 2", "'lags'", "'lag'"]),
        ("required:\n- {source: P101, target: P102, lag: -1}\n", ["Line 2", "'-1'"]),
        ("required:\n- {source: P101, target: P102, lag: 1.5}\n", ["Line 2", "'1.5'"]),
        (
            "required:\n- {source: P101, target: P102, lag: " + "9" * 5000 + "}\n",
            ["Line 2", "'999"],
        ),
        ("required:\n- P101 -> P102 (9)\n", ["Line 2", "lag 9", "lags from 1 to 3"]),
        ("required:\n- P101 -> P101 (0)\n", ["Line 2", "lag 0"]),
        ("required:\n- P101 -> LIT102\n", ["Line 2", "'LIT102'", "Did you mean 'LIT101'"]),
        ("groups:\n  A:\n  - X9*\n", ["Line 3", "'X9*'", "Available: FIT101"]),
        ("forbidden:\n- role:sensor -> P101\n", ["Line 2", "role 'sensor'", "available: none"]),
        ("groups: {A: P101}\nforbidden: ['group:B -> P101']\n", ["Line 2", "'B'", "available: A"]),
        ("units: {P101: %}\n", ["plant.yaml", "not valid YAML", "line 1"]),
        ("a: [\n", ["not valid YAML"]),
        ("units: {P101: \x01}\n", ["not valid YAML"]),
        ("units: {}\n---\nunits: {}\n", ["Line 2", "second document"]),
        ("units: !!python/object/apply:os.system [ls]\n", ["Line 1", "tag"]),
        ("units: !custom {P101: a}\n", ["Line 1", "tag"]),
        ("groups:\n  A: [*101]\n", ["Line 2", "alias", "quotes"]),
        ("a: &a [x]\nb: [*a, *a]\n", ["Line 2", "alias"]),
        ("[" * 100_000, ["nested more than 10 deep"]),
        ("{a: " * 1000, ["nested more than 10 deep"]),
        (b"units: {P101: \xff}\n", ["not UTF-8"]),
        (b"#" * 1_000_001, ["larger than 1 MB"]),
    ],
)
def test_bad_files_are_refused_in_a_sentence(write, text, needed):
    refusal(write(text), *needed)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(KnowledgeError, match="No such file"):
        load_knowledge(tmp_path / "none.yaml")
    with pytest.raises(KnowledgeError, match="cannot be read"):
        load_knowledge(tmp_path)


def test_plain_data_is_checked_too():
    with pytest.raises(KnowledgeError, match="required, entry 2 is not a link"):
        Knowledge.from_dict({"required": ["A -> B", "AB"]})
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(KnowledgeError, match="nested more than 10 deep"):
        Knowledge.from_dict({"groups": deep})
    with pytest.raises(KnowledgeError, match="'True'"):
        Knowledge.from_dict({"required": [{"source": "A", "target": "B", "lag": True}]})


def test_lags_must_make_sense():
    with pytest.raises(SettingError, match="min_lag <= max_lag"):
        Knowledge().resolve("AB", max_lag=0)


def test_hundreds_of_signals_and_rules_are_quick_enough():
    signals = [f"S{k:03d}" for k in range(250)]
    plant = Knowledge.from_dict(
        {
            "groups": {f"G{g}": [f"S{g}*"] for g in range(3)},
            "forbidden": ["group:G2 -> group:G0", *[f"{a} -> S000" for a in signals[100:]]],
        }
    )
    allowed = plant.resolve(signals, max_lag=5).allowed
    assert not allowed[200:, :100].any()
    assert np.count_nonzero(allowed) == 5 * (250 * 250 - 50 * 100 - 100)


def test_required_pairs_reach_signals_that_nobody_records():
    plant = Knowledge.from_dict(
        {
            "groups": {"Pumps": ["P10*"]},
            "required": [
                "group:Pumps -> LIT101",
                "P101 -> LIT101 (2)",
                "Pressure -> P101",
                "LIT101 -> LIT101 (1)",
                "X* -> LIT101",
            ],
        }
    )
    pairs = plant.required_pairs(["LIT101", "P101", "P102"])
    assert pairs == [("P101", "LIT101"), ("P102", "LIT101"), ("Pressure", "P101")]
    assert Knowledge().required_pairs(["LIT101"]) == []
