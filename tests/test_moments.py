"""Moments: a zone is never guessed, and `--until` names the first one that is too late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from steelyard.records import Run, RunChoice, as_utc, microseconds_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_a_moment_without_a_zone_is_utc_and_one_with_a_zone_stays_the_same_moment() -> None:
    assert as_utc(datetime(2026, 1, 31, 12)) == NOON  # noqa: DTZ001 - without a zone is the case
    there = datetime(2026, 1, 31, 14, tzinfo=timezone(timedelta(hours=2)))
    assert as_utc(there) == NOON
    assert microseconds_of(there) == microseconds_of(NOON)


def test_a_run_that_starts_at_the_end_does_not_count_and_one_at_the_beginning_does() -> None:
    choice = RunChoice(since=NOON, until=NOON + timedelta(hours=1))
    moments = {
        NOON - timedelta(microseconds=1): False,
        NOON: True,
        NOON + timedelta(minutes=59): True,
        NOON + timedelta(hours=1): False,
    }
    assert {at: choice.within(Run(task="t", started_at=at)) for at in moments} == moments
    assert not choice.within(Run(task="t"))
