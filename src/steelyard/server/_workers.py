"""Several processes on one port: started, restarted if one exits, and stopped together."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from types import FrameType

from steelyard.errors import SteelyardError
from steelyard.server._problems import LOG

LOOK_SECONDS = 0.25
STOP_SECONDS = 4.0
MIN_WORKER_SECONDS = 5.0
"""If a process exits sooner, restarting would not help: all processes stop with an error."""


def keep_running(work: Callable[[], None], count: int) -> None:
    """Run the work in this many processes until a signal arrives."""
    context = multiprocessing.get_context("spawn")  # forking a process with threads may deadlock
    is_over = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        is_over.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    running: dict[BaseProcess, float] = {}

    def start() -> None:
        process = context.Process(target=work, daemon=True)
        process.start()
        running[process] = time.monotonic()

    try:
        for _ in range(count):
            start()
        while not is_over.wait(LOOK_SECONDS):
            for process in [each for each in running if not each.is_alive()]:
                if time.monotonic() - running.pop(process) < MIN_WORKER_SECONDS:
                    message = f"a server process exited immediately with status {process.exitcode}"
                    raise SteelyardError(message, hint="see its message above, or try --workers 1")
                LOG.warning("a server process exited with status %s; restarting", process.exitcode)
                start()
    finally:
        _end(list(running))
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(processes: list[BaseProcess]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
