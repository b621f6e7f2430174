"""Tasks of an arena."""

from __future__ import annotations

import msgspec

from steelyard.formatting import counted

NO_CRITERIA = "no criteria: correctness is 100 by the specification"
"""Note of a task without criteria."""


def criteria_text(count: int) -> str:
    """Return the number of criteria of a task, or what correctness is without any."""
    return counted(count, "criterion", "criteria") if count else NO_CRITERIA


class FilesKept(msgspec.Struct, frozen=True):
    """Task files in the store."""

    n: int
    sha256: str
    """SHA-256 of directory names, relative file paths and contents."""


class CombinationBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """Baseline of one tool and model."""

    agent: str | None
    model: str | None
    submissions: int
    baseline: dict[str, float | str] | None
    """With `last_updated`, the time of the last submission; None if there are too few."""
    reason: str | None
    """Why there is no baseline; None if there is one."""
