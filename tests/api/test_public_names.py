"""What others may rely on: public names, documented, and cheap to import."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import causewatch
from causewatch import errors

PACKAGES = [
    "causewatch",
    *(
        f"causewatch.{module.name}"
        for module in pkgutil.iter_modules(causewatch.__path__)
        if not module.name.startswith("_")
    ),
]

ALL_MODULES = [
    module.name
    for module in pkgutil.walk_packages(causewatch.__path__, "causewatch.")
    if not module.name.endswith("__main__")
]

MISSING = object()


def test_the_public_names_are_these():
    """A name that goes or comes changes what others build on: it belongs in the change notes."""
    assert causewatch.__all__ == [
        "Alarm",
        "AlarmSettings",
        "CausalGraph",
        "CausewatchError",
        "Explanation",
        "Finding",
        "Knowledge",
        "LaggedMoments",
        "Link",
        "Mechanism",
        "Monitor",
        "NormalModel",
        "Sample",
        "Strength",
        "Tick",
        "TimeTable",
        "Watched",
        "describe",
        "draw",
        "explain",
        "learn",
        "load",
        "load_knowledge",
        "open_table",
        "pcmci",
        "read_table",
        "replay",
        "score",
        "watch",
        "write_report",
    ]


def test_the_front_door_and_the_rooms_lead_to_the_same_things():
    assert dir(causewatch) == sorted(causewatch.__all__)
    assert causewatch.learn is importlib.import_module("causewatch.model").learn
    assert causewatch.pcmci is importlib.import_module("causewatch.discovery").pcmci
    with pytest.raises(AttributeError, match="no attribute 'lern'"):
        _ = causewatch.lern


def test_the_names_type_checkers_see_are_the_names_there_are():
    """The block under TYPE_CHECKING and the table of homes must not drift apart."""
    tree = ast.parse(Path(causewatch.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(seen) == sorted(causewatch.__all__)
    for name, module in seen.items():
        if name != "explain":  # both a package and a function; see causewatch/explain/__init__.py
            assert getattr(importlib.import_module(module), name) is getattr(causewatch, name)
    assert callable(causewatch.explain)
    assert callable(importlib.import_module("causewatch.explain").explain)


def test_every_listed_name_exists_once_and_is_described():
    offenders = []
    for name in ALL_MODULES:
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", [])
        offenders += [name] if not inspect.getdoc(module) else []
        offenders += [f"{name}.__all__"] if len(listed) != len(set(listed)) else []
        for entry in listed:
            thing = getattr(module, entry, MISSING)
            described = bool(inspect.getdoc(thing)) or not (
                inspect.isclass(thing) or inspect.isroutine(thing)
            )
            offenders += [f"{name}.{entry}"] if thing is MISSING or not described else []
    assert not offenders


@pytest.mark.parametrize("name", [name for name in PACKAGES if name != "causewatch.kernels"])
def test_every_public_package_lists_its_names(name):
    assert importlib.import_module(name).__all__


def test_public_methods_are_described():
    classes = {
        thing
        for module in map(importlib.import_module, ALL_MODULES)
        for thing in (getattr(module, name, None) for name in getattr(module, "__all__", []))
        if inspect.isclass(thing) and thing.__module__.startswith("causewatch")
    }
    assert len(classes) > 100
    offenders = [
        f"{thing.__module__}.{thing.__name__}.{method}"
        for thing in sorted(classes, key=str)
        for method, value in vars(thing).items()
        if not method.startswith("_")
        and callable(getattr(value, "__func__", value))
        and not inspect.getdoc(getattr(thing, method))
    ]
    assert not offenders


def test_every_error_is_described_listed_and_in_the_tree():
    classes = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }
    assert set(classes) == set(errors.__all__)
    for name, value in classes.items():
        assert value.__doc__, name
        assert name in (errors.__doc__ or ""), f"{name} is not drawn at the top of the file"
        assert issubclass(value, errors.CausewatchError)


def loaded_by(statement):
    """Which modules a fresh interpreter has loaded after a statement, and how long it took."""
    code = (
        "import sys, time; t = time.process_time()\n"
        f"{statement}\n"
        "print(time.process_time() - t, *sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    took, *names = done.stdout.splitlines()[-1].split()
    return float(took), set(names)


HEAVY = {
    "matplotlib", "networkx", "polars", "rich", "jinja2", "pandas", "tigramite", "scipy",
    "pydantic", "pyarrow", "fastexcel", "sklearn", "torch",
}  # fmt: skip


def test_a_bare_import_is_light():
    took, names = loaded_by("import causewatch")
    assert "causewatch" in names
    assert not HEAVY & names
    assert "numpy" not in names
    assert took < 0.5  # of processor time, so that a busy machine is no failure


def test_asking_for_help_is_light():
    _, names = loaded_by(
        "from causewatch.cli import main\nimport contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()): assert main(['learn', '--help']) == 0"
    )
    assert not (HEAVY - {"pydantic"}) & names  # typer brings pydantic


def test_learning_and_saving_need_no_drawing_and_no_other_dataframes(tmp_path):
    path = str(tmp_path / "x.cwm")
    _, names = loaded_by(
        "import numpy as np, causewatch as cw\n"
        f"cw.learn(np.random.default_rng(1).normal(size=(200, 2))).save({path!r})\n"
        f"cw.load({path!r})"
    )
    assert not {"matplotlib", "jinja2", "pandas", "tigramite", "rich", "typer"} & names


def test_the_product_never_imports_tigramite():
    for path in Path(causewatch.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from)\s+tigramite", text, re.MULTILINE), path
