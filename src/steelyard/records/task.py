from __future__ import annotations

from steelyard.records.run import Name, Record, Step


class Task(Record, frozen=True, kw_only=True):
    """What agents are asked to do."""

    id: Name
    """The name that a Run's `task` holds."""
    title: str | None = None
    """A line for people."""
    category: str | None = None
    """The kind of work, where tasks are weighed by it."""
    expected_steps: tuple[Step, ...] | None = None
    """Steps on the way; runs of this task that state none of their own are measured against these."""
