"""Delivery of the outbox: every event to every target at least once, however often anything crashes on the way.

An event is written with its submission, and settled when every target has accepted it. Targets are served in parallel,
each in the order of the events and with its own retries, so one that hangs does not delay the others.

A lease is a moment in the future at which the delivery is due again, so that no other sender takes it meanwhile. It is
for no more events than can be sent in half of its time, however slow the target is. A sender that dies leaves its
leases to run out, and what it had not noted is sent again under the same id.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache, partial
from http.client import HTTPConnection, HTTPException
from threading import Event as Signal, Thread
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import msgspec
from sqlalchemy import and_, delete, func, insert, not_, or_, select, tuple_, update
from sqlalchemy.engine import Connection
from sqlalchemy.sql import ColumnElement, Select

from steelyard.arena.notifications._events import EVENTS_AT_ONCE, count_waiting, next_due, read_events
from steelyard.arena.notifications._targets import ForbiddenAddressError, Resolver, Target, connected, environment
from steelyard.errors import MissingExtraError
from steelyard.records import DAY, Redaction, iso, now_microseconds
from steelyard.store import Store
from steelyard.store.schema import deliveries, outbox
from steelyard.version import __version__

ID_HEADER = "Steelyard-Event-Id"
KIND_HEADER = "Steelyard-Event-Kind"
TIME_HEADER = "Steelyard-Timestamp"
SIGNATURE_HEADER = "Steelyard-Signature"


MARGIN_SECONDS = 0.5
"""Extra time for the socket to report its own error."""


class NoAnswer(str):
    """Error of a target that does not respond; further messages are postponed."""

    __slots__ = ()


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """What the signature header holds.

    >>> signature(b"secret", 1, b"{}")[:14]
    'sha256=1122767'
    """
    return "sha256=" + hmac.new(secret, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def send(
    target: Target,
    *,
    event_id: str,
    kind: str,
    body: bytes,
    timestamp: int,
    resolve: Resolver = socket.getaddrinfo,
) -> str | None:
    """None when the target took the message, else what went wrong. It has `seconds` for all of it.

    A socket's timeout restarts with every byte and name resolution has none, so a separate thread enforces the limit.
    """
    answers: list[str | None] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            if target.url is None:
                answers.append(_send_by_apprise(target, kind, body))
            else:
                answers.append(_send(target, _headers(target, event_id, kind, body, timestamp), body, resolve))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            problems.append(error)

    waiting = Thread(target=work, daemon=True)  # daemon: an abandoned request must not delay the exit
    waiting.start()
    waiting.join(target.seconds + MARGIN_SECONDS)
    if problems:
        raise problems[0]
    return answers[0] if answers else NoAnswer(f"no response within {target.seconds:g} seconds")


def _headers(target: Target, event_id: str, kind: str, body: bytes, timestamp: int) -> dict[str, str]:
    headers = {
        "Host": urlsplit(target.address).netloc,
        "Content-Type": "application/json",
        "User-Agent": f"steelyard/{__version__}",
        ID_HEADER: event_id,
        KIND_HEADER: kind,
        TIME_HEADER: str(timestamp),
    }
    secret = target.secret
    if secret is not None:
        headers[SIGNATURE_HEADER] = signature(secret, timestamp, body)
    return headers


def _send(target: Target, headers: dict[str, str], body: bytes, resolve: Resolver) -> str | None:
    """The message straight to the address: no proxy of the environment, and no redirect, leads anywhere else."""
    parts = urlsplit(target.address)
    is_secure = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if is_secure else 80)
    try:
        with connected(
            host, port, network=target.network, is_secure=is_secure, seconds=target.seconds, resolve=resolve
        ) as plain:
            connection = HTTPConnection(host, port)
            connection.sock = _trusted().wrap_socket(plain, server_hostname=host) if is_secure else plain
            with closing(connection):
                connection.request("POST", urlunsplit(("", "", parts.path or "/", parts.query, "")), body, headers)
                status = connection.getresponse().status
    except ForbiddenAddressError as error:
        return NoAnswer(str(error))
    except (OSError, HTTPException) as error:
        return NoAnswer(f"{type(error).__name__}: {error}"[:500])
    return None if 200 <= status < 300 else f"HTTP status {status}"


@cache
def _trusted() -> ssl.SSLContext:
    """Return the default TLS context, cached because loading certificates is slow."""
    return ssl.create_default_context()


def _send_by_apprise(target: Target, kind: str, body: bytes) -> str | None:
    try:
        apprise = importlib.import_module("apprise")  # an extra: dozens of services without code of ours
    except ImportError as error:
        raise MissingExtraError("apprise", extra="notify", purpose="a target with apprise_env") from error
    assert target.apprise_env is not None  # a target has a url or this
    messenger = apprise.Apprise()
    if not messenger.add(environment(target.apprise_env, target.name)):
        return "Apprise does not support this URL"
    is_taken = messenger.notify(title=f"steelyard: {kind}", body=body.decode())
    return None if is_taken else NoAnswer("Apprise delivery failed")


SECOND = 1_000_000
LEASE_SECONDS = 120
FIRST_WAIT_SECONDS = 5
MAX_WAIT_SECONDS = 3600
PUT_OFF_AT_ONCE = 1_000
SILENCES = 2
"""Attempts in a row without any answer after which a target is taken for dead until its next retry is due."""

Sender = Callable[..., str | None]


class TargetOutcome(NamedTuple):
    """The outcome of a target's events in one round."""

    sent: int
    failed: int
    put_off: int
    errors: tuple[str, ...]


