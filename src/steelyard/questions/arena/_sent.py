"""Result of one round of notifications."""

from __future__ import annotations

from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.questions._answer import Rows
from steelyard.questions.arena._common import ArenaAnswer


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

    @property
    def about(self) -> str:
        """Number of sent, failed, postponed and waiting deliveries."""
        postponed = f" {self.put_off:,} postponed," if self.put_off else ""
        return f"{self.sent:,} sent, {self.failed:,} failed,{postponed} {self.waiting:,} waiting"

    @property
    def exit_status(self) -> int:
        """1 if a delivery failed."""
        return 1 if self.failed else 0


def page(answer: SendingRound) -> pages.Page:
    """Return the result in a sentence."""
    due = (answer.next_attempt_at or "")[:19].replace("T", " ")
    again = f", next attempt at {due} UTC" if due else ""
    return pages.Page(name="notify", title="Which notifications were sent?", answer=f"{answer.about}{again}.")
