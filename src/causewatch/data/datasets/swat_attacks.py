"""The attacks of the SWaT recording of December 2015: when, where and what was done.

Windows and tags of attacks 8, 17, 21, 23, 25, 26, 27, 28 and 30 are those of the paper whose method
causewatch reproduces. The others are given as two independent public transcriptions of the
publisher's list agree on them; where they differ (attack 41 ends at 13:40:56 or at 13:41:11) the
shorter window stands here. Attacks 10 and 11 follow each other on the same tag and are one event.
Attacks 5, 9, 12, 15 and 18 had no effect on the plant and are not in the recording's labels.
"""

from __future__ import annotations

from causewatch.data.datasets.base import Event
from causewatch.data.datasets.shaping import moment
from causewatch.data.table import NANOSECONDS

__all__ = ["attacks"]

# Number, first second, last second, attacked tags (one word per tag), what was done.
_LIST = """
1     | 2015-12-28T10:29:14 | 2015-12-28T10:44:53 | MV101               | valve opened
2     | 2015-12-28T10:51:08 | 2015-12-28T10:58:30 | P102                | pump switched on
3     | 2015-12-28T11:22:00 | 2015-12-28T11:28:22 | LIT101              | level raised slowly
4     | 2015-12-28T11:47:39 | 2015-12-28T11:54:08 |                     | valve MV504 opened, which is not recorded
6     | 2015-12-28T12:00:55 | 2015-12-28T12:04:10 | AIT202              | analyser set to a constant
7     | 2015-12-28T12:08:25 | 2015-12-28T12:15:33 | LIT301              | level set too high
8     | 2015-12-28T13:10:10 | 2015-12-28T13:26:13 | DPIT301             | pressure difference set too high
10-11 | 2015-12-28T14:16:20 | 2015-12-28T14:28:20 | FIT401              | flow set too low, then to zero
13    | 2015-12-29T11:11:25 | 2015-12-29T11:15:17 | MV304               | valve closed
14    | 2015-12-29T11:35:40 | 2015-12-29T11:42:50 | MV303               | valve kept from opening
16    | 2015-12-29T11:57:25 | 2015-12-29T12:02:00 | LIT301              | level lowered slowly
17    | 2015-12-29T14:38:12 | 2015-12-29T14:50:08 | MV303               | valve kept from opening
19    | 2015-12-29T18:10:43 | 2015-12-29T18:15:01 | AIT504              | analyser set to a constant
20    | 2015-12-29T18:15:43 | 2015-12-29T18:22:17 | AIT504              | analyser set to a high constant
21    | 2015-12-29T18:30:00 | 2015-12-29T18:42:00 | MV101 LIT101        | valve held open, level held constant
22    | 2015-12-29T22:55:18 | 2015-12-29T23:03:00 | UV401 AIT502 P501   | lamp off, analyser constant, pump held on
23    | 2015-12-30T01:42:34 | 2015-12-30T01:54:10 | P602 DPIT301 MV302  | pressure difference set, valve and pump forced
24    | 2015-12-30T09:51:08 | 2015-12-30T09:56:28 | P203 P205           | dosing pumps switched off
25    | 2015-12-30T10:01:50 | 2015-12-30T10:12:01 | LIT401 P401         | level held constant, pump forced
26    | 2015-12-30T17:04:56 | 2015-12-30T17:29:00 | P101 LIT301         | pump forced, level held constant
27    | 2015-12-31T01:17:08 | 2015-12-31T01:45:18 | P302 LIT401         | pump forced, level held constant
28    | 2015-12-31T01:45:19 | 2015-12-31T11:15:27 | P302                | pump switched off
29    | 2015-12-31T15:32:00 | 2015-12-31T15:34:00 | P201 P203 P205      | dosing pumps forced
30    | 2015-12-31T15:47:40 | 2015-12-31T16:07:10 | LIT101 P101 MV201   | level held constant, pump and valve forced
31    | 2015-12-31T22:05:34 | 2015-12-31T22:11:40 | LIT401              | level set too low
32    | 2016-01-01T10:36:00 | 2016-01-01T10:46:00 | LIT301              | level set too high
33    | 2016-01-01T14:21:12 | 2016-01-01T14:28:35 | LIT101              | level set too high
34    | 2016-01-01T17:12:40 | 2016-01-01T17:14:20 | P101                | pump switched off
35    | 2016-01-01T17:18:56 | 2016-01-01T17:26:56 | P101 P102           | pumps switched off
36    | 2016-01-01T22:16:01 | 2016-01-01T22:25:00 | LIT101              | level set too low
37    | 2016-01-02T11:17:02 | 2016-01-02T11:24:50 | P501 FIT502         | pump switched off, flow held constant
38    | 2016-01-02T11:31:38 | 2016-01-02T11:36:18 | AIT402 AIT502       | analysers set to a constant
39    | 2016-01-02T11:43:48 | 2016-01-02T11:50:28 | FIT401 AIT502       | flow and analyser set to a constant
40    | 2016-01-02T11:51:42 | 2016-01-02T11:56:38 | FIT401              | flow set to zero
41    | 2016-01-02T13:13:02 | 2016-01-02T13:40:56 | LIT301              | level lowered slowly
"""  # noqa: E501


def attacks() -> tuple[Event, ...]:
    """Every attack with an effect, by start; an event ends one second after its last second."""
    events = []
    for line in _LIST.strip().splitlines():
        name, first, last, tags, what = (cell.strip() for cell in line.split("|"))
        end = moment(last) + NANOSECONDS
        events.append(Event(name, moment(first), end, tuple(tags.split()), what))
    return tuple(events)
