"""Emptying the outbox: every event to every target at least once, however often anything crashes on the way.

An event is written with its submission, and settled when every target has accepted it. Targets are served in parallel,
each in the order of the events and with its own retries, so one that hangs does not delay the others. A
sender that dies leaves its leases to run out, and what it had not noted is sent again under the same id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event as Signal, Thread
from typing import NamedTuple

from steelyard.arena.notifications._delivery import Sender, Served, serve
from steelyard.arena.notifications._events import count_waiting, next_due
from steelyard.arena.notifications._outbox import forget, settle, wake
from steelyard.arena.notifications._targets import Target
from steelyard.arena.notifications._webhook import send
from steelyard.records import iso, now_microseconds
from steelyard.store import Store

ERRORS_SHOWN = 20


def waiting(store: Store) -> int:
    """How many events are not settled."""
    with store.read() as connection:
        return count_waiting(connection)


class Deliveries(NamedTuple):
    """Result of one round of deliveries."""

    sent: int
    failed: int
    put_off: int
    settled: int
    waiting: int
    next_attempt_at: str | None
    errors: tuple[str, ...]


def notify_once(
    store: Store, targets: Sequence[Target], *, sender: Sender = send, now: int | None = None
) -> Deliveries:
    """Send everything that is due now, once. A target that cannot be sent to is an error before any event is taken."""
    for target in targets:
        target.check_environment()
    wake(store, targets)
    began = now_microseconds() if now is None else now
    stop = Signal()
    jobs = [partial(serve, store, target, sender=sender, began=began, stop=stop) for target in targets]
    served = _run_in_parallel(jobs, stop)
    settled = settle(store, targets, began)
    forget(store, began)
    with store.read() as connection:
        due = next_due(connection, began)
    return Deliveries(
        sent=sum(result.sent for result in served),
        failed=sum(result.failed for result in served),
        put_off=sum(result.put_off for result in served),
        settled=settled,
        waiting=waiting(store),
        next_attempt_at=None if due is None else iso(due),
        errors=tuple(error for result in served for error in result.errors)[:ERRORS_SHOWN],
    )


def _run_in_parallel(jobs: Sequence[Callable[[], Served]], stop: Signal) -> list[Served]:
    """Run each job in a thread and return the results. An interrupted wait stops them after the current send."""
    if len(jobs) == 1:
        return [jobs[0]()]
    results: dict[int, Served] = {}
    problems: list[BaseException] = []

    def work(place: int) -> None:
        try:
            results[place] = jobs[place]()
        except BaseException as error:  # noqa: BLE001 - raised again where the threads are waited for
            problems.append(error)
            stop.set()

    # Daemon threads: a target that hangs must not delay the exit.
    threads = [Thread(target=work, args=(place,), daemon=True) for place in range(len(jobs))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stop.set()
    if problems:
        raise problems[0]
    return [results[place] for place in range(len(jobs))]
