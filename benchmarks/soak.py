"""A long life: four processes submit to one store and one asks for 20 places, for as long as is wanted.

The alternative is the store's own youth: the first tenth of the time against the last. Twice: into tasks of 200
submissions each, one after the other, so that only the store grows; then into one task that grows without end. The
claim is on the first: the median of a request in the last tenth is at most 1.5 times that in the first, in processor
time, which holds on a busy machine too. Times by the clock are told, and are part of the claim with --quiet. What a
growing task costs is told.

    python -m benchmarks.soak [--seconds 600] [--store URL] [--quiet] [--quick]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import msgspec

import steelyard as sy
from served_arenas import submission

WRITERS = 4
ROWS_A_TASK = 200
PLACES = 20
PAUSE_SECONDS = 0.05
"""Between two requests of a process: latencies are to tell of the store, not of a queue before it."""
LIMIT = 1.5


class Request(NamedTuple):
    """What one request took."""

    at: float
    """When it began, as a fraction of the whole time."""
    wall_ms: float
    cpu_ms: float


def _timed(together: Barrier, seconds: float) -> Iterator[list[Request]]:
    """A list for each request, to which what it took is put when the next one begins; ends with the time.

    All processes begin together, when each has everything loaded.
    """
    together.wait()
    start = time.monotonic()
    while (began := time.monotonic() - start) < seconds:
        cpu, made = time.process_time(), list[Request]()
        yield made
        wall = time.monotonic() - start - began
        made.append(Request(began / seconds, 1000 * wall, 1000 * (time.process_time() - cpu)))
        time.sleep(PAUSE_SECONDS)


def write(address: str, writer: int, together: Barrier, seconds: float, *, is_growing: bool) -> list[Request]:
    """Submit one after the other, to a new task whenever one is full."""
    arena, draw = sy.open_arena(address), random.Random(writer)
    arena.submit([msgspec.structs.replace(submission(draw, 0, "first"), id=f"warm-{writer}")])
    numbers, requests = count(), []
    for made in _timed(together, seconds):
        number = next(numbers)
        task = "whole" if is_growing else f"task-{writer}-{number // ROWS_A_TASK}"
        if number % ROWS_A_TASK == 0:
            arena.add_task({"id": task})
        arena.submit([msgspec.structs.replace(submission(draw, number, task), id=f"{task}-{writer}-{number}")])
        requests.append(made)
    return [request for made in requests for request in made]


def read(address: str, together: Barrier, seconds: float, *, is_growing: bool) -> list[Request]:
    """Ask for the first places again and again."""
    arena, requests = sy.open_arena(address), []
    arena.task_leaderboard("first", top=PLACES)
    for made in _timed(together, seconds):
        arena.task_leaderboard("whole" if is_growing else "first", top=PLACES)
        requests.append(made)
    return [request for made in requests for request in made]


def soak(address: str, seconds: float, *, is_growing: bool) -> tuple[list[Request], list[Request]]:
    """Writes and reads."""
    arena, draw = sy.init_arena(address), random.Random(0)
    for task in ("first", "whole"):
        arena.add_task({"id": task})
        arena.submit([submission(draw, number, task) for number in range(ROWS_A_TASK)])
    spawn = get_context("spawn")
    with spawn.Manager() as manager, ProcessPoolExecutor(WRITERS + 1, mp_context=spawn) as pool:
        given = (manager.Barrier(WRITERS + 1), seconds)
        jobs = [pool.submit(write, address, writer, *given, is_growing=is_growing) for writer in range(WRITERS)]
        reads = pool.submit(read, address, *given, is_growing=is_growing).result()
        writes = [request for job in jobs for request in job.result()]
    return writes, reads


def _part(requests: Sequence[Request], first: float, last: float) -> list[Request]:
    return [request for request in requests if first <= request.at < last]


def told(name: str, requests: Sequence[Request]) -> tuple[float, float]:
    """Print a line; by how much the last tenth is slower than the first, in processor time and by the clock."""
    parts = [_part(requests, 0.0, 0.1), _part(requests, 0.9, 1.0)]
    cpu = [statistics.median(request.cpu_ms for request in part) for part in parts]
    wall = [statistics.median(request.wall_ms for request in part) for part in parts]
    slowest = [sorted(request.wall_ms for request in part)[int(0.99 * len(part))] for part in parts]
    print(
        f"{name:<28}{len(requests):>8,} requests   CPU p50 {cpu[0]:6.1f} -> {cpu[1]:6.1f} ms ({cpu[1] / cpu[0]:.2f})   "
        f"clock p50 {wall[0]:6.1f} -> {wall[1]:6.1f} ms ({wall[1] / wall[0]:.2f}), "
        f"p99 {slowest[0]:.0f} -> {slowest[1]:.0f} ms"
    )
    return cpu[1] / cpu[0], wall[1] / wall[0]


def main(words: Sequence[str]) -> int:
    """Both soaks; 1 where the claim does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument(
        "--store", help="instead of a SQLite file of its own; the growing task goes to a file all the same"
    )
    parser.add_argument("--quiet", action="store_true", help="nothing else runs here: hold the clock to the claim too")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args(words)
    seconds = 30.0 if asked.quick else asked.seconds
    with tempfile.TemporaryDirectory() as folder:
        writes, reads = soak(asked.store or f"sqlite:///{folder}/same.db", seconds, is_growing=False)
        ratios = [told(f"write, {ROWS_A_TASK} rows a task", writes), told(f"read, {ROWS_A_TASK} rows a task", reads)]
        writes, reads = soak(f"sqlite:///{folder}/growing.db", seconds, is_growing=True)
        rows = ROWS_A_TASK + len(writes)
        told(f"write, up to {rows:,} rows", writes)
        told(f"read, up to {rows:,} rows", reads)
    slower = max(max(ratio) if asked.quiet else ratio[0] for ratio in ratios)
    print(f"at the same number of rows a task: at most {slower:.2f} times as long at last (claimed: {LIMIT})")
    return 0 if slower <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
