"""Print events as they occur.

Events are evaluations, drops in rank, outliers and exclusions. With --json, prints one object per poll with events.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, ArenaEvent, Watch
from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.questions._answer import Rows
from steelyard.questions._options import Count, Seconds, check_seconds
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer


class WatchOptions(Options):
    """Options of `arena watch`."""

    poll_interval: Seconds = doc("Seconds between polls.", default=1.0)
    max_polls: Count | None = doc("Maximum number of polls (default: unlimited).", default=None)

    def check(self) -> None:
        """Reject intervals and numbers out of range."""
        check_seconds(self.poll_interval, "poll_interval")
        if self.max_polls is not None and self.max_polls < 1:
            raise UsageError(f"{option('max_polls')} must be 1 or more (got {self.max_polls})")


class ArenaEvents(ArenaAnswer, frozen=True, kw_only=True):
    """Events since the last poll."""

    rows: ClassVar[Rows] = Rows("events")

    events: tuple[ArenaEvent, ...]

    @property
    def about(self) -> str:
        """Number of events."""
        return counted(len(self.events), "event")


@arena_question(WatchOptions, path="", examples=({"poll_interval": 5},))
def arena_watch(arena: Arena, options: WatchOptions) -> Iterator[ArenaEvents]:
    """Return the events from now on, as polls find them."""
    return _polls(Watch(arena), options)


def _polls(watched: Watch, options: WatchOptions) -> Iterator[ArenaEvents]:
    polls = 0
    while options.max_polls is None or polls < options.max_polls:
        if polls:
            time.sleep(options.poll_interval)
        if events := watched.news():
            yield ArenaEvents(events=tuple(events))
        polls += 1


def page(answer: ArenaEvents) -> pages.Page:
    """Return one sentence per event."""
    first, *others = [f"{event.sentence}." for event in answer.events] or [f"{answer.about}."]
    return pages.Page(name="events", title="What happened?", answer=first, notes=tuple(others))
