"""Seasons, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import counted
from steelyard.results import Season, Seasons, Verification


def season_line(season: Season) -> str:
    """What the season holds and its digest."""
    tasks, submissions, excluded = season.counts
    return (
        f"{season.name}, frozen {season.frozen_at[:16]} UTC: {counted(tasks, 'task')},"
        f" {counted(submissions, 'submission')}, {excluded:,} excluded; sha256 {season.sha256}"
    )


def seasons_lines(seasons: Seasons) -> Iterator[str]:
    """A line a season."""
    if not seasons.seasons:
        yield "No seasons yet. Create one: steelyard arena season create NAME"
    for entry in seasons.seasons:
        yield f"{entry.name}, frozen {entry.frozen_at[:16]} UTC; sha256 {entry.sha256}"


def verification_lines(verification: Verification) -> Iterator[str]:
    """Yield the status of the verification and the failed checks."""
    yield (
        f"{verification.name}: {verification.status}; {counted(len(verification.checks), 'check')} of"
        f" {counted(verification.tasks, 'task')}, {counted(verification.submissions, 'submission')},"
        f" {verification.excluded:,} excluded; sha256 {verification.sha256}"
    )
    for check in verification.checks:
        if not check.holds:
            yield f"{f'{check.task_id}: ' if check.task_id else ''}{check.what}: {check.reason}"
