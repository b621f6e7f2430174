from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["info", "warning", "error"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader of the numbers should know: a contradiction, a gap, a departure from what was expected."""

    code: str
    """What kind of thing was found, as a stable word for scripts."""
    severity: Severity = "warning"
    """`info` explains, `warning` casts doubt on a number, `error` means a record was not used."""
    message: str
    """The sentence for a person."""
    where: str | None = None
    """File and line, run id or group; None when it is about the whole input."""


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was set aside, with the reason and what to do."""

    path: str
    line: int | None = None
    reason: str
    hint: str | None = None
    code: str = "bad_record"

    @property
    def where(self) -> str:
        """File and line, the line left out where it has no meaning."""
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def as_finding(self) -> Finding:
        """The finding that lists this record among the others."""
        advice = f" ({self.hint})" if self.hint else ""
        return Finding(code=self.code, severity="error", message=f"{self.reason}{advice}", where=self.where)
