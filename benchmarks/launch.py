"""Run one command and say what it cost: wall time, CPU time, peak memory, exit code.

It is a program of its own, and a small one, because the system counts the memory of the process
that starts a command as part of that command's peak.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time

__all__: list[str] = []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", required=True, help="file to write the cost to, as JSON")
    parser.add_argument("--address-space", type=int, help="limit of the command's RLIMIT_AS, bytes")
    parser.add_argument("--timeout", type=float, help="seconds after which the command is ended")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    def limit() -> None:
        if options.address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (options.address_space,) * 2)

    def end() -> None:
        ended.set()
        process.kill()

    start = time.perf_counter()
    process = subprocess.Popen(options.command, preexec_fn=limit)
    ended = threading.Event()
    if options.timeout is not None:
        timer = threading.Timer(options.timeout, end)
        timer.daemon = True
        timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    cost = {
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * unit,
        "code": os.waitstatus_to_exitcode(status),
        "timed_out": ended.is_set(),
    }
    with open(options.report, "w", encoding="utf-8") as file:
        json.dump(cost, file)


if __name__ == "__main__":
    main()
