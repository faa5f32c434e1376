"""Finding the files of a dataset: in a folder or among given paths, with clear words if wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from causewatch.data.files import SPREADSHEETS, open_file
from causewatch.data.raw import file_name
from causewatch.data.table import Note, SourceFile
from causewatch.errors import SettingError, TableError, listing, shorten

__all__ = [
    "compare_hashes",
    "find_files",
    "is_spreadsheet",
    "natural_order",
    "plain_name",
    "read_columns",
]

ENDINGS = (".csv", ".csv.gz", ".tsv", ".txt", ".dat", ".parquet", *SPREADSHEETS)
"""How the names of tables end."""

LFS_POINTER = b"version https://git-lfs.github.com"
"""How the stand-in begins that Git leaves in the place of a large file."""


def find_files(paths: Sequence[Path], title: str, expected: str) -> list[Path]:
    """The files the user means: those given, and the tables in the folders given.

    Parameters
    ----------
    paths
        Files and folders; of folders, tables in them and in their folders are taken.
    title
        What messages call the dataset.
    expected
        What it consists of, for messages.

    Returns
    -------
    list of Path
        In natural order (``test2`` before ``test10``), each once.
    """
    if not paths:
        message = f"No file or folder of {title} was given; expected {expected}."
        raise SettingError(message)
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update(dict.fromkeys(_tables_in(path)))
        elif path.exists() and not path.name.lower().endswith(ENDINGS):
            message = (
                f"{file_name(path)} is no file of {title}: it is no table ({', '.join(ENDINGS)});"
                f" expected {expected}."
            )
            raise TableError(message)
        elif path.exists():
            found[path] = None
        else:
            message = f"There is no file or folder {shorten(str(path), 200)!r}."
            raise TableError(message)
    if not found:
        places = ", ".join(repr(shorten(str(path), 200)) for path in paths)
        message = f"No table was found in {places}; {title} consists of {expected}."
        raise TableError(message)
    files = natural_order(found)
    for file in files:
        _refuse_pointer(file)
    return files


def natural_order(paths: Iterable[Path]) -> list[Path]:
    """Paths by folder and name, where numbers count as numbers."""

    def key(path: Path) -> tuple[str, list[tuple[bool, int, str]], str]:
        parts = re.findall(r"\d+|\D+", path.name.lower())
        name = [(not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts]
        return str(path.parent), name, path.name

    return sorted(paths, key=key)


def plain_name(path: Path) -> str:
    """The name of a file without its ending (``train1`` for ``train1.csv.gz``)."""
    name = file_name(path)
    for ending in sorted(ENDINGS, key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def is_spreadsheet(path: Path) -> bool:
    """Whether a file is read as a spreadsheet, and so as a whole."""
    return path.suffix.lower() in SPREADSHEETS


def read_columns(path: Path) -> tuple[str, ...]:
    """The column names of a table; quick for text and Parquet, slow for spreadsheets."""
    return open_file(path, None, None).columns


def compare_hashes(files: Iterable[SourceFile], published: Mapping[str, str]) -> list[Note]:
    """Say whether files are, to the byte, those the publisher has.

    Parameters
    ----------
    files
        The files that were read.
    published
        SHA-256 by file name; files it does not name are not judged.
    """
    same = [file.name for file in files if published.get(file.name) == file.sha256]
    other = [f.name for f in files if f.name in published and published[f.name] != f.sha256]
    notes = []
    if same:
        text = f"Files that are, to the byte, as published: {listing(same)}."
        notes.append(Note("as_published", len(same), text))
    if other:
        text = (
            f"Files that differ from those published under the same name: {listing(other)}; they "
            "were changed or are of another version."
        )
        notes.append(Note("not_as_published", len(other), text))
    return notes


def _tables_in(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.name.lower().endswith(ENDINGS)
        and not path.name.startswith((".", "~$"))
        and path.is_file()
    ]


def _refuse_pointer(path: Path) -> None:
    """Raise if Git has left only a pointer to the file."""
    if not path.is_file() or path.stat().st_size > 1000:
        return
    with path.open("rb") as stream:
        if stream.read(len(LFS_POINTER)) == LFS_POINTER:
            message = (
                f"{file_name(path)} is only a pointer to the data that Git keeps elsewhere; run "
                "'git lfs pull' in its repository first."
            )
            raise TableError(message)
