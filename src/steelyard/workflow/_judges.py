"""Judges: whether those who scored the runs agree with each other and with themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import NothingUsable, UsageError
from steelyard.formats import PlacedRun
from steelyard.profiles import DEFAULT, Profile, load_profile
from steelyard.records import Finding, Judgment, Rejected, Run, RunIds, SetAside
from steelyard.tables import gather
from steelyard.workflow._measure import check_profile, nothing_read
from steelyard.workflow._opening_runs import Progress, RunsInput, each_input

if TYPE_CHECKING:
    from steelyard.standings import Judges, Rating


def judges(
    runs: RunsInput,
    *,
    profile: str | Profile = DEFAULT,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Judges:
    """Agreement per task and overall, severity, stated against recomputed scores, and contradictions."""
    from steelyard.standings import JudgedRun, examine  # brings numpy and scipy
    from steelyard.statistics import check_level
    from steelyard.tables import RunTable

    check_level(level)
    if isinstance(runs, RunTable):
        raise UsageError(
            "a table of runs does not hold each judge's words", hint="pass the path or the records themselves"
        )
    chosen = profile if isinstance(profile, Profile) else load_profile(profile)
    check_profile(chosen)
    reader = _Reader(progress)
    judged_runs = [JudgedRun(id_, run.task, _ratings(run.judgments)) for id_, run in reader.read(runs) if run.judgments]
    if not judged_runs:
        if reader.read_count == 0:
            raise nothing_read(reader.set_aside.listed, reader.set_aside.count)
        raise NothingUsable(f"none of the {reader.read_count:,} runs has judgments")
    return examine(
        judged_runs,
        threshold=chosen.findings.judge_pass_threshold,
        tolerance=chosen.findings.judge_score_tolerance,
        profile=chosen.name,
        level=level,
        findings=reader.findings(),
        rejected_count=reader.set_aside.count,
    )


def _ratings(judgments: Sequence[Judgment]) -> tuple[Rating, ...]:
    """The judgments with a name for each judge; a judge who judged a run twice counts as two."""
    from steelyard.standings import Rating  # brings numpy and scipy

    seen: Counter[str] = Counter()
    ratings = []
    for judgment in judgments:
        name = judgment.judge or "unnamed"
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name} #{seen[name]}"
        ratings.append(
            Rating(label, judgment.score, judgment.weighted_score, judgment.recomputed_score, judgment.passed)
        )
    return tuple(ratings)


class _Reader:
    """Reads records one by one, each run once; what is refused is listed and counted."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._ids = RunIds()
        self._notes: list[Finding] = []
        self.set_aside = SetAside()
        self.read_count = 0

    def read(self, runs: RunsInput) -> Iterator[tuple[str, Run]]:
        for entry in self._entries(runs):
            id_ = self._ids.admit(entry.run, path=entry.path, line=entry.line)
            if isinstance(id_, Rejected):
                self.set_aside.add(id_)
            elif id_ is not None:
                self.read_count += 1
                yield id_, entry.run

    def _entries(self, runs: RunsInput) -> Iterator[PlacedRun]:
        given = list(each_input(runs))
        for item in gather([path for path in given if isinstance(path, Path)]):
            if isinstance(item, Rejected):
                self.set_aside.add(item)
            elif isinstance(item, Finding):
                self._notes.append(item)
            else:
                if self._progress:
                    self._progress(item.path, 1)
                yield item
        yield from (entry for entry in given if isinstance(entry, PlacedRun))

    def findings(self) -> list[Finding]:
        """The records that were set aside, and what was found while reading."""
        return [*self.set_aside.findings(), *self._notes, *self._ids.findings()]
