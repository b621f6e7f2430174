"""Moments as records and stores hold them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

DAY = 86_400_000_000
"""Microseconds."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def now_microseconds() -> int:
    """The present moment as stores keep it."""
    return time.time_ns() // 1000


def as_utc(moment: datetime) -> datetime:
    """The moment with a zone; one without is taken as UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


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