class LeasedDelivery(NamedTuple):
    """A delivery that is this sender's for a while."""

    seq: int
    attempts: int


def waits_seconds(attempts: int) -> int:
    """Return the delay after this many failed attempts: doubling, up to an hour, without a last attempt."""
    return min(FIRST_WAIT_SECONDS << min(attempts - 1, 20), MAX_WAIT_SECONDS)


class Queue:
    """The events that were due to a target when the round began, oldest first, each handed out once."""

    def __init__(self, store: Store, target: Target, began: int) -> None:
        self._store = store
        self._target = target
        self._began = began
        self._last = (-1, -1)

    def now(self) -> int:
        """The present; the round's own beginning where that was set to a later moment."""
        return max(self._began, now_microseconds())

    def lease(self, most: int, until: int) -> list[LeasedDelivery]:
        """Lease the next events, at most `most`, until `until`."""

        def work(connection: Connection) -> tuple[list[LeasedDelivery], tuple[int, int]]:
            rows = connection.execute(self._next(most)).all()
            new = [row.seq for row in rows if row.attempts is None]
            if new:
                begun = {"target": self._target.name, "attempts": 0, "due_at": until}
                connection.execute(insert(deliveries), [{"seq": seq, **begun} for seq in new])
            # Asked again while it is changed: another sender may have taken them since.
            still_due = update(deliveries).where(
                deliveries.c.seq.in_([row.seq for row in rows if row.attempts is not None]), self._is_due()
            )
            again = set(connection.execute(still_due.values(due_at=until).returning(deliveries.c.seq)).scalars())
            mine = again | set(new)
            last = (rows[-1].due_at, rows[-1].seq) if rows else self._last
            return [LeasedDelivery(row.seq, row.attempts or 0) for row in rows if row.seq in mine], last

        leased: list[LeasedDelivery] = []
        while not leased:  # some may all have gone to another sender
            before = self._last
            leased, self._last = self._store.in_transaction(work)
            if self._last == before:
                break
        return leased

    def _is_due(self) -> ColumnElement[bool]:
        return and_(
            deliveries.c.target == self._target.name,
            deliveries.c.delivered_at.is_(None),
            deliveries.c.due_at <= self._began,
        )

    def _next(self, most: int) -> Select[tuple[int, int, int]]:
        own = and_(deliveries.c.seq == outbox.c.seq, deliveries.c.target == self._target.name)
        wanted = (
            select(outbox.c.seq, outbox.c.due_at, deliveries.c.attempts)
            .outerjoin(deliveries, own)
            .where(~outbox.c.is_settled, outbox.c.due_at <= self._began)
            .where(tuple_(outbox.c.due_at, outbox.c.seq) > tuple_(*self._last))
            .where(or_(deliveries.c.seq.is_(None), self._is_due()))
            .where(self._target.wants())
        )
        return wanted.order_by(outbox.c.due_at, outbox.c.seq).limit(most)

    def note(self, delivery: LeasedDelivery, problem: str | None) -> int:
        """Record the result of a delivery; return when a failed one is due again."""
        now = self.now()
        attempts = delivery.attempts + 1
        due = now if problem is None else now + waits_seconds(attempts) * SECOND
        taken_at = now_microseconds() if problem is None else None
        values = {"attempts": attempts, "delivered_at": taken_at, "last_error": problem, "due_at": due}
        # Another sender may have seen it under lease and moved the event to the lease's end: `settle` is to look at it.
        moved = update(outbox).where(outbox.c.seq == delivery.seq, outbox.c.due_at > self._began)

        def work(connection: Connection) -> None:
            connection.execute(update(deliveries).where(self._own([delivery])).values(values))
            connection.execute(moved.values(due_at=self._began))

        self._store.in_transaction(work)
        return due

    def put_off(self, leased: Sequence[LeasedDelivery], until: int) -> int:
        """Let these and all that follow wait until then; how many. No attempt was made, so none is counted."""
        statement = update(deliveries).where(self._own(leased)).values(due_at=until)
        self._store.in_transaction(lambda connection: connection.execute(statement))
        count = len(leased)
        while more := self.lease(PUT_OFF_AT_ONCE, until):
            count += len(more)
        return count

    def _own(self, which: Sequence[LeasedDelivery]) -> ColumnElement[bool]:
        return and_(
            deliveries.c.seq.in_([delivery.seq for delivery in which]), deliveries.c.target == self._target.name
        )


