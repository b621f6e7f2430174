"""Moments: in logs, as a user types them, and as records and stores hold them. Without a zone they are in UTC."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from time import time_ns
from typing import Any

from steelyard.errors import UsageError

DAY = 86_400_000_000
"""Microseconds."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def now_microseconds() -> int:
    """The present moment as stores keep it."""
    return time_ns() // 1000


def as_utc(moment: datetime) -> datetime:
    """The moment with a zone; one without is taken as UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def between(start: datetime, end: datetime) -> timedelta:
    """From one moment to the other; negative when the second comes first."""
    if start.tzinfo is None and end.tzinfo is None:
        return end - start  # as it is in UTC, without making two moments more
    return as_utc(end) - as_utc(start)


def microseconds_of(moment: datetime) -> int:
    """The moment as stores keep it: whole microseconds since 1970, one without a zone taken as UTC.

    >>> microseconds_of(datetime(1969, 12, 31, 23, 59, 59, 500_000))
    -500000
    """
    return (as_utc(moment) - _BEGINNING) // timedelta(microseconds=1)


def iso(microseconds: int) -> str:
    """The moment as text, in UTC.

    >>> iso(1_500_000)
    '1970-01-01T00:00:01.500000+00:00'
    """
    seconds, rest = divmod(microseconds, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest).isoformat()


def _in_utc(text: str) -> datetime:
    """The moment that an ISO text names; ValueError or OverflowError when it names none."""
    parsed = as_utc(datetime.fromisoformat(text))
    return parsed if parsed.tzinfo is UTC else parsed.astimezone(UTC)


def moment(value: Any) -> datetime | None:  # Any: whatever a log holds where a time should be
    """The time in ISO text or in seconds or milliseconds since 1970; None when it is none.

    >>> moment("2026-01-02T03:04:05Z") == moment(1767323045) == moment(1767323045000)
    True
    """
    try:
        if isinstance(value, str):
            return _in_utc(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def first_and_last(values: Iterable[Any]) -> tuple[datetime | None, datetime | None]:  # Any: as above
    """The earliest and the latest time of many.

    >>> first_and_last(["2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05Z", None])[0] == moment("2026-01-02T03:04:05Z")
    True
    """
    given = list(values)
    texts = [value for value in given if isinstance(value, str)]
    if len(texts) == len(given) and len({(len(text), text[-6:]) for text in texts}) == 1:
        # Written alike and in one zone they stand in the order of their letters: two are read instead of all.
        first, last = moment(min(texts)), moment(max(texts))
        if first is not None and last is not None:
            return first, last
    moments = [time for time in map(moment, given) if time is not None]
    return min(moments, default=None), max(moments, default=None)


def moment_of(given: str | date, *, option: str, zone: tzinfo | None = UTC) -> datetime:
    """The time that an option names: a day, a day and time, or the first of the last days (`30d`, `4w`).

    What names no zone is in `zone`; None is that of the computer.

    >>> moment_of("2026-01-31", option="--since").isoformat()
    '2026-01-31T00:00:00+00:00'
    """
    try:
        if isinstance(given, str):
            ago = _AGO.fullmatch(given.strip())
            given = _days_back(ago, zone) if ago else datetime.fromisoformat(given)
        named = given if isinstance(given, datetime) else datetime.combine(given, time())
        # a time without a zone is the computer's to `astimezone`, as None is here
        placed = named if named.tzinfo is not None or zone is None else named.replace(tzinfo=zone)
        return placed.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{option} {str(given)!r} is not a date", hint="write 2026-01-31, 2026-01-31T12:00:00Z or 30d"
        ) from error


_AGO = re.compile(r"(\d{1,6})([dw])")


def _days_back(ago: re.Match[str], zone: tzinfo | None) -> date:
    """The first of the last days or weeks, today included."""
    days = int(ago[1]) * (7 if ago[2] == "w" else 1)
    return datetime.now(zone).date() - timedelta(days=max(days - 1, 0))


def end_of(given: str | date, *, option: str, zone: tzinfo | None = UTC) -> datetime:
    """The first moment after what an option names: a day is included whole, a time is not.

    >>> end_of("2026-01-31", option="--until").isoformat()
    '2026-02-01T00:00:00+00:00'
    >>> end_of("2026-01-31T12:00", option="--until").isoformat()
    '2026-01-31T12:00:00+00:00'
    """
    moment = moment_of(given, option=option, zone=zone)
    if not _is_day(given):
        return moment
    try:
        day = moment.astimezone(zone).date() + timedelta(days=1)
    except OverflowError:  # the last day that can be written
        return datetime.max.replace(tzinfo=UTC)
    return moment_of(day, option=option, zone=zone)


def _is_day(given: str | date) -> bool:
    if isinstance(given, date):
        return not isinstance(given, datetime)
    try:
        date.fromisoformat(given)
    except ValueError:
        return _AGO.fullmatch(given.strip()) is not None
    return True
