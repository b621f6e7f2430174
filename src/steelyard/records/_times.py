"""Times in logs, options, records and stores, and days in a time zone. A time without a zone is in UTC."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from operator import itemgetter
from time import time_ns
from typing import Any, TypeAlias

from steelyard.errors import UsageError
from steelyard.option_names import option, option as mention

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


LOCAL = "local"
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")
Zone: TypeAlias = tzinfo | None
"""A time zone; None is that of the computer, whose rules only the system knows."""


def zone_of(name: str) -> Zone:
    """The time zone that an option names: `local`, `UTC`, `+02:00` or a place such as `Europe/Berlin`.

    >>> zone_of("+02:00").utcoffset(None)
    datetime.timedelta(seconds=7200)
    """
    if name == LOCAL:
        return None
    if name.upper() in ("UTC", "Z"):
        return UTC
    if offset := _OFFSET.fullmatch(name):
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        if ahead < timedelta(days=1):
            return timezone(ahead if offset[1] == "+" else -ahead)
    from zoneinfo import ZoneInfo, available_timezones  # 10 ms that only a named place needs

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:  # a path, a folder, or no such place
        known = available_timezones()
        hint = "use local, UTC, +02:00 or a name such as Europe/Berlin" if known else "pip install tzdata, or +02:00"
        raise UsageError(f"unknown time zone {name!r} ({option('tz')})", hint=hint) from error


def in_zone(moment: datetime, zone: Zone) -> datetime:
    """The moment as clocks in the zone show it."""
    try:
        return as_utc(moment).astimezone(zone)
    except (OverflowError, OSError, ValueError):  # within hours of the first or last day that can be written
        return as_utc(moment)


def day_start(day: date, zone: Zone) -> datetime:
    """The first moment of a day in the zone."""
    try:
        return datetime.combine(day, time(), zone).astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        return datetime.combine(day, time(), UTC)


class DayFinder:
    """The day of each of many moments, most of which are on the same day as the one before."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self._ends: dict[date, tuple[datetime, datetime]] = {}
        self._met: dict[date, dict[date, tuple[datetime, datetime]]] = {}
        """By the day that a moment has in writing, the days in the zone: to ask the zone takes ten times as long."""
        self._day = date.min
        self._start = self._end = datetime.min.replace(tzinfo=UTC)

    def day_of(self, moment: datetime | None) -> date | None:
        """Return the day of the moment in the zone; None for no moment."""
        if moment is None:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if self._start <= moment < self._end:
            return self._day
        met = self._met.setdefault(moment.date(), {})
        for day, (start, end) in met.items():
            if start <= moment < end:
                self._day, self._start, self._end = day, start, end
                return day
        self._day = in_zone(moment, self._zone).date()
        ends = self._ends.get(self._day) or self._ends.setdefault(self._day, self._ends_of(self._day))
        self._start, self._end = met[self._day] = ends
        return self._day

    def days_of(self, moments: Sequence[datetime | None]) -> list[date | None]:
        """The day of each; moments of one day, as those of most runs are, take two looks."""
        try:
            ordered: list[Any] = sorted(moments)  # Any: what cannot be compared is seen below
            day = self.day_of(ordered[0])
            if self._start <= ordered[0] and ordered[-1] < self._end:
                return [day] * len(ordered)
        except (TypeError, IndexError):  # one is not known, or has no zone where others have one; or there is none
            pass
        return [self.day_of(moment) for moment in moments]

    def _ends_of(self, day: date) -> tuple[datetime, datetime]:
        """Return its first moment and the next day's; the same moment twice if clocks change on that day."""
        start = day_start(day, self._zone)
        end = day_start(day + timedelta(days=1), self._zone) if day < date.max else start
        return (start, end) if end - start == timedelta(days=1) else (start, start)  # clocks did not change
