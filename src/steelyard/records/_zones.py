"""Days in a reader's time zone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any, TypeAlias

from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.records._moments import as_utc

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
