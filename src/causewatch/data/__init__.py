"""Tables in: files, dataframes and event lists become signals over time."""

from causewatch.data.derived import Derived, NormalRows, Without
from causewatch.data.numbers import number, numbers
from causewatch.data.source import TableOptions, in_memory, open_table, read_table, replay
from causewatch.data.spans import (
    Span,
    format_duration,
    format_tick,
    lasting,
    parse_duration,
    parse_span,
)
from causewatch.data.table import (
    Clock,
    Note,
    Sample,
    SourceFile,
    TableSource,
    TimeTable,
    format_moment,
    format_time,
)
from causewatch.data.together import open_together
from causewatch.data.writing import Writing

__all__ = [
    "Clock",
    "Derived",
    "NormalRows",
    "Note",
    "Sample",
    "SourceFile",
    "Span",
    "TableOptions",
    "TableSource",
    "TimeTable",
    "Without",
    "Writing",
    "format_duration",
    "format_moment",
    "format_tick",
    "format_time",
    "in_memory",
    "lasting",
    "number",
    "numbers",
    "open_table",
    "open_together",
    "parse_duration",
    "parse_span",
    "read_table",
    "replay",
]
