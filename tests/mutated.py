"""Damaged and forged tables: mutations of a good one, and a small one that claims to be huge."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

ROWS = 120
XML = '<?xml version="1.0"?>'
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def forged_book(rows: int = 1_048_576) -> bytes:
    """A spreadsheet of 1.4 kB, two cells of which are 17 billion, or 16,384 `rows`, apart."""
    kind = "application/vnd.openxmlformats"
    main = f"{kind}-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{kind}-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{main}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{main}.worksheet+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1"'
        f' Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{OFFICE}">'
        '<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEETS}"><sheetData>'
        '<row r="1"><c r="A1"><v>1</v></c></row>'
        f'<row r="{rows}"><c r="XFD{rows}"><v>2</v></c></row></sheetData></worksheet>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, XML + text)
    return buffer.getvalue()


def table() -> pl.DataFrame:
    """A good table with a column of each usual kind."""
    walks = np.random.default_rng(0).normal(size=(ROWS, 3)).cumsum(axis=0)
    start = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    return pl.DataFrame(
        {
            "time": [start + timedelta(seconds=k) for k in range(ROWS)],
            "a": walks[:, 0],
            "b": walks[:, 1].round(1),
            "count": walks[:, 2].astype(np.int64),
            "switch": ["on" if value > 0 else "off" for value in walks[:, 0]],
        }
    )


def _written(write: Callable[[pl.DataFrame, io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(table(), buffer)
    return buffer.getvalue()


GOOD: Mapping[str, bytes] = {
    "parquet": _written(pl.DataFrame.write_parquet),
    "xlsx": _written(pl.DataFrame.write_excel),
    "csv": _written(pl.DataFrame.write_csv),
}
"""The table by the ending of the file that it is written to."""


def mutated(data: bytes, seed: int) -> bytes:
    """The same with some bytes changed: anywhere, at the end, or by others of its own."""
    chance, found = random.Random(seed), bytearray(data)
    size = len(found)
    match seed % 4:
        case 0:
            for _ in range(chance.randint(1, 8)):
                found[chance.randrange(size)] ^= 1 << chance.randrange(8)
        case 1:
            for _ in range(chance.randint(1, 4)):
                found[chance.randrange(size)] = chance.choice((0x00, 0x01, 0x7F, 0x80, 0xFF))
        case 2:
            for _ in range(chance.randint(1, 8)):
                found[-1 - chance.randrange(min(size, 1500))] = chance.randrange(256)
        case _:
            to, origin, length = (chance.randrange(most) for most in (size, size, 40))
            found[to : to + length + 1] = found[origin : origin + length + 1]
    return bytes(found)


def mutated_inside(data: bytes, seed: int) -> bytes:
    """The same for what is packed in a gzip file or an archive, with all checksums put right."""
    if data.startswith(b"\x1f\x8b"):
        return gzip.compress(mutated(gzip.decompress(data), seed), mtime=0)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("header.json", b"null"))
    which = random.Random(seed).choice(sorted(name for name in members if members[name]))
    members[which] = mutated(members[which], seed)
    if header is not None:  # of a model file
        header["members"] = {
            name: {"bytes": len(part), "sha256": hashlib.sha256(part).hexdigest()}
            for name, part in members.items()
        }
        members = {"header.json": json.dumps(header).encode(), **members}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    return buffer.getvalue()
