"""Days and times that options name."""

from __future__ import annotations

from datetime import UTC, datetime

from steelyard.errors import UsageError
from steelyard.records import as_utc


def moment_of(text: str, *, option: str) -> datetime:
    """The time that an option names: a day, or a day and time; without a zone it is UTC."""
    try:
        return as_utc(datetime.fromisoformat(text)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option} {text!r} is not a date", hint="write 2026-01-31 or 2026-01-31T12:00:00Z") from error
