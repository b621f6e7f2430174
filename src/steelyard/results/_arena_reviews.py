"""Decisions of reviewers and submitters."""

from __future__ import annotations

from typing import Literal

import msgspec

Decision = Literal["accepted", "excluded", "withdrawn", "reinstated"]
"""`withdrawn` is an exclusion by the submitter; `reinstated` reverts an exclusion."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A logged decision on a submission."""

    submission_id: str
    task_id: str
    decision: Decision
    by: str | None
    """The reviewer; None if not given."""
    reason: str | None
    """The reason; required only for an exclusion by a reviewer."""
    decided_at: str

    @property
    def sentence(self) -> str:
        """The decision with who made it, when and why."""
        who = f" by {self.by}" if self.by else ""
        why = f": {self.reason}" if self.reason else "."
        return f"{self.submission_id} in {self.task_id} was {self.decision}{who} on {self.decided_at[:10]}{why}"