def serve(store: Store, target: Target, *, sender: Sender, began: int, stop: Signal) -> TargetOutcome:
    """Send the target what is due to it, in order, each once; the rest is put off when it seems to be dead."""
    queue = Queue(store, target, began)
    most = max(1, min(EVENTS_AT_ONCE, int(LEASE_SECONDS / 2 / target.seconds)))
    lease = max(LEASE_SECONDS, 2 * target.seconds)
    sent = failed = silences = 0
    errors: dict[str, None] = {}
    while not stop.is_set() and (leased := queue.lease(most, until := queue.now() + int(lease * SECOND))):
        with store.read() as connection:
            events = dict(read_events(connection, [delivery.seq for delivery in leased]))
        for place, delivery in enumerate(leased):
            if stop.is_set() or queue.now() + int(target.seconds * SECOND) > until:
                break  # the lease must not expire during a delivery; another sender continues
            event = events[delivery.seq]
            moment = now_microseconds() // SECOND
            body = msgspec.json.encode(Redaction().tree(event))
            message = {"event_id": event.event_id, "kind": event.kind, "body": body, "timestamp": moment}
            problem = _attempt(partial(sender, target, **message))
            due = queue.note(delivery, problem)
            silences = silences + 1 if isinstance(problem, NoAnswer) else 0
            if problem is None:
                sent += 1
                continue
            failed += 1
            errors[f"{target.name}: {problem}"] = None
            if silences == SILENCES:
                return TargetOutcome(sent, failed, queue.put_off(leased[place + 1 :], due), tuple(errors))
    return TargetOutcome(sent, failed, 0, tuple(errors))


def _attempt(send: Callable[[], str | None]) -> str | None:
    """Return any error as text: a failing target must not affect the others."""
    try:
        problem = send()
    except Exception as error:  # noqa: BLE001 - reported as a failure of this target
        problem = NoAnswer(f"{type(error).__name__}: {error}"[:500])
    if problem is None or problem.isprintable():
        return problem
    # What a receiver answered is in it: PostgreSQL takes no NUL, and a terminal would obey the rest.
    return type(problem)(
        "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in problem)
    )


CHANGED_AT_ONCE = 10_000
"""Events that are changed in one transaction: those who submit come in between."""
KEPT_DAYS = 30
"""How long settled events are kept."""
FORGOTTEN_AT_ONCE = 500
PORTIONS_FORGOTTEN = 20
"""Maximum number of portions removed per round, each in a separate transaction."""


def stands_for(targets: Sequence[Target]) -> str:
    """A text that is the same for the same targets that want the same."""
    wanted = sorted(
        (target.name, [None if names is None else sorted(set(names)) for names in _chosen(target)])
        for target in targets
    )
    return hashlib.sha256(msgspec.json.encode(wanted)).hexdigest()


