"""Writers and readers over HTTP for as long as is wanted, while the server is killed again and again.

python tests/support/soak.py sqlite:///soak.db --minutes 30
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import msgspec

from served import CONNECTION_LOST, Served, free_port, token_of
from served_arenas import BIG_TASK, fill, submission
from steelyard.records import Submission
from steelyard.store import open_store
from steelyard.store.schema import states, submissions

WRITERS, READERS = 4, 20
KILL_SECONDS = 60.0
PAUSE_WRITING, PAUSE_READING = 0.5, 0.5
"""So that the machine is busy and not overrun: latencies are to tell of the server, not of a queue before it."""
COUNT, TASKS = 5_000, 200
PAGES = (
    "/",
    f"/tasks/{BIG_TASK}",
    "/tasks",
    "/review",
    "/api/v1/rank",
    f"/api/v1/tasks/{BIG_TASK}/leaderboard?limit=200",
)


@dataclass
class Soak:
    """What was done to a server, and what came of it."""

    address: str
    seconds: float
    kill_every: float = KILL_SECONDS
    """Interval of kills, and of looks at the memory."""
    tasks: int = TASKS
    writers: int = WRITERS
    readers: int = READERS
    is_killed: bool = True
    """Otherwise a lost connection is an answer that no client should get."""
    acknowledged: Counter[str] = field(default_factory=Counter)
    """How often the server said that a submission is new."""
    tried: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    """Answers that no client should get."""
    latencies: list[tuple[float, float]] = field(default_factory=list)
    """When since the start, and how long, of each read."""
    memory: list[int] = field(default_factory=list)
    """The bytes that the server held each time before it was killed."""
    starts: list[float] = field(default_factory=list)

    def run(self, log: Path | None = None) -> None:
        """Let them loose, and gather them in."""
        token = token_of(self.address, scope="submit")
        self._server = Served("--store", self.address, "--write", port=free_port(), log=log)
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self.starts.append(self._server.start())
        self._begin = time.monotonic()
        threads = [threading.Thread(target=self._write, args=(number, token)) for number in range(self.writers)]
        threads += [threading.Thread(target=self._read, args=(number,)) for number in range(self.readers)]
        for thread in threads:
            thread.start()
        try:
            self._kill_again_and_again()
        finally:
            self._is_over.set()
            for thread in threads:
                thread.join()
            self._server.stop()

    def _now(self) -> float:
        return time.monotonic() - self._begin

    def _kill_again_and_again(self) -> None:
        while (left := self.seconds - self._now()) > 0:
            time.sleep(min(self.kill_every, left))
            self.memory.append(self._server.resident_bytes)
            if self.is_killed and self._now() < self.seconds:
                self._server.kill()
                self.starts.append(self._server.start())

    def _write(self, number: int, token: str) -> None:
        draw = random.Random(number)
        place = 0
        connection = self._server.connection()
        while not self._is_over.is_set():
            place += 1
            task = BIG_TASK if draw.random() < 0.2 else f"task-{draw.randrange(1, self.tasks):04}"
            made = submission(draw, 1_000_000 + place, task)
            body = json.dumps(_plain(made) | {"id": f"writer-{number}-{place}"}).encode()
            with self._lock:
                self.tried.add(f"writer-{number}-{place}")
            while not self._is_over.is_set():  # the same again until it is acknowledged
                try:
                    answer = self._server.ask(
                        "/api/v1/submissions",
                        method="POST",
                        body=body,
                        connection=connection,
                        Authorization=f"Bearer {token}",
                        Content_Type="application/json",
                    )
                except CONNECTION_LOST as error:
                    self._reconnect(connection, error)
                    continue
                with self._lock:
                    if answer.status in (200, 201):
                        self.acknowledged[f"writer-{number}-{place}"] += 1
                    else:
                        self.refused.append(f"POST: {answer.status} {answer.body[:300]!r}")
                break
            self._is_over.wait(PAUSE_WRITING * draw.uniform(0.5, 1.5))
        connection.close()

    def _reconnect(self, connection: HTTPConnection, error: Exception) -> None:
        if not self.is_killed:
            with self._lock:
                self.refused.append(f"{error!r:.300}")
        connection.close()
        time.sleep(0.05)

    def _read(self, number: int) -> None:
        draw = random.Random(1_000 + number)
        etags: dict[str, str] = {}
        connection = self._server.connection()
        while not self._is_over.is_set():
            path = draw.choice(PAGES)
            seen = {"If_None_Match": etags[path]} if path in etags else {}
            begin = time.monotonic()
            try:
                answer = self._server.ask(path, connection=connection, **seen)
            except CONNECTION_LOST as error:
                self._reconnect(connection, error)
                continue
            with self._lock:
                self.latencies.append((begin - self._begin, time.monotonic() - begin))
                if answer.status not in (200, 304):
                    self.refused.append(f"GET {path}: {answer.status} {answer.body[:300]!r}")
            if "etag" in answer.headers:
                etags[path] = answer.headers["etag"]
            self._is_over.wait(PAUSE_READING * draw.uniform(0.5, 1.5))
        connection.close()

    def lost(self) -> list[str]:
        """What was acknowledged and is not in the store."""
        return sorted(set(self.acknowledged) - set(self._in_store()))

    def twice(self) -> list[str]:
        """What is in the store more than once, or counted more often than it is there."""
        counted = Counter(self._in_store())
        store = open_store(self.address, create=False)
        with store.read() as connection:
            rows = Counter(connection.execute(submissions.select().with_only_columns(submissions.c.task_key)).scalars())
            told = dict(
                tuple(row)
                for row in connection.execute(states.select().with_only_columns(states.c.task_key, states.c.n))
            )
        store.close()
        more = [f"task {key}: {told[key]} counted, {count} there" for key, count in rows.items() if told[key] != count]
        return [*(id_ for id_, count in counted.items() if count > 1), *more]

    def _in_store(self) -> list[str]:
        store = open_store(self.address, create=False)
        with store.read() as connection:
            ids = list(connection.execute(submissions.select().with_only_columns(submissions.c.id)).scalars())
        store.close()
        return ids

    def p99(self, first: float, last: float) -> float:
        """Of the reads that began between these fractions of the whole time."""
        begin, end = first * self.seconds, last * self.seconds
        times = [seconds for at, seconds in self.latencies if begin <= at < end]
        return statistics.quantiles(times, n=100)[98] if len(times) > 1 else 0.0

    def memory_held(self) -> tuple[int, int]:
        """The most that the server held before one of its first deaths, and before one of its last."""
        part = max(1, len(self.memory) // 3)
        return max(self.memory[:part]), max(self.memory[-part:])

    def told(self) -> list[str]:
        """What a person wants to know."""
        first, last = 1000 * self.p99(0, 0.1), 1000 * self.p99(0.9, 1)
        return [
            f"{len(self.starts) - 1} kills, ready again in {max(self.starts):.1f} s at most",
            f"{len(self.acknowledged):,} acknowledged, {len(self.lost())} lost, {len(self.twice())} twice",
            f"{len(self.latencies):,} reads, p99 {first:.0f} ms in the first tenth, {last:.0f} ms in the last",
            f"memory {self.memory_held()[0] >> 20} MB at first, {self.memory_held()[1] >> 20} MB at last",
            *self.refused[:5],
        ]


def _plain(made: Submission) -> dict[str, object]:
    return {name: value for name, value in msgspec.to_builtins(made).items() if name != "id"}


def soaked(
    address: str,
    *,
    seconds: float,
    kill_every: float = KILL_SECONDS,
    count: int = COUNT,
    tasks: int = TASKS,
    log: Path | None = None,
    **load: Any,
) -> Soak:
    """A new arena in the store, after all that; `load` is how many there are of each, and whether it is killed."""
    fill(address, count=count, tasks=tasks)
    soak = Soak(address, seconds, kill_every, tasks, **load)
    soak.run(log)
    return soak


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--kill-every", type=float, default=KILL_SECONDS)
    asked = parser.parse_args(words)
    soak = soaked(asked.store, seconds=60 * asked.minutes, kill_every=asked.kill_every)
    with suppress(BrokenPipeError):
        print("\n".join(soak.told()))
    return 1 if soak.lost() or soak.twice() or soak.refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
