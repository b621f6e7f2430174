"""Detect a log with several lines per run: an id that recurs with kinds of events that change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import msgspec

from steelyard.mappings._conversions import plain_text, shown
from steelyard.mappings._header_words import header_words
from steelyard.mappings._layouts import Column, Layout
from steelyard.mappings._mapping import Field, Take
from steelyard.mappings._matching import SURE, Match

KINDS = 30
"""A log has few kinds of events."""
TRIED = 5
"""Maximum number of columns tried as the one that names these kinds."""
NEARLY_ALL = 0.8
"""Of the runs of a log; the first and the last may be cut."""
EVENT_WORDS = frozenset({"event", "evt"})
ADDED = ("cost_usd", "duration_seconds", "tool_calls", "iterations", "usage.")
"""Figures that lines state for their own part of the run."""
TAKES: dict[str, Take] = {"started_at": "min", "ended_at": "max", "verdict": "last", "impl_rate": "last"}
"""How one value comes of several that differ; of all others the first counts."""
SAME = ("agent", "experiment", "tier")
"""What a run has one of: a column that changes within a run is hardly that, as the names of tools are not the agent."""


@dataclass(frozen=True, slots=True)
class EventLines:
    """What the lines of a run share, and what distinguishes them."""

    key: Column
    kind: Column
    runs: Sequence[Sequence[int]]
    """The lines of each run."""

    @property
    def has_a_kind_once_a_run(self) -> bool:
        """Whether some kind of line, such as the start, occurs once in nearly every run."""
        once: Counter[object] = Counter()
        for lines in self.runs:
            kinds = Counter(self.kind.cells[line] for line in lines)
            once.update(kind for kind, count in kinds.items() if count == 1)
        return max(once.values(), default=0) >= NEARLY_ALL * len(self.runs)

    def share_with_one(self, column: Column) -> float:
        """The fraction of runs in which exactly one line has the column."""
        return sum(len(cells) == 1 for cells in self._cells(column)) / len(self.runs)

    def with_id(self, found: Sequence[Match]) -> list[Match]:
        """The matches, with shared by the lines of a run as its id."""
        spec = Field(from_=self.key.name)
        shared = Match("id", self.key, SURE, spec, len(self.key.present), "shared by the lines of a run")
        return [shared, *(match for match in found if match.field != shared.field)]

    def of_runs(self, found: Sequence[Match]) -> tuple[Match, ...]:
        """The matches, each with how one value of a run comes of its lines; the last time is the end.

        Where lines have times, durations of single lines are no sure duration: they leave out the time between.
        """
        made = [self._of_run(match) for match in found]
        started = next((match for match in made if match.field == "started_at" and match.score >= SURE), None)
        if started is None or not started.spec.take:
            return tuple(made)
        made = [
            _of_single_lines(match) if match.field == "duration_seconds" and match.spec.take else match
            for match in made
        ]
        if not any(match.field in ("ended_at", "duration_seconds") and match.score >= SURE for match in made):
            ended = msgspec.structs.replace(started.spec, take=TAKES["ended_at"])
            made.append(replace(started, field="ended_at", spec=ended, remark="the time of the last line"))
        return tuple(made)

    def _of_run(self, match: Match) -> Match:
        is_added = match.field.startswith(ADDED)
        by_run = self._cells(match.column)
        if all(len(cells if is_added else set(map(plain_text, cells))) < 2 for cells in by_run):
            return match
        sums = 'summed over the lines of a run; use take = "last" if lines contain running totals'
        remarks = "; ".join(text for text in (match.remark, sums if is_added else "") if text)
        take = "sum" if is_added else TAKES.get(match.field, "first")
        if match.field in SAME:
            match, remarks = replace(match, score=SURE / 2), "changes within a run"
        return replace(match, spec=msgspec.structs.replace(match.spec, take=take), remark=remarks)

    def _cells(self, column: Column) -> list[list[object]]:
        """What the lines of each run hold."""
        return [[cell for line in lines if (cell := column.cells[line]) is not None] for lines in self.runs]

    def notes(self) -> Iterable[str]:
        """Yield what was detected, and how to correct it."""
        seen = f"{shown(self.key.name)} has {len(self.runs):,} distinct values in {len(self.key.present):,} lines"
        yield f"Each run seems to have several lines: {seen}, and {shown(self.kind.name)} changes."
        yield "If each line is a run, remove [group] and every `take`."


def event_lines(layout: Layout, found: Sequence[Match]) -> EventLines | None:
    """What makes several lines one run; None where each line seems to be a run, as where most have a verdict."""
    sure = {match.column.name: match for match in found if match.score >= SURE}
    verdict = next((match.column for match in sure.values() if match.field == "verdict"), None)
    if verdict is not None and len(verdict.present) * 2 > layout.count:
        return None
    filled = [column for column in layout.columns if len(column.present) * 10 >= layout.count * 9]
    sparse = [
        _mask(line for line, cell in enumerate(column.cells) if cell is not None)
        for column in layout.columns
        if len(column.present) < layout.count
    ]
    kinds = (column for column in filled if column.name not in sure and _tells_events(column, layout, sparse))
    tried = list(islice(kinds, TRIED))
    candidates: list[EventLines] = []
    for key in filled if tried else ():
        runs = _lines_by_cell(key)
        if (key.name not in sure or sure[key.name].field in ("task", "id")) and 1 < len(runs) <= layout.count / 2:
            candidates += [EventLines(key, kind, runs) for kind in tried if kind is not key]

    def likeness(lines: EventLines) -> tuple[float, int]:
        return 0 if verdict is None else lines.share_with_one(verdict), len(lines.runs)

    return max((lines for lines in candidates if lines.has_a_kind_once_a_run), key=likeness, default=None)


def _of_single_lines(duration: Match) -> Match:
    """The duration as a line that the user has to confirm."""
    remark = "sum over lines; the times of the first and last line are more reliable"
    return replace(duration, score=SURE / 2, remark=remark)


def _lines_by_cell(key: Column) -> list[list[int]]:
    found: dict[str | None, list[int]] = defaultdict(list)
    for line, cell in enumerate(key.cells):
        if cell is not None:
            found[plain_text(cell)].append(line)
    return list(found.values())


def _tells_events(column: Column, layout: Layout, sparse: Sequence[int]) -> bool:
    """Whether it holds a few names, and is called an event or decides which other columns are filled."""
    if not all(isinstance(cell, str) for cell in column.present):
        return False
    kinds = _lines_by_cell(column)
    if not 2 <= len(kinds) <= min(KINDS, layout.count / 2):
        return False
    if EVENT_WORDS & set(header_words(column.name)):
        return True
    masks = [_mask(lines) for lines in kinds]
    return any({0, 1} <= {_share(filled, mask) for mask in masks} for filled in sparse)


def _mask(lines: Iterable[int]) -> int:
    """The lines as bits: a wide file has as many pairs of columns as take long to compare line by line."""
    return sum(1 << line for line in lines)


def _share(filled: int, mask: int) -> int | None:
    """1 where all of the lines are filled, 0 where none is."""
    return 1 if filled & mask == mask else 0 if not filled & mask else None
