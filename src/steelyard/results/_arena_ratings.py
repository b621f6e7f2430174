"""Assigned and given ratings."""

from __future__ import annotations

import msgspec


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A submission assigned to a reviewer."""

    task_id: str
    entry: str
    """Anonymous name of the submission, for `arena rating add`."""
    reviewer: str
    rated: bool
    """Whether the reviewer has rated it."""
    submission_id: str | None
    """Submission id; None if blinded."""
    assigned_at: str | None
    """Time of the assignment; None if blinded."""
