"""The arena: one more submission to a task of a thousand and of a million, a full rescore, and a batch to many tasks.

Live: the same submissions go to both tasks in turn, none of which moves a baseline; the alternative is the usual way,
`count(*) where score > ?` over an index on the score, in the same SQLite file format with the same durability.
Batch: the alternative is the specification's code as it stands, run as its seven steps say, one submission after the
other. It measures a slice of whole tasks and is scaled up: once with what it makes kept in SQLite (one transaction a
submission), and once without a database, so that it keeps nothing. The claim is made against the latter.

    python -m benchmarks.arena [--large 1000000] [--quick]
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import arena_twin as twin
from steelyard.arena import Arena, Receipt, create_arena
from steelyard.profiles import load_profile
from steelyard.records import Submission, Task
from steelyard.store import open_store

BATCH = 100_000
TWIN_TASKS = 20
ROUNDS = 5


def make(rng: random.Random, name: str, task_id: str) -> Submission:
    return Submission(
        id=name,
        task_id=task_id,
        total_tokens=int(rng.lognormvariate(10, 0.8)),
        tool_calls=rng.randrange(2, 120),
        iterations=rng.choice((1, 2, 3, 3, 4, 5, 8)),
        execution_time=round(rng.lognormvariate(5, 0.7), 2),
        estimated_cost=round(rng.lognormvariate(-2, 0.8), 4),
        success=True,
        agent=rng.choice(("ant", "bee", "cat")),
        model="large",
        submitter=f"user-{rng.randrange(500)}",
    )


def extremes(task_id: str) -> list[Submission]:
    """Two submissions that no other goes beyond, so that the rest moves no minimum or maximum."""
    low = Submission(
        id="low", task_id=task_id, total_tokens=1, tool_calls=1, iterations=3, execution_time=0.01, estimated_cost=1e-6
    )
    high = Submission(
        id="high",
        task_id=task_id,
        total_tokens=10**9,
        tool_calls=10**6,
        iterations=3,
        execution_time=1e6,
        estimated_cost=1e4,
    )
    return [low, high]


def filled(folder: Path, rows: int) -> Arena:
    """An arena with one task of so many submissions."""
    arena = create_arena(open_store(f"sqlite:///{folder}/live-{rows}.db"), load_profile("arena-1"))
    arena.add_task(Task(id="task"))
    rng = random.Random(rows)
    arena.submit(extremes("task"))
    for start in range(0, rows - 2, BATCH):
        arena.submit([make(rng, f"s{start + place}", "task") for place in range(min(BATCH, rows - 2 - start))])
    return arena


class Indexed:
    """The usual way: a table of scores with an index, and a count for each rank."""

    def __init__(self, path: Path, rows: int) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute("CREATE TABLE evaluations (id TEXT PRIMARY KEY, score REAL)")
        rng = random.Random(1)
        self.db.execute("BEGIN")
        made = ((f"s{number}", round(rng.betavariate(8, 4) * 100, 2)) for number in range(rows))
        self.db.executemany("INSERT INTO evaluations VALUES (?, ?)", made)
        self.db.execute("CREATE INDEX by_score ON evaluations (score)")
        self.db.execute("COMMIT")
        self.rng = rng

    def submit(self, name: str) -> tuple[int, int]:
        """Keep a score and count those above and below it."""
        score = round(self.rng.betavariate(8, 4) * 100, 2)
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute("INSERT INTO evaluations VALUES (?, ?)", (name, score))
        above = self.db.execute("SELECT count(*) FROM evaluations WHERE score > ?", (score,)).fetchone()[0]
        below = self.db.execute("SELECT count(*) FROM evaluations WHERE score < ?", (score,)).fetchone()[0]
        self.db.execute("COMMIT")
        return above, below


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def both_times(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock, and seconds of this process on the processor: on a busy machine only these compare well."""
    start, start_processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - start_processor


def live(folder: Path, small: int, large: int, times: int) -> None:
    arenas = {rows: filled(folder, rows) for rows in (small, large)}
    plain = {rows: Indexed(folder / f"plain-{rows}.db", rows) for rows in (small, large)}
    rng = random.Random(99)
    ours: dict[int, list[float]] = {small: [], large: []}
    theirs: dict[int, list[float]] = {small: [], large: []}
    moved = 0
    versions: dict[int, int] = {}
    for number in range(times):
        submission = make(rng, f"live-{number}", "task")
        for rows, arena in arenas.items():
            start = time.perf_counter()
            (receipt,) = arena.submit([submission])
            seconds = time.perf_counter() - start
            assert isinstance(receipt, Receipt)
            if versions.setdefault(rows, receipt.baseline_version) == receipt.baseline_version:
                ours[rows].append(seconds)
            else:
                versions[rows] = receipt.baseline_version
                moved += 1
            theirs[rows].append(timed(lambda rows=rows, name=submission.id: plain[rows].submit(name)))  # type: ignore[misc]
    print(
        f"\nOne more submission (score, flags, rank, percentile, baseline, event), {times} in turn;"
        f" {moved} moved the baseline and are left out"
    )
    print(f"{'':34}{f'{small:,}':>12}{f'{large:,}':>12}{'ratio':>8}")
    for name, seconds_by_rows in (("steelyard, median ms", ours), ("count over an index, median ms", theirs)):
        a, b = (statistics.median(seconds_by_rows[rows]) * 1000 for rows in (small, large))
        print(f"{name:34}{a:12.2f}{b:12.2f}{b / a:8.1f}")
    a, b = (statistics.quantiles(ours[rows], n=100)[98] * 1000 for rows in (small, large))
    print(f"{'steelyard, 99th percentile ms':34}{a:12.2f}{b:12.2f}{b / a:8.1f}")
    seconds = timed(arenas[large].rescore)
    print(f"full rescore of {large:,}: {seconds:.2f} s")
    for arena in arenas.values():
        arena.store.close()
    for other in plain.values():
        other.db.close()


