"""What `doctor` gives: what an installation has, and what it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from steelyard.results._base import Result


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    what: str
    status: Literal["ok", "absent", "broken"]
    detail: str


@dataclass(frozen=True, repr=False)
class DoctorReport(Result):
    """Everything that was looked at."""

    checks: tuple[DoctorCheck, ...]

    @property
    def broken(self) -> bool:
        """Whether something that is needed does not work."""
        return any(check.status == "broken" for check in self.checks)

    def _about(self) -> str:
        return f"{len(self.checks)} checks, {'broken' if self.broken else 'nothing broken'}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a check."""
        return [msgspec.structs.asdict(check) for check in self.checks]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"checks": self.to_dicts()}