def _chosen(target: Target) -> tuple[tuple[str, ...] | None, ...]:
    """Return the target's filter; teams only if given, for compatibility with stored filters."""
    wanted = (target.kinds, target.submitters)
    return wanted if target.teams is None else (*wanted, target.teams)


def wake(store: Store, targets: Sequence[Target]) -> None:
    """Let no event wait for the retries of other targets than these: one of them may not have been offered it."""
    own = stands_for(targets)
    _change(store, or_(outbox.c.due_for < own, outbox.c.due_for > own), due_at=outbox.c.created_at, due_for=None)


def skip_before(store: Store, moment: int) -> int:
    """Settle what was created before a moment, sent or not; how many events."""
    is_old = and_(~outbox.c.is_settled, outbox.c.created_at < moment)
    return _change(store, is_old, is_settled=True, settled_at=now_microseconds(), due_for=None)


def _change(store: Store, which: ColumnElement[bool], **values: object) -> int:
    """Change events of which afterwards none is left; how many."""
    some = select(outbox.c.seq).where(which).limit(CHANGED_AT_ONCE)
    changing = update(outbox).where(outbox.c.seq.in_(some)).values(values)

    def work(connection: Connection) -> int:
        return connection.execute(changing).rowcount

    count = 0
    while changed := store.in_transaction(work):
        count += changed
    return count


def settle(store: Store, targets: Sequence[Target], began: int) -> int:
    """Settle the events that every target which wants them has taken; how many.

    Those that all of these targets were offered and not all have taken are due with the first retry.
    """
    is_open = and_(~outbox.c.is_settled, outbox.c.due_at <= began)
    of_event = deliveries.c.seq == outbox.c.seq
    own = deliveries.c.target.in_([target.name for target in targets])
    open_retries = select(func.min(deliveries.c.due_at)).where(of_event, own, deliveries.c.delivered_at.is_(None))
    retry = open_retries.scalar_subquery()
    settled = {"is_settled": True, "settled_at": began, "due_for": None}
    waits = {"due_at": retry, "due_for": stands_for(targets)}
    took = [_is_done(target, deliveries.c.delivered_at.is_not(None)) for target in targets]
    offered = [_is_done(target) for target in targets]

    def work(connection: Connection) -> int:
        count: int = connection.execute(update(outbox).where(is_open, *took).values(settled)).rowcount
        connection.execute(update(outbox).where(is_open, *offered, retry > began).values(waits))
        return count

    return store.in_transaction(work)


def _is_done(target: Target, *how: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether the target has a delivery of the event, such as is asked for, or does not want it."""
    own = and_(deliveries.c.seq == outbox.c.seq, deliveries.c.target == target.name, *how)
    has_one = select(1).where(own).exists()
    return or_(not_(target.wants()), has_one)


def forget(store: Store, now: int) -> None:
    """Remove events that were settled long ago, with what is known of their deliveries; a bounded number a time.

    The last event stays: SQLite would give its number to the next, and watchers would skip that one as already seen.
    """
    is_old = outbox.c.settled_at < now - KEPT_DAYS * DAY
    last = select(func.max(outbox.c.seq)).scalar_subquery()
    some = select(outbox.c.seq).where(is_old, outbox.c.seq < last).order_by(outbox.c.settled_at, outbox.c.seq)

    def work(connection: Connection) -> int:
        # Locked: two who forget the same must not come between each other's deliveries and events.
        gone = connection.execute(some.limit(FORGOTTEN_AT_ONCE).with_for_update()).scalars().all()
        connection.execute(delete(deliveries).where(deliveries.c.seq.in_(gone)))
        connection.execute(delete(outbox).where(outbox.c.seq.in_(gone)))
        return len(gone)

    for _ in range(PORTIONS_FORGOTTEN):
        if store.in_transaction(work) < FORGOTTEN_AT_ONCE:
            break


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


def _run_in_parallel(jobs: Sequence[Callable[[], TargetOutcome]], stop: Signal) -> list[TargetOutcome]:
    """Run each job in a thread and return the results. An interrupted wait stops them after the current send."""
    if len(jobs) == 1:
        return [jobs[0]()]
    results: dict[int, TargetOutcome] = {}
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
