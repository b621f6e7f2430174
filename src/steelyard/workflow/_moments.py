"""Days and times that options name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from steelyard.errors import UsageError
from steelyard.records.run import as_utc

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(text: str, *, option: str) -> datetime:
    """The time that an option names: a day, or a day and time; without a zone it is UTC."""
    try:
        return as_utc(datetime.fromisoformat(text))
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is not a date", hint="write 2026-01-31 or 2026-01-31T12:00:00Z") from error


def microseconds(moment: datetime) -> int:
    """The moment as a store keeps it: whole microseconds since 1970.

    >>> microseconds(moment_of("1970-01-02", option="--since"))
    86400000000
    """
    return (moment - _BEGINNING) // timedelta(microseconds=1)
