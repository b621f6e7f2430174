"""Result of `doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from steelyard.results._base import Result


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check."""

    what: str
    status: Literal["ok", "absent", "broken"]
    detail: str


@dataclass(frozen=True, repr=False)
class DoctorReport(Result):
    """All checks."""

    checks: tuple[DoctorCheck, ...]

    @property
    def broken(self) -> bool:
        """Whether a required check failed."""
        return any(check.status == "broken" for check in self.checks)

    def _about(self) -> str:
        return f"{len(self.checks)} checks, {'failed' if self.broken else 'passed'}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one row per check."""
        return [msgspec.structs.asdict(check) for check in self.checks]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"checks": self.to_dicts()}