def as_dict(submission: Submission) -> dict[str, Any]:
    values = {name: getattr(submission, name) for name in submission.__struct_fields__}
    return {name: value for name, value in values.items() if value is not None}


def specification(rows: Iterator[list[dict[str, Any]]], db: sqlite3.Connection | None) -> None:
    """Seven steps for each submission, as the specification writes them."""
    for submissions in rows:
        submitted: list[dict[str, Any]] = []
        evaluations: list[dict[str, Any]] = []
        baseline = twin.baseline_of(submitted)
        for place, submission in enumerate(submissions):
            evaluation = twin.overall(submission, {}, baseline) | {"submitted_at": place}
            submitted.append(submission)
            evaluations.append(evaluation)
            twin.outliers(submitted)
            ranked = twin.rankings(evaluations)
            baseline = twin.baseline_of(submitted)
            if db is not None:
                _keep(db, submission, evaluation, ranked, baseline)


def _keep(db: sqlite3.Connection, submission: Any, evaluation: Any, ranked: Any, baseline: Any) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO submissions VALUES (?, ?)", (submission["id"], json.dumps(submission)))
    db.execute("INSERT INTO evaluations VALUES (?, ?, NULL, NULL)", (submission["id"], json.dumps(evaluation)))
    places = [(row["overall_ranking"], row["percentile"], row["submission_id"]) for row in ranked]
    db.executemany("UPDATE evaluations SET ranking = ?, percentile = ? WHERE id = ?", places)
    db.execute("INSERT OR REPLACE INTO baselines VALUES (?, ?)", (submission["task_id"], json.dumps(baseline)))
    db.execute("INSERT INTO notifications VALUES (?, 0)", (submission["id"],))
    db.execute("COMMIT")


def specification_store(path: Path) -> sqlite3.Connection:
    """A database for what the specification makes, as durable as ours."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    for table in (
        "submissions (id TEXT PRIMARY KEY, body TEXT)",
        "evaluations (id TEXT PRIMARY KEY, body TEXT, ranking INT, percentile REAL)",
        "baselines (task TEXT PRIMARY KEY, body TEXT)",
        "notifications (id TEXT PRIMARY KEY, sent INT)",
    ):
        db.execute(f"CREATE TABLE {table}")
    return db


def batch_of_ours(folder: Path, rows: list[list[Submission]], seed: int) -> tuple[float, float]:
    """Seconds for one `submit` of all rows, mixed, into a store that has the tasks and a few submissions."""
    rng = random.Random(seed)
    tasks = len(rows)
    arena = create_arena(open_store(f"sqlite:///{folder}/batch-{seed}.db"), load_profile("arena-1"))
    for task in range(tasks):
        arena.add_task(Task(id=f"task-{task}"))
    given = [submission for group in rows for submission in group]
    rng.shuffle(given)
    arena.submit([make(rng, f"warm/{number}", f"task-{number % tasks}") for number in range(300)])
    spent = both_times(lambda: arena.submit(given))
    arena.store.close()
    return spent


def batch(folder: Path, tasks: int, each: int) -> None:
    """Every way is run ROUNDS times in turn, and the best of its times counts."""
    rng = random.Random(7)
    rows = [[make(rng, f"{task}/{place}", f"task-{task}") for place in range(each)] for task in range(tasks)]
    slice_ = [[as_dict(submission) for submission in group] for group in rows[:TWIN_TASKS]]
    scale = tasks / len(slice_)
    names = (
        "steelyard, kept in SQLite",
        "the specification one by one, kept in SQLite",
        "the specification one by one, kept nowhere",
    )
    times_by_way: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for number in range(ROUNDS):
        times_by_way[names[0]].append(batch_of_ours(folder, rows, number))
        db = specification_store(folder / f"specification-{number}.db")
        times_by_way[names[1]].append(both_times(lambda db=db: specification(iter(slice_), db)))  # type: ignore[misc]
        db.close()
        times_by_way[names[2]].append(both_times(lambda: specification(iter(slice_), None)))
    best = {name: [min(column) for column in zip(*times, strict=True)] for name, times in times_by_way.items()}
    for name in names[1:]:
        best[name] = [seconds * scale for seconds in best[name]]
    ours = best[names[0]]
    print(
        f"\nBatch of {tasks * each:,} submissions to {tasks:,} tasks, best of {ROUNDS}"
        f" (the specification: {len(slice_)} tasks, scaled up)"
    )
    print(f"{'':46}{'seconds':>9}{'ratio':>7}{'processor':>11}{'ratio':>7}")
    for name, (wall, processor) in best.items():
        print(f"{name:46}{wall:9.2f}{wall / ours[0]:7.1f}{processor:11.2f}{processor / ours[1]:7.1f}")
    print('"At least 20 times faster" rests on the last line: ours keeps everything, the other keeps nothing.')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", type=int, default=1_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    given = parser.parse_args()
    large = 20_000 if given.quick else given.large
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as name:
        folder = Path(name)
        batch(folder, 100 if given.quick else 1_000, 100)
        live(folder, given.small, large, 100 if given.quick else given.times)


if __name__ == "__main__":
    main()
