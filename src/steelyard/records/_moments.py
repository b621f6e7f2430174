"""Moments: in logs, as a user types them, and as records and stores hold them. Without a zone they are in UTC."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from operator import itemgetter
from time import time_ns
from typing import Any

from steelyard.errors import UsageError
from steelyard.option_names import option as mention

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


def moment(value: Any) -> datetime | None:  # Any: whatever a log holds where a time should be
    """The time in ISO text or in seconds or milliseconds since 1970; None when it is none.

    >>> moment("2026-01-02T03:04:05Z") == moment(1767323045) == moment(1767323045000)
    True
    """
    try:
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            return parsed if parsed.tzinfo is UTC else as_utc(parsed).astimezone(UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
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
    if _written_alike(given):  # in one zone they sort as text: two are read instead of all
        first, last = moment(min(given)), moment(max(given))
        if first is not None and last is not None:
            return first, last
    moments = [time for time in map(moment, given) if time is not None]
    return min(moments, default=None), max(moments, default=None)


def _written_alike(given: Sequence[Any]) -> bool:  # Any: as above
    """Whether all are texts of one length that name the same zone."""
    try:
        return len(set(map(len, given))) == 1 and len(set(map(_ZONE, given))) == 1
    except (TypeError, KeyError):  # what is no text has no length, or no last letters
        return False


_ZONE = itemgetter(slice(-6, None))
"""The last letters of a text, which contain the zone."""


def moment_of(given: str | date, *, option: str, zone: tzinfo | None = UTC) -> datetime:
    """The time that an option names: a day, a time, or the first day of the last ones (`30d`, `1m`) or of a month.

    What names no zone is in `zone`; None is that of the computer.

    >>> moment_of("2026-01-31", option="since").isoformat()
    '2026-01-31T00:00:00+00:00'
    >>> moment_of("2026-02", option="since").isoformat()
    '2026-02-01T00:00:00+00:00'
    """
    try:
        days = _days_named(given, zone)
        named = datetime.combine(days[0], time()) if days else datetime.fromisoformat(str(given))
        # a time without a zone is the computer's to `astimezone`, as None is here
        placed = named if named.tzinfo is not None or zone is None else named.replace(tzinfo=zone)
        return placed.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        hint = "write 2026-01-31, 2026-01-31T12:00:00Z, 30d, 1m, 2026-01, yesterday or 'last month'"
        raise UsageError(f"{mention(option)} {str(given)!r} is not a date", hint=hint) from error


def end_of(given: str | date, *, option: str, zone: tzinfo | None = UTC) -> datetime:
    """The first moment after what an option names: a day or a month is included whole, a time is not.

    >>> end_of("2026-01-31", option="until").isoformat(), end_of("2026-01", option="until").isoformat()
    ('2026-02-01T00:00:00+00:00', '2026-02-01T00:00:00+00:00')
    >>> end_of("2026-01-31T12:00", option="until").isoformat()
    '2026-01-31T12:00:00+00:00'
    """
    moment = moment_of(given, option=option, zone=zone)
    days = _days_named(given, zone)
    if days is None:
        return moment
    try:
        day = days[1] + timedelta(days=1)
    except OverflowError:  # the last day that can be written
        return datetime.max.replace(tzinfo=UTC)
    return moment_of(day, option=option, zone=zone)


def names_month(given: str | date) -> bool:
    """Whether a month is named, which has an end of its own.

    >>> names_month("2026-10"), names_month("last month"), names_month("1m"), names_month("2026-10-01")
    (True, True, False, False)
    """
    return isinstance(given, str) and (bool(_MONTH.fullmatch(given.strip())) or _spaced(given).endswith(" month"))


def _spaced(text: str) -> str:
    return text.strip().lower().replace("-", " ")


_AGO = re.compile(r"(\d{1,6})([dwm])")
_MONTH = re.compile(r"(\d{4})-(\d{2})")


def _days_named(given: str | date, zone: tzinfo | None) -> tuple[date, date] | None:
    """The first and the last day that the text names; None for a time, and for what may be one."""
    if isinstance(given, date):
        return None if isinstance(given, datetime) else (given, given)
    text = given.strip()
    if ago := _AGO.fullmatch(text):
        first = _first_of_last(int(ago[1]), ago[2], datetime.now(zone).date())
        return first, first
    if month := _MONTH.fullmatch(text):
        return _month(date(int(month[1]), int(month[2]), 1))
    if words := _WORDS.get(_spaced(text)):
        return words(datetime.now(zone).date())
    try:
        return (day := date.fromisoformat(text)), day
    except ValueError:
        return None


def _first_of_last(count: int, unit: str, today: date) -> date:
    """The first of the last days, weeks or months, today included."""
    if unit != "m":
        return today - timedelta(days=max(count * (7 if unit == "w" else 1) - 1, 0))
    if not count:
        return today
    year, month = divmod(today.year * 12 + today.month - 1 - count, 12)
    same_day = date(year, month + 1, min(today.day, monthrange(year, month + 1)[1]))
    return same_day + timedelta(days=1)


def _month(day: date) -> tuple[date, date]:
    return day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1])


_WORDS: dict[str, Callable[[date], tuple[date, date]]] = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (today - timedelta(days=1),) * 2,
    "this month": _month,
    "last month": lambda today: _month(today.replace(day=1) - timedelta(days=1)),
}
"""The first and the last day that words mean."""
