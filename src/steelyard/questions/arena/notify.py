"""Send pending notifications to webhook targets.

Failed deliveries are retried until every event is delivered at least once. Notifications are signed if the target names
a secret. All events since the arena was created are pending until they are sent. With --json, prints one object per
poll. Exits with status 1 if a notification fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, Deliveries, notify_once, read_targets, skip_before
from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.questions._answer import Rows
from steelyard.questions._options import Moment, Seconds, check_seconds
from steelyard.questions._question import Options, arena_action, doc
from steelyard.questions.arena._common import ArenaAnswer
from steelyard.records import Finding, microseconds_of, moment_of, now_microseconds


class NotifyOptions(Options):
    """Options of `arena notify`."""

    targets: Path = doc("TOML file with the notification targets.", local=True)
    once: bool = doc("Send due notifications once and exit.", default=False)
    poll_interval: Seconds = doc("Seconds between polls.", default=5.0)
    since: Moment = doc(
        "Discard events before this date or time (default: send all pending events).", default=None, local=True
    )

    def check(self) -> None:
        """Reject intervals that are too long."""
        check_seconds(self.poll_interval, "poll_interval")


class SendingRound(ArenaAnswer, frozen=True, kw_only=True):
    """Result of one round of deliveries."""

    rows: ClassVar[Rows] = Rows(keep=("sent", "failed", "put_off", "settled", "waiting", "next_attempt_at"))

    sent: int
    failed: int
    put_off: int
    """Due deliveries that were postponed because the target did not respond."""
    settled: int
    waiting: int
    """Number of events that are not done."""
    next_attempt_at: str | None
    """Time of the next retry; None if there is none."""
    errors: tuple[str, ...]
    discarded: int = 0
    """Number of events before `since` that were discarded."""

    @property
    def about(self) -> str:
        """Number of sent, failed, postponed and waiting deliveries."""
        postponed = f" {self.put_off:,} postponed," if self.put_off else ""
        return f"{self.sent:,} sent, {self.failed:,} failed,{postponed} {self.waiting:,} waiting"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Discarded events and failed deliveries."""
        discarded = f"discarded {counted(self.discarded, 'older event')}"
        return (
            *([Finding(code="events_discarded", message=discarded)] if self.discarded else []),
            *(Finding(code="not_delivered", severity="error", message=error) for error in self.errors),
        )

    @property
    def exit_status(self) -> int:
        """1 if a delivery failed."""
        return 1 if self.failed else 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing was due."""
        return not self.sent and not self.failed


@arena_action(
    NotifyOptions,
    examples=({"targets": "targets.toml", "once": True}, {"targets": "targets.toml", "since": "2026-11-01"}),
)
def arena_notify(arena: Arena, options: NotifyOptions) -> Iterator[SendingRound]:
    """Send due notifications round by round, and return the result of each round."""
    since = options.since
    first = None if since is None else _past(since)
    targets = read_targets(options.targets)
    for target in targets:
        target.check_environment()
    discarded = 0 if first is None else skip_before(arena.store, first)
    return _rounds(partial(notify_once, arena.store, targets), options, discarded)


def _rounds(send: Callable[[], Deliveries], options: NotifyOptions, discarded: int) -> Iterator[SendingRound]:
    while True:
        yield SendingRound(**send()._asdict(), discarded=discarded)
        if options.once:
            return
        discarded = 0
        time.sleep(options.poll_interval)


def _past(since: str | date) -> int:
    moment = microseconds_of(moment_of(since, option="since"))
    if moment > now_microseconds():
        raise UsageError(f"{option('since', since)} is in the future", hint="use a date or time in the past")
    return moment


def page(answer: SendingRound) -> pages.Page:
    """Return the result in a sentence."""
    due = (answer.next_attempt_at or "")[:19].replace("T", " ")
    again = f", next attempt at {due} UTC" if due else ""
    return pages.Page(name="notify", title="Which notifications were sent?", answer=f"{answer.about}{again}.")
