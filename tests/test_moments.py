"""Moments: a zone is never guessed, and `--until` names the first one that is too late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import example, given, strategies as st

import steelyard as sy
from steelyard.errors import UsageError
from steelyard.records import Run, RunChoice, as_utc, end_of, first_and_last, microseconds_of, moment, moment_of

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


times = st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2030, 1, 1)).map(  # noqa: DTZ001 - a zone is added
    lambda time: time.replace(microsecond=time.microsecond // 100_000 * 100_000)
)
zones = st.sampled_from(["Z", "+00:00", "+02:00", "-05:00", ""])
written = (
    st.builds(lambda time, zone: time.isoformat() + zone, times, zones)
    | st.none()
    | st.sampled_from(["zzzz-zz-zzTzz:zz:zzZ", "0", "", 1767323045, 1767323045000])
)


@given(values=st.lists(written, max_size=6) | st.lists(times.map(lambda time: time.isoformat() + "+02:00"), max_size=6))
@example(values=["2026-01-02T03:04:05Z", "zzzz-zz-zzTzz:zz:zzZ"])
def test_the_first_and_the_last_of_many_times_are_those_of_all_of_them(values: list[object]) -> None:
    known = [time for time in map(moment, values) if time is not None]
    assert first_and_last(values) == (min(known, default=None), max(known, default=None))


@pytest.mark.parametrize(
    ("named", "first", "after"),
    [
        ("2026-10", "2026-10-01", "2026-11-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("Last-Month", "2026-02-01", "2026-03-01"),
        ("1m", "2026-03-01", "2026-03-02"),  # February has no 31st
        ("3m", "2026-01-01", "2026-01-02"),
        ("30d", "2026-03-02", "2026-03-03"),
        ("today", "2026-03-31", "2026-04-01"),
        ("Yesterday", "2026-03-30", "2026-03-31"),
        ("this month", "2026-03-01", "2026-04-01"),
    ],
)
def test_months_are_named_as_days_are(named: str, first: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(2026, 3, 31, 12, tzinfo=tz)

    monkeypatch.setattr("steelyard.records._times.datetime", Clock)
    assert moment_of(named, option="since").date().isoformat() == first
    assert end_of(named, option="until").date().isoformat() == after


@pytest.mark.parametrize("named", ["2026-13", "1y", "next month", "999999m", "0000-01"])
def test_what_names_no_time_is_refused_with_what_does(named: str) -> None:
    with pytest.raises(UsageError, match="is not a date") as told:
        end_of(named, option="until")
    assert "2026-01, yesterday or 'last month'" in str(told.value.hint)


def test_a_month_brings_its_own_end_unless_another_is_given() -> None:
    days = ("2026-09-30", "2026-10-01", "2026-10-31", "2026-11-01")
    runs = [{"task": "t", "started_at": f"{day}T12:00:00Z", "cost_usd": 1.0} for day in days]
    assert sy.usage(runs, since="2026-10", tz="UTC").total.cost_usd == 2.0
    assert sy.usage(runs, since="2026-10", until="2026-11", tz="UTC").total.cost_usd == 3.0
    assert sy.usage(runs, since="2026-10-01", tz="UTC").total.cost_usd == 3.0
    assert len(sy.read(runs, since="2026-10")) == 2
    last = (datetime.now(UTC).replace(day=1) - timedelta(days=1)).date().isoformat()
    around = [{"task": "t", "started_at": f"{day}T12:00:00Z"} for day in (last, datetime.now(UTC).date().isoformat())]
    assert len(sy.read(around, since="last month")) == 1
