"""CSV and YAML with the line of everything, so that messages can say where something stands.

The lines are told as for TOML (`causewatch.streaming.toml_lines`): by path.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from causewatch.errors import SettingError, UnknownNameError, shorten
from causewatch.streaming.toml_lines import KeyPath, read_text

__all__ = ["read_csv", "read_yaml", "show"]

SEPARATORS = ",;\t|"
DEEPEST = 4


def show(value: Any) -> str:
    """A value for a sentence."""
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "a table"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{shorten(value)}"' if isinstance(value, str) else shorten(str(value))


def read_csv(
    file: Path, what: str, columns: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[KeyPath, int]]:
    """Rows of a table with a header; blank lines and those that begin with # are skipped."""
    text = read_text(file, what)
    if "\0" in text:
        msg = f"{file.name} is no text; a {what} is CSV, TOML, YAML or JSON."
        raise SettingError(msg)
    first = next((line for line in text.splitlines() if _counts(line)), "")
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator, strict=True)
    header: list[str] | None = None
    rows: list[dict[str, Any]] = []
    lines: dict[KeyPath, int] = {}
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells) or cells[0].lstrip().startswith("#"):
                continue
            if header is None:
                header = [cell.strip().lower().replace(" ", "_") for cell in cells]
                _check_header(header, columns, f"{file.name}, line {reader.line_num}")
                continue
            if any(cell.strip() for cell in cells[len(header) :]):
                msg = (
                    f"{file.name}, line {reader.line_num}: there are {len(cells)} cells, but the"
                    f" header names {len(header)} columns."
                )
                raise SettingError(msg)
            lines[(len(rows),)] = reader.line_num
            rows.append({key: cell.strip() for key, cell in zip(header, cells, strict=False)})
    except csv.Error as error:
        msg = f"{file.name}, line {reader.line_num}: {error}; this is no valid CSV."
        raise SettingError(msg) from None
    return rows, lines


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _check_header(header: Sequence[str], columns: Sequence[str], place: str) -> None:
    for name in header:
        if name not in columns:
            error = UnknownNameError(name, "column of such a file", columns)
            msg = f"{place}: {error}"
            raise SettingError(msg)
        if header.count(name) > 1:
            msg = f"{place}: the column {name!r} is there twice."
            raise SettingError(msg)


def read_yaml(file: Path, what: str) -> tuple[Any, dict[KeyPath, int]]:
    """Texts, lists and tables of a YAML file; JSON is read the same way, being a subset of it.

    Nothing is built from YAML's tags, and names such as ``on`` and ``007`` stay what they are.
    """
    text = read_text(file, what)
    if file.suffix.lower() == ".json":
        text = text.replace("\t", " ")  # YAML does not indent by tabs; JSON texts hold none
    lines: dict[KeyPath, int] = {}
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return _plain(node, (), lines, file.name, set()), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        msg = f"{file.name}{line}: {error.problem or error.context}; this is no valid YAML."
    except yaml.YAMLError as error:
        msg = f"{file.name} is no valid YAML: {shorten(str(error), 120)}."
    except RecursionError:
        msg = f"{file.name} is nested too deeply; a few levels are all that is needed."
    raise SettingError(msg)


def _plain(node: Any, path: KeyPath, lines: dict[KeyPath, int], name: str, met: set[int]) -> Any:
    """The content of a node; remembers lines."""
    if node is None:
        return None
    place = f"{name}, line {node.start_mark.line + 1}"
    lines.setdefault(path, node.start_mark.line + 1)
    if len(path) > DEEPEST:
        msg = f"{place}: this is nested more than {DEEPEST} deep."
        raise SettingError(msg)
    if id(node) in met:  # a few of them can stand for billions of entries
        msg = f"{place}: an alias (*) stands for this elsewhere; write it out there."
        raise SettingError(msg)
    met.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        return [_plain(one, (*path, n), lines, name, met) for n, one in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in found:
                twice = "is there twice" if isinstance(key, yaml.ScalarNode) else "is no text"
                msg = f"{name}, line {key.start_mark.line + 1}: a key {twice}."
                raise SettingError(msg)
            lines[(*path, key.value)] = key.start_mark.line + 1
            found[key.value] = _plain(value, (*path, key.value), lines, name, met)
        return found
    if node.style is None and node.tag == "tag:yaml.org,2002:null":
        return None
    # JSON writes characters beyond 16 bits as two escapes, which YAML does not join.
    return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
