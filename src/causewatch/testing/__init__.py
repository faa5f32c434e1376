"""For tests of what is built on causewatch: a memory source and sink, a fake clock, and the suites
that every source and sink must pass.

A contract suite is a class with test methods that take a fixture ``rig``: what stands on the other
side of the connector. For a connector of your own::

    class TestMySource(SourceContract):
        @pytest.fixture
        def rig(self, tmp_path):
            return MyRig(tmp_path)
"""  # noqa: D205

from __future__ import annotations

from causewatch.testing.memory import FakeClock, MemorySink, MemorySource
from causewatch.testing.sinks import SinkContract, SinkRig, example_event
from causewatch.testing.sources import SourceContract, SourceRig, collect
from causewatch.testing.waiting import until

__all__ = [
    "FakeClock",
    "MemorySink",
    "MemorySource",
    "SinkContract",
    "SinkRig",
    "SourceContract",
    "SourceRig",
    "collect",
    "example_event",
    "until",
]
