"""Archives and packed files that are not trusted."""

from __future__ import annotations

from steelyard.archives.unpacking import (
    LIMITS,
    ONE_FILE,
    Limits,
    archive_kind,
    bounded_member,
    bounded_zip,
    packing,
    unpack,
)

__all__ = ["unpack", "packing", "archive_kind", "bounded_zip", "bounded_member", "Limits", "LIMITS", "ONE_FILE"]
