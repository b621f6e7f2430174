"""Read: from what tools left behind to runs, with a count of what was found, what it cost and what was set aside."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from steelyard.errors import UsageError
from steelyard.formats import PlacedRun
from steelyard.prices import DEFAULT_BOOK, open_book, price_run
from steelyard.records import Finding, Missing, Rejected, Run, RunIds, as_utc
from steelyard.results import FormatCount, ReadSummary
from steelyard.settings import named_path
from steelyard.tables import Gathered, GatheringCount, Progress, gather, without_collection
from steelyard.workflow._opening_runs import PathInput

FINDINGS_KEPT = 1_000


def default_places() -> list[tuple[str, Path]]:
    """Where the installed agents keep their logs, of those that are there."""
    home = Path.home()
    claude = os.environ.get("CLAUDE_CONFIG_DIR")
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    places = [
        *(("Claude Code", Path(part) / "projects") for part in (claude or "").split(",") if part),
        ("Claude Code", home / ".claude" / "projects"),
        ("Claude Code", home / ".config" / "claude" / "projects"),
        ("Codex", codex / "sessions"),
        ("Codex", codex / "archived_sessions"),
        ("Gemini CLI", home / ".gemini" / "tmp"),
        ("opencode", data / "opencode" / "storage" / "message"),
        ("opencode", data / "opencode" / "opencode.db"),
    ]
    if claude:
        places = [
            place for place in places if place[0] != "Claude Code" or str(place[1]).startswith(tuple(claude.split(",")))
        ]
    return [(name, path) for name, path in places if path.exists()]


class RunReading:
    """Runs as they are read; when the iteration is over, `summary` tells what was found."""

    def __init__(
        self,
        paths: Sequence[PathInput] = (),
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        format: str | None = None,  # noqa: A002 # the user's word for it
        prices: str = DEFAULT_BOOK,
        progress: Progress | None = None,
        workers: int | None = None,
    ) -> None:
        looked_in: list[str] = []
        given = [named_path(path) for path in paths]
        if not given:
            places = default_places()
            if not places:
                raise UsageError(
                    "no agent's logs were found in their usual places", hint="name a file or a folder to read"
                )
            given = [path for _, path in places]
            looked_in = [f"{name}: {path}" for name, path in places]
        self._tally = GatheringCount()
        self._book = open_book(prices)
        self._since = since and as_utc(since)
        self._until = until and as_utc(until)
        if self._since and self._until and self._since >= self._until:
            raise UsageError("no run can start before --until and not before --since", hint="--since names the earlier")
        self._gathered = gather(given, format=format, progress=progress, workers=workers, tally=self._tally)
        self.summary = ReadSummary({}, looked_in=tuple(looked_in), book=prices)

    def __iter__(self) -> Iterator[Run]:
        with without_collection():
            yield from self._runs()

    def _runs(self) -> Iterator[Run]:
        ids = RunIds()
        for item in self._gathered:
            if not isinstance(item, PlacedRun):
                self._told(item)
            elif (run := self._named(item, ids)) is not None:
                if self._inside(run):
                    self._count(run, _format(item))
                    yield run
                else:
                    self.summary.outside += 1
        for finding in ids.findings():
            self._told(finding)
        for name, files in self._tally.files.items():
            self.summary.formats.setdefault(name, FormatCount()).files = files
        self.summary.formats = dict(sorted(self.summary.formats.items()))
        self.summary.archives = self._tally.archives
        self.summary.unknown = tuple(self._tally.unknown)
        if self.summary.outside:
            runs = "1 run lies" if self.summary.outside == 1 else f"{self.summary.outside:,} runs lie"
            message = f"{runs} outside the asked-for time, or without a time, and did not count"
            self._told(Finding(code="outside_time", severity="info", message=message))

    def _named(self, entry: PlacedRun, ids: RunIds) -> Run | None:
        """The run with its id; None when it was read before, or when its id was read with other content."""
        streamed = entry.format is not None  # our own records may be more than memory holds
        id_ = ids.admit(entry.run, path=entry.path, line=entry.line, in_memory=not streamed)
        if isinstance(id_, Rejected):
            self._told(id_)
            return None
        if id_ is None or entry.run.id is not None:
            return None if id_ is None else entry.run
        return msgspec.structs.replace(entry.run, id=id_)

    def _inside(self, run: Run) -> bool:
        if self._since is None and self._until is None:
            return True
        moment = run.started_at or run.ended_at
        if moment is None:
            return False
        at = as_utc(moment)
        return (self._since is None or at >= self._since) and (self._until is None or at < self._until)

    def _told(self, item: Gathered) -> None:
        if isinstance(item, Rejected):
            self.summary.set_aside.add(item)
        elif isinstance(item, Finding):
            self.summary.findings_count += 1
            if len(self.summary.findings) < FINDINGS_KEPT:
                self.summary.findings.append(item)

    def _count(self, run: Run, name: str) -> None:
        count = self.summary.formats.setdefault(name, FormatCount())
        count.runs += 1
        usage = run.total_usage
        count.add_calls(run.calls)
        count.add_usage(usage)
        if run.cost_usd is not None:
            count.add_cost(run.cost_usd, bound=(run.provenance or {}).get("cost_usd") == "lower_bound")
        elif usage is None:
            count.cost_unknown_runs += 1
        else:  # a cost from tokens that are a lower bound is one itself
            cost = price_run(run, self._book)
            bound = (run.provenance or {}).get("usage") == "lower_bound"
            if isinstance(cost, Missing):
                cost, bound = price_run(run, self._book, least=True), True
            count.add_cost(None if isinstance(cost, Missing) else cost, bound=bound)


def _format(entry: PlacedRun) -> str:
    return entry.format or (entry.run.source and entry.run.source.format) or "runs"
