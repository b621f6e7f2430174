"""Killed at random moments, the arena loses nothing, counts nothing twice, and tells everything at least once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from sqlalchemy import select

from arena_crash import TASKS, WORKERS, made
from arena_makers import as_submission, as_task, make_arena
from steelyard.arena import Arena, Receipt, open_arena
from steelyard.arena.notifications._events import EVALUATED, event_id
from steelyard.errors import StoreUnavailableError
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store, open_store
from steelyard.store.schema import baselines, outbox, settings, states, submissions, tallies

CRASH = Path(__file__).parents[1] / "support" / "arena_crash.py"
CRITERIA = [{"type": "file_exists", "file_path": "file1.py"}, {"type": "no_errors"}]


def crash(
    store: Store,
    address: str,
    folder: Path,
    *,
    count: int,
    kills: int,
    seed: int,
    pause: float = 0.01,
    sizes: tuple[int, ...] = (1, 1, 1, 5),
) -> None:
    arena = open_arena(store) if has_arena(store) else make_arena(store)
    for number in range(TASKS):
        arena.add_task(as_task({"id": f"task-{number}", "success_criteria": CRITERIA}))
    store.close()
    options = ["--submissions", str(count), "--kills", str(kills), "--seed", str(seed), "--pause", str(pause)]
    options += ["--sizes", *map(str, sizes)]
    done = subprocess.run(
        [sys.executable, CRASH, address, folder, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= kills


def has_arena(store: Store) -> bool:
    with store.read() as connection:
        return connection.execute(select(settings.c.name)).first() is not None


def acknowledged(folder: Path) -> set[str]:
    return {line for worker in range(WORKERS) for line in (folder / f"acknowledged-{worker}").read_text().splitlines()}


def contents(store: Store, table: object, *leave_out: str) -> list[tuple[object, ...]]:
    columns = [column for column in table.columns if column.name not in leave_out]  # type: ignore[attr-defined]
    with store.read() as connection:
        return sorted(tuple(row) for row in connection.execute(select(*columns)))


def check_nothing_lost(store: Store, folder: Path, *, count: int, seed: int) -> None:
    with store.read() as connection:
        held = Counter(connection.execute(select(submissions.c.id)).scalars())
        evaluated = select(outbox.c.task_key, outbox.c.ordinal).where(outbox.c.kind == EVALUATED)
        told = Counter(tuple(row) for row in connection.execute(evaluated))
        rows = {tuple(row) for row in connection.execute(select(submissions.c.task_key, submissions.c.ordinal))}
    expected = {made(worker, number, seed)["id"] for worker in range(WORKERS) for number in range(count // WORKERS)}
    assert acknowledged(folder) == expected
    assert held == Counter(expected)  # there, and once
    assert told == Counter(rows)  # one event for each


def check_equals_a_rebuild(store: Store, folder: Path, *, seed: int) -> None:
    """Everything that follows from the submissions is what a fresh arena makes of them in the same order."""
    fresh = open_store(f"sqlite:///{folder}/rebuilt.db")
    rebuilt = make_arena(fresh)
    arena = open_arena(store)
    for task in arena.tasks():
        rebuilt.add_task(task)
    with store.read() as connection:
        wanted = select(submissions.c.id).order_by(submissions.c.task_key, submissions.c.ordinal)
        order = list(connection.execute(wanted).scalars())
    again = [as_submission(made(*map(int, one.split("-")), seed)) for one in order]
    assert all(isinstance(outcome, Receipt) for outcome in rebuilt.submit(again))
    for task in arena.tasks():
        one, other = arena_task_leaderboard(arena, task.id), arena_task_leaderboard(rebuilt, task.id)
        assert one.n == other.n > 0
        left_out = {"evaluated_at"}
        for a, b in zip(one.leaderboard, other.leaderboard, strict=True):
            assert all(getattr(a, name) == getattr(b, name) for name in a.__struct_fields__ if name not in left_out)
    for table in (tallies, states):
        assert contents(store, table) == contents(fresh, table)
    assert contents(store, baselines, "created_at") == contents(fresh, baselines, "created_at")
    left_out_columns = ("accepted_at",)
    assert contents(store, submissions, *left_out_columns) == contents(fresh, submissions, *left_out_columns)
    fresh.close()


@pytest.mark.parametrize(
    ("count", "kills"),
    [
        pytest.param(600, 15, id="15-kills"),
        pytest.param(4_000, 200, id="200-kills", marks=pytest.mark.long),
    ],
)
def test_killed_while_submitting_nothing_is_lost_or_counted_twice(
    store: Store, store_address: str, tmp_path: Path, count: int, kills: int
) -> None:
    crash(store, store_address, tmp_path, count=count, kills=kills, seed=5)
    check_nothing_lost(store, tmp_path, count=count, seed=5)
    check_equals_a_rebuild(store, tmp_path, seed=5)


def test_killed_while_submitting_batches_nothing_is_lost_or_counted_twice(
    store: Store, store_address: str, tmp_path: Path
) -> None:
    crash(store, store_address, tmp_path, count=4800, kills=8, seed=6, pause=0.2, sizes=(1, 250, 400))
    check_nothing_lost(store, tmp_path, count=4800, seed=6)
    check_equals_a_rebuild(store, tmp_path, seed=6)


def submit_until_full(arena: Arena, made_ones: Sequence[dict[str, object]]) -> list[str]:
    """The ids that were acknowledged until the disk was full."""
    told: list[str] = []
    for one in made_ones:
        try:
            (receipt,) = arena.submit([as_submission(one)])
        except StoreUnavailableError:
            break
        assert isinstance(receipt, Receipt)
        told.append(receipt.submission_id)
    return told


def test_a_disk_that_fills_up_while_submitting_loses_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        store = open_store(f"sqlite:///{disk}/arena.db")
        arena = make_arena(store)
        for number in range(TASKS):
            arena.add_task(as_task({"id": f"task-{number}", "success_criteria": CRITERIA}))
        everything = [made(0, number, 5) for number in range(3_000)]
        told = submit_until_full(arena, everything)
        assert 0 < len(told) < len(everything)
        store.close()
        store = open_store(f"sqlite:///{disk}/arena.db")
        with store.read() as connection:
            held = Counter(connection.execute(select(submissions.c.id)).scalars())
        assert set(told) <= set(held)
        assert len(held) <= len(told) + 1  # one may be there of which nobody was told
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        rest = open_arena(store).submit([as_submission(one) for one in everything[len(told) - 5 :]])
        assert all(isinstance(outcome, Receipt) for outcome in rest)
        with store.read() as connection:
            held = Counter(connection.execute(select(submissions.c.id)).scalars())
        assert held == Counter(str(one["id"]) for one in everything)
        check_equals_a_rebuild(store, tmp_path, seed=5)
        store.close()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_clock_that_is_set_back_loses_nothing_and_counts_nothing_twice(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = 3_600_000_000
    clock = [1_800_000_000_000_000]
    monkeypatch.setattr("steelyard.arena.ingest._arena.now_microseconds", lambda: clock[0])
    arena = make_arena(store)
    for number in range(TASKS):
        arena.add_task(as_task({"id": f"task-{number}", "success_criteria": CRITERIA}))
    everything = [made(0, number, 5) for number in range(200)]
    for place, one in enumerate(everything):
        clock[0] += (5, -hour, 0)[place % 3]
        for _ in range(1 + place % 2):  # some are sent again
            (receipt,) = arena.submit([as_submission(one)])
            assert isinstance(receipt, Receipt)
        if place % 40 == 7:
            (receipt,) = arena.submit([as_submission(made(0, place - 3, 5))])
            assert isinstance(receipt, Receipt)
    with store.read() as connection:
        held = Counter(connection.execute(select(submissions.c.id)).scalars())
    assert held == Counter(str(one["id"]) for one in everything)
    check_equals_a_rebuild(store, tmp_path, seed=5)


class _Receiver(BaseHTTPRequestHandler):
    seen: ClassVar[Counter[str]] = Counter()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen[self.headers["Steelyard-Event-Id"]] += 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[str]:
    """A webhook that counts event ids."""
    _Receiver.seen = Counter()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook"
    server.shutdown()
    thread.join()
    server.server_close()


NOTIFY = """
import sys
from steelyard.arena.notifications._delivery import LEASE_SECONDS, SECOND
from steelyard.arena.notifications._delivery import notify_once
from steelyard.arena.notifications._targets import Target
from steelyard.records import now_microseconds
from steelyard.store import open_store
print("ready", flush=True)
later = now_microseconds() + int(sys.argv[3]) * 2 * LEASE_SECONDS * SECOND  # leases of the killed have run out
target = Target(name="hook", network="loopback", url=sys.argv[2])
print(notify_once(open_store(sys.argv[1]), [target], now=later).waiting)
"""


def test_killed_while_notifying_every_event_arrives_at_least_once(
    store: Store, store_address: str, receiver: str
) -> None:
    arena = make_arena(store)
    arena.add_task(as_task({"id": "task"}))
    ids = [f"s{number}" for number in range(150)]
    arena.submit([as_submission({"id": one, "task_id": "task", "total_tokens": 5, "tool_calls": 1}) for one in ids])
    store.close()
    for turn in range(4):
        command = [sys.executable, "-c", NOTIFY, store_address, receiver, str(turn)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if turn < 3:
                until = 10 * (turn + 1)
                while len(_Receiver.seen) < until and process.poll() is None:
                    pass
                process.kill()
            else:
                assert process.stdout.read() == "0\n"  # nothing waits any more
    assert set(_Receiver.seen) == {event_id(EVALUATED, one) for one in ids}
