"""Days and times that options name."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from steelyard.errors import UsageError
from steelyard.records import as_utc


def moment_of(given: str | date, *, option: str) -> datetime:
    """The time that an option names: a day, or a day and time; without a zone it is UTC.

    >>> moment_of("2026-01-31", option="--since").isoformat()
    '2026-01-31T00:00:00+00:00'
    """
    if isinstance(given, datetime):
        return as_utc(given).astimezone(UTC)
    if isinstance(given, date):
        return datetime.combine(given, time(), UTC)
    try:
        return as_utc(datetime.fromisoformat(given)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option} {given!r} is not a date", hint="write 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error


def end_of(given: str | date, *, option: str) -> datetime:
    """The first moment after what an option names: a day is included whole, a time is not.

    >>> end_of("2026-01-31", option="--until").isoformat()
    '2026-02-01T00:00:00+00:00'
    >>> end_of("2026-01-31T12:00", option="--until").isoformat()
    '2026-01-31T12:00:00+00:00'
    """
    moment = moment_of(given, option=option)
    if not _is_day(given):
        return moment
    last_day = moment.date() == date.max
    return datetime.max.replace(tzinfo=UTC) if last_day else moment + timedelta(days=1)


def _is_day(given: str | date) -> bool:
    if isinstance(given, date):
        return not isinstance(given, datetime)
    try:
        date.fromisoformat(given)
    except ValueError:
        return False
    return True
