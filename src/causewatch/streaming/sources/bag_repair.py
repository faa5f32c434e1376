"""Recordings that were cut off: what rosbags needs to read them as far as they go."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from typing import Any

from causewatch.extras import needed

__all__ = ["index_again", "scan_again"]

MAGIC = b"\x89MCAP0\r\n"
DATA_END, FOOTER = 0x0F, 0x02


def index_again(reader: Any) -> None:
    """Give a reader of a ROS 1 file the index that the file has lost.

    The index stands at the end of a file; a recording that was cut off has none. Chunks hold all
    that it needs.
    """
    ros1: Any = needed("rosbags.rosbag1.reader", "ros")
    size = reader.path.stat().st_size
    reader.bio = bio = reader.path.open("rb")
    bio.readline()
    ros1.Header.read(bio, ros1.RecordType.BAGHEADER)
    bio.seek(ros1.read_uint32(bio), 1)
    connections: dict[int, Any] = {}

    def walk(place: int, data: bytes) -> None:
        inside = BytesIO(data)
        while (offset := inside.tell()) < len(data):
            header = ros1.Header.read(inside)
            kind = header.get_uint8("op")
            if kind == ros1.RecordType.CONNECTION:
                # A connection is read from the reader's own file, so this is that for a moment.
                inside.seek(offset)
                reader.bio = inside
                try:
                    one = reader.read_connection()
                finally:
                    reader.bio = bio
                connections.setdefault(one.id, one)
            elif kind == ros1.RecordType.MSGDATA:
                number, time = header.get_uint32("conn"), header.get_time("time")
                ros1.read_bytes(inside, ros1.read_uint32(inside))
                entry = ros1.IndexData(time, place, offset)
                reader.indexes.setdefault(number, []).append(entry)
            else:
                return

    with suppress(Exception):  # however it shows that this is the end of what is left
        while (place := bio.tell()) < size:
            header = ros1.Header.read(bio)
            kind = header.get_uint8("op")
            length = ros1.read_uint32(bio)
            start = bio.tell()
            if kind == ros1.RecordType.CHUNK:
                plain = header.get_string("compression") == "none"
                length = min(length, size - start) if plain else length
                chunk = ros1.Chunk(
                    length, start, ros1.decompressors[header.get_string("compression")]
                )
            elif kind in (ros1.RecordType.CONNECTION, ros1.RecordType.MSGDATA):
                # The chunk that was being written: its length was to be filled in later.
                start, length = place, size - place
                chunk = ros1.Chunk(length, start, ros1.decompressors["none"])
            else:
                bio.seek(length, 1)
                continue
            reader.chunks[place] = chunk
            bio.seek(start)
            data = chunk.decompressor(ros1.read_bytes(bio, length))
            walk(place, data)
    reader.connections = [one for one in connections.values() if one.id in reader.indexes]
    for entries in reader.indexes.values():
        entries.sort()
    if not reader.connections:
        msg = "no whole message is left"
        raise ValueError(msg)


def scan_again(reader: Any) -> None:
    """Let a reader of an MCAP file look for its messages, up to the last whole record."""
    mcap: Any = needed("rosbags.rosbag2.storage_mcap", "ros")
    size = reader.path.stat().st_size
    reader.bio = bio = reader.path.open("rb")
    bio.seek(len(MAGIC) + 1)
    header = BytesIO(mcap.read_sized(bio))
    if mcap.read_string(header) != "ros2":
        msg = "its profile is not ros2"
        raise ValueError(msg)
    reader.data_start = bio.tell()
    starts = []
    while (place := bio.tell()) + 9 <= size:
        kind = bio.read(1)[0]
        length = int.from_bytes(bio.read(8), "little")
        if place + 9 + length > size or kind in (DATA_END, FOOTER):
            break
        starts.append(place)
        bio.seek(length, 1)
    starts.append(place)
    while True:
        reader.data_end = starts[-1]
        try:
            reader.meta_scan()
        except Exception:  # a record in between makes no sense: try up to there
            reached = bio.tell()
            starts = [one for one in starts[:-1] if one < reached]
            if len(starts) < 2:
                raise
            reader.schemas.clear()
            reader.channels.clear()
            reader.connections.clear()
        else:
            break
    if not reader.connections:
        msg = "no whole message is left"
        raise ValueError(msg)
