"""Four processes submit to one arena and are killed at random moments, again and again, until everything is in.

Run as a program of its own, so that it can fork workers cheaply and kill them without harm to the tests:
    python tests/support/arena_crash.py ADDRESS FOLDER --submissions 600 --kills 15 --seed 1
Every worker appends the ids of acknowledged submissions to a file in FOLDER.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from pathlib import Path

from arena_makers import as_submission, random_submission
from steelyard.arena import open_arena
from steelyard.store import open_store

WORKERS = 4
TASKS = 8


def made(worker: int, number: int, seed: int) -> dict[str, object]:
    """The same submission whenever it is asked for."""
    rng = random.Random(f"{seed}/{worker}/{number}")
    return random_submission(rng, f"{worker}-{number}", f"task-{rng.randrange(TASKS)}", number)


def work(given: argparse.Namespace, worker: int, count: int) -> None:
    """Submit what is not acknowledged yet, and some of what is, alone and in batches."""
    path = given.folder / f"acknowledged-{worker}"
    acknowledged = path.read_text().splitlines() if path.exists() else []
    rng = random.Random(time.time_ns())
    place = max(0, len(set(acknowledged)) - rng.randrange(4))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    store = open_store(given.address, create=False)
    arena = open_arena(store)
    while place < count:
        size = min(rng.choice(given.sizes), count - place)
        outcomes = arena.submit([as_submission(made(worker, place + more, given.seed)) for more in range(size)])
        ids = [outcome.submission_id for outcome in outcomes]  # a refusal has none, and ends the worker
        os.write(handle, "".join(f"{one}\n" for one in ids).encode())
        place += size


def fork(given: argparse.Namespace, worker: int, count: int) -> int:
    """Start a worker; its process id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work(given, worker, count)
        status = 0
    except BaseException as error:  # noqa: BLE001 - the parent sees only the status
        sys.stderr.write(f"worker {worker}: {error!r}\n")
    os._exit(status)


def acknowledged(folder: Path) -> int:
    """How many acknowledgements there are by now."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("acknowledged-*"))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--submissions", type=int, default=600)
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.01, help="the longest wait from a moment's coming to the kill")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 1, 1, 5], help="how many are submitted at once")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    count = given.submissions // WORKERS
    # Moments of the work, not of the clock: however fast it goes, the kills are spread over it.
    moments = sorted(rng.uniform(0, 0.9 * given.submissions) for _ in range(given.kills))
    alive = {fork(given, worker, count): worker for worker in range(WORKERS)}
    kills = 0
    while alive:
        if kills < given.kills:
            while acknowledged(given.folder) < moments[kills]:
                time.sleep(0.001)
            time.sleep(rng.uniform(0, given.pause))
            victim = rng.choice(sorted(alive))
            os.kill(victim, signal.SIGKILL)
        child, status = os.wait()
        worker = alive.pop(child)
        if os.WIFSIGNALED(status):
            kills += 1
            alive[fork(given, worker, count)] = worker
        elif os.WEXITSTATUS(status):
            return 1
        elif kills < given.kills:  # it is done before its time: let it go over everything again
            alive[fork(given, worker, count)] = worker
    print(kills)
    return 0


if __name__ == "__main__":
    sys.exit(main())
