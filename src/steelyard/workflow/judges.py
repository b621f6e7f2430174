"""Judges: whether those who scored the runs agree with each other and with themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import NothingUsable, UsageError
from steelyard.profiles import DEFAULT, Profile, load_profile
from steelyard.records.decode import content_digest, content_id
from steelyard.records.finding import Finding, Rejected
from steelyard.records.run import Judgment, Run
from steelyard.sources._base import Entry
from steelyard.sources._gather import gather
from steelyard.workflow._open import PathInput, Progress

if TYPE_CHECKING:
    from steelyard.standings.judging import Judges, Rating

REJECTED_KEPT = 1_000
"""How many refused records are listed; all are counted."""


def judges(
    runs: PathInput | Sequence[PathInput] | Iterable[Run],
    *,
    profile: str | Profile = DEFAULT,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Judges:
    """Agreement per task and overall, severity, stated against recomputed scores, and contradictions."""
    from steelyard.standings.judging import JudgedRun, examine  # brings numpy and scipy
    from steelyard.statistics.results import check_level
    from steelyard.tables.build import RunTable

    check_level(level)
    if isinstance(runs, RunTable):
        raise UsageError(
            "a table of runs does not hold each judge's words", hint="pass the path or the records themselves"
        )
    chosen = profile if isinstance(profile, Profile) else load_profile(profile)
    reader = _Reader(progress)
    held = [JudgedRun(id_, run.task, _ratings(run.judgments)) for id_, run in reader.read(runs) if run.judgments]
    if not held:
        seen = f"none of the {reader.read_count:,} runs has judgments" if reader.read_count else "there are no runs"
        first = reader.rejected[0] if reader.rejected else None
        raise NothingUsable(seen, where=first.where if first else None, hint=first.reason if first else None)
    return examine(
        held,
        threshold=chosen.findings.judge_pass_threshold,
        tolerance=chosen.findings.judge_score_tolerance,
        profile=chosen.name,
        level=level,
        findings=reader.findings(),
        rejected_count=reader.rejected_count,
    )


def _ratings(judgments: Sequence[Judgment]) -> tuple[Rating, ...]:
    """The judgments with a name for each judge; a judge who judged a run twice counts as two."""
    from steelyard.standings.judging import Rating  # brings numpy and scipy

    seen: Counter[str] = Counter()
    found = []
    for judgment in judgments:
        name = judgment.judge or "unnamed"
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name} #{seen[name]}"
        found.append(Rating(label, judgment.score, judgment.weighted_score, judgment.recomputed_score, judgment.passed))
    return tuple(found)


def _new_id(digest: bytes, seen: Collection[str]) -> str:
    """The id of a record that has none; an equal record before it makes this another attempt."""
    occurrence = 0
    while (id_ := content_id(digest, occurrence)) in seen:
        occurrence += 1
    return id_


class _Reader:
    """Reads records one by one, each run once; what is refused is listed and counted."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.rejected: list[Rejected] = []
        self.rejected_count = 0
        self.read_count = 0

    def read(self, runs: PathInput | Sequence[PathInput] | Iterable[Run]) -> Iterator[tuple[str, Run]]:
        seen: dict[str, bytes] = {}
        for entry in self._entries([runs] if isinstance(runs, (str, PathLike)) else runs):
            digest = content_digest(entry.run)
            id_ = entry.run.id or _new_id(digest, seen)
            if id_ in seen:
                if seen[id_] != digest:
                    reason = f"run {id_!r} was read before with other content"
                    self._reject(Rejected(path=entry.path, line=entry.line, reason=reason, code="id_conflict"))
                continue
            seen[id_] = digest
            self.read_count += 1
            yield id_, entry.run

    def _entries(self, runs: Iterable[PathInput | Run]) -> Iterator[Entry]:
        for number, given in enumerate(runs, 1):
            if isinstance(given, Run):
                yield Entry(given, "records", number)
                continue
            for one in gather([Path(given)]):
                if isinstance(one, Rejected):
                    self._reject(one)
                elif isinstance(one, Entry):
                    if self._progress:
                        self._progress(str(given), 1)
                    yield one

    def _reject(self, rejected: Rejected) -> None:
        self.rejected_count += 1
        if len(self.rejected) < REJECTED_KEPT:
            self.rejected.append(rejected)

    def findings(self) -> list[Finding]:
        """The records that were set aside."""
        listed = [rejected.as_finding() for rejected in self.rejected]
        more = self.rejected_count - len(listed)
        if more > 0:
            listed.append(Finding(code="bad_record", severity="error", message=f"{more:,} more records were set aside"))
        return listed
