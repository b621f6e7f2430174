from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

REJECTED_KEPT = 1_000
"""How many refused records are listed; all are counted."""

EMPTY_FILE = "empty_file"
"""The code of a file that was set aside because it holds nothing, which is no defect where nothing is an answer."""

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
    stands_for: int = 1
    """How many cases it tells of: the last of many says how many more there are."""


def finding_dict(finding: Finding) -> dict[str, str | None]:
    """A finding as JSON."""
    return {"code": finding.code, "severity": finding.severity, "message": finding.message, "where": finding.where}


_ADVICE = {
    "bad_record": "correct the record, or take it out",
    EMPTY_FILE: "check what should have written it, or leave it out",
    "cut_off": "copy the file again; what stands before the break is read",
    "unreadable_file": "check the file, or leave it out",
}


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was set aside, with the reason and what to do."""

    path: str
    line: int | None = None
    reason: str
    hint: str | None = None
    code: str = "bad_record"
    item: int | None = None
    """Its number from 1 in a list or table, where lines have no meaning."""

    @property
    def where(self) -> str:
        """File and line, or the item's number where lines have no meaning."""
        if self.item is not None:
            return f"{self.path}, item {self.item}"
        return self.path if self.line is None else f"{self.path}:{self.line}"

    @property
    def advice(self) -> str:
        """What to do: the hint, or what holds for all records set aside for such a cause."""
        return self.hint or _ADVICE.get(self.code, _ADVICE["bad_record"])

    def as_finding(self) -> Finding:
        """The finding that lists this record among the others."""
        return Finding(code=self.code, severity="error", message=f"{self.reason} ({self.advice})", where=self.where)


@dataclass(slots=True)
class SetAside:
    """The records that were set aside: the first of them listed, all of them counted."""

    listed: list[Rejected] = field(default_factory=list)
    count: int = 0
    by_reason: dict[str, tuple[Rejected, int]] = field(default_factory=dict)
    """The first record of each reason and how many there are; reasons beyond `REJECTED_KEPT` are only in the count."""

    def add(self, rejected: Rejected) -> None:
        """One more."""
        self.count += 1
        if len(self.listed) < REJECTED_KEPT:
            self.listed.append(rejected)
        first, number = self.by_reason.get(rejected.reason, (rejected, 0))
        if number or len(self.by_reason) < REJECTED_KEPT:
            self.by_reason[rejected.reason] = (first, number + 1)

    def findings(self) -> list[Finding]:
        """Each as a finding, then how many more there are."""
        return set_aside_findings(self.listed, self.count)


def set_aside_findings(listed: Sequence[Rejected], count: int) -> list[Finding]:
    """The listed records as findings, and one for those that were only counted."""
    findings = [rejected.as_finding() for rejected in listed]
    more = count - len(findings)
    if more > 0:
        message = f"{more:,} more records were set aside"
        findings.append(Finding(code="bad_record", severity="error", message=message, stands_for=more))
    return findings
