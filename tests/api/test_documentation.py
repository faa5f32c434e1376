"""What is documented is there, and what is there is documented."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
import typer.main

import causewatch
from causewatch.cli.app import build
from causewatch.explain.changes import ChangeKind
from causewatch.explain.sentence import HEALTH

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = Path(causewatch.__file__).parent

MODULES = [
    module.name
    for module in pkgutil.walk_packages(causewatch.__path__, "causewatch.")
    if not module.name.endswith("__main__")
]
WITH_EXAMPLES = [
    name
    for name in ["causewatch", *MODULES]
    if ">>> " in Path(importlib.import_module(name).__file__).read_text(encoding="utf-8")
]


def test_there_are_examples():
    assert len(WITH_EXAMPLES) >= 5


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_do_what_they_say(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_page_about_python_does_what_it_says():
    shown = doctest.testfile(str(DOCS / "python.md"), module_relative=False)
    assert shown.attempted > 10
    assert shown.failed == 0


def commands():
    """Every command by its path, groups included."""
    top = typer.main.get_command(build())
    found, waiting = {}, [((), top)]
    while waiting:
        path, command = waiting.pop()
        found[path] = command
        for name, sub in getattr(command, "commands", {}).items():
            waiting.append(((*path, name), sub))
    return found


COMMANDS = commands()


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(("causewatch", *path)))
def test_every_option_is_explained_in_the_help(path, capsys):
    from causewatch.cli import main

    command = COMMANDS[path]
    assert main([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    assert command.help
    for parameter in command.params:
        names = [*parameter.opts, *parameter.secondary_opts]
        if parameter.param_type_name == "argument":
            assert parameter.metavar in shown
        else:
            assert any(name in shown for name in names), names
        help_text = getattr(parameter, "help", None)
        assert help_text, f"{' '.join(path)} {names} has no help"
        start = " ".join(help_text.split()[:3])
        assert start in " ".join(shown.split()), names


def documented(name):
    path = DOCS / name
    if not path.is_file():
        pytest.skip(f"docs/{name} is not written yet")
    return path.read_text(encoding="utf-8")


def kinds_in_source():
    """Every word given as the kind of a finding."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.parent.name in ("preprocess", "model"):
            found |= set(re.findall(r'Finding\(\s*kind="([a-z_]+)"', text))
    return found


def test_every_kind_of_finding_is_documented():
    text = documented("report.md")
    kinds = kinds_in_source()
    assert len(kinds) > 10
    assert {kind for kind in kinds if f"`{kind}`" not in text} == set()


def test_every_option_is_in_the_command_reference():
    text = documented("cli.md")
    for path, command in COMMANDS.items():
        if not path:
            continue  # the program itself: --version and --help
        assert " ".join(("causewatch", *path)) in text
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert any(name in text for name in parameter.opts), (path, parameter.opts)


def extras_in(text):
    """Extras that a text names, and those whose library some code asks for."""
    installed = re.findall(r"(?:causewatch|'\.|/src)\[([a-z, ]+)\]", text)
    asked = re.findall(r"""needed\(\s*"[\w.]+",\s*(?:extra=)?"(\w+)",?\s*\)""", text)
    constants = re.findall(r'^EXTRA = "(\w+)"', text, re.MULTILINE)
    return {name.strip() for group in (*installed, *asked, *constants) for name in group.split(",")}


def test_every_extra_that_is_named_can_be_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = {
        path: path.read_text(encoding="utf-8")
        for pattern in ("*.md", "Makefile", "pyproject.toml", "docs/**/*.md", "deploy/*",
                        "src/**/*.py", "benchmarks/**/*.py")
        for path in ROOT.glob(pattern)
    }  # fmt: skip
    named = {path: found for path, text in texts.items() if (found := extras_in(text))}
    assert len(named) > 40
    assert set().union(*named.values()) <= set(project["optional-dependencies"])
    # A name that works outside a clone, too: '.[mqtt]' does not.
    in_clone = {path.name for path in named if re.search(r"install '\.\[", texts[path])}
    assert in_clone == set()


def made_by(file):
    """A script of the documentation, to ask for its pages."""
    spec = importlib.util.spec_from_file_location(Path(file).stem, DOCS / file)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_page_about_the_interface_is_what_the_dashboard_says(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    made = made_by("generate.py")
    assert (DOCS / "api.md").read_text(encoding="utf-8") == made.api_page(), "run make docs"


def test_every_sentence_of_an_alarm_is_in_the_catalogue():
    made = made_by("sentence_page.py")
    page = (DOCS / "sentences.md").read_text(encoding="utf-8")
    assert page == made.sentences_page(), "run make docs"
    assert {entry.kind for entry in made.ENTRIES} == set(get_args(ChangeKind))
    assert set(made.HEALTH) == set(HEALTH)
