"""Read: logs and results as runs, with counts of files, runs, tokens, cost and rejected records."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import structs

from steelyard import pages, sources
from steelyard.errors import UnreadableFileError, UsageError
from steelyard.formatting import counted
from steelyard.pages import OnDemand
from steelyard.prices import cost_of, open_price_table
from steelyard.questions._options import ReadOptions
from steelyard.questions._question import question
from steelyard.questions._read_summary import (
    REASONS,
    FormatCount,
    ReadSummary,
    RejectionReason,
    format_count,
    rejected_record,
    total_of,
)
from steelyard.questions._run_input import PathInput, Runs, each_input, log_places, reject_labels, table_of
from steelyard.records import (
    TOKEN_KINDS,
    Finding,
    Missing,
    Redaction,
    Rejected,
    Run,
    RunChooser,
    SetAside,
    Usage,
    calls_in,
    kinds_of,
    one_a_kind,
)
from steelyard.settings import is_stdin, named_path
from steelyard.sources import (
    GatheringCount,
    NamedRun,
    PlacedRun,
    Progress as ReadingProgress,
    each_once,
    gather,
    without_collection,
)

if TYPE_CHECKING:
    from steelyard.sources import RunTable

EVERYTHING = ReadOptions()
BytesProgress: TypeAlias = ReadingProgress
"""Callback with the bytes read and the total."""


@question(ReadOptions)
def read(runs: Runs, options: ReadOptions) -> RunTable:
    """The table of runs in the files and folders, or of the records given, ready to be measured.

    A path that is not there is an error. A table is given back, with the chosen runs alone.

    >>> import steelyard as sy
    >>> sy.read([{"task": "fix-race", "passed": True, "cost_usd": 0.2}, {"task": "fix-race"}], prices="spec")
    RunTable(2 runs, prices spec (1))
    """
    reading = options.reading()
    if isinstance(runs, sources.RunTable):
        reject_labels(reading.labels)
        return sources.choose(runs, reading.choice)
    paths_or_records = list(each_input(runs, reading.mapping))
    if not paths_or_records:
        raise UsageError("nothing to read: no path and no record given", hint="pass paths or run records")
    cluster = options.cluster()
    for given in paths_or_records:
        if cluster is None and isinstance(given, Path) and not given.exists() and not is_stdin(given):
            raise UnreadableFileError(str(given), "no such file or directory", hint="check the path for a typo")
    table = table_of(paths_or_records, reading, format=options.format, cluster=cluster)
    is_piped = any(isinstance(given, Path) and is_stdin(given) for given in paths_or_records)
    if cluster is None and not is_piped and not isinstance(runs, Iterator):
        source = sources.TableSource(
            inputs=runs,
            format=options.format,
            labels=reading.labels,
            mapping=reading.mapping,
            prices=options.prices,
        )
        table = replace(table, source=source)
    return sources.choose(table, reading.choice)


class RunReading:
    """Runs as they are read; `summary` is complete after the iteration."""

    def __init__(
        self,
        paths: Sequence[PathInput] = (),
        *,
        options: ReadOptions = EVERYTHING,
        progress: BytesProgress | None = None,
        workers: int | None = None,
    ) -> None:
        searched_paths: list[str] = []
        given = [named_path(path) for path in paths]
        if not given:
            places = [place for place in log_places() if place.exists]
            given = [Path(place.path) for place in places]
            searched_paths = [f"{place.tool}: {place.path}" for place in places]
        self._tally = GatheringCount()
        self._labels = options.labels()
        self._price_table = open_price_table(options.prices)
        self._chooser = RunChooser(options.choice())
        self._gathered = gather(
            given,
            format=options.format,
            mapping=options.mapping(),
            labels=options.labels(),
            progress=progress,
            workers=workers,
            cluster=options.cluster(),
            tally=self._tally,
        )
        self._searched_paths, self._prices = tuple(searched_paths), options.prices
        self._formats: defaultdict[str, _FormatTally] = defaultdict(_FormatTally)
        self._set_aside = SetAside()
        self._findings: list[Finding] = []

    @property
    def summary(self) -> ReadSummary:
        """Return the counts so far; they are complete after the iteration."""
        formats = {name: tally.count() for name, tally in sorted(self._formats.items())}
        return ReadSummary(
            formats=formats,
            total=total_of(list(formats.values())),
            prices=self._prices,
            archives=self._tally.archives,
            not_recognized=tuple(self._tally.unknown),
            without_runs=dict(self._tally.without_runs),
            searched_paths=self._searched_paths,
            left_out_by_time=self._chooser.outside,
            rejected=OnDemand(self._set_aside, rejected_record),
            rejected_count=len(self._set_aside),
            reasons=tuple(
                RejectionReason(records=count, reason=first.reason, where=first.where, hint=first.advice)
                for first, count in self._set_aside.by_reason()
            ),
            findings=tuple(one_a_kind(self._findings)),
        )

    def __iter__(self) -> Iterator[Run]:
        with without_collection():
            yield from self._runs()

    def entries(self) -> Iterator[NamedRun]:
        """Yield the runs with their ids and places."""
        with without_collection():
            yield from self._entries()

    def _runs(self) -> Iterator[Run]:
        yield from (item.run for item in self._entries())

    def _entries(self) -> Iterator[NamedRun]:
        for item in each_once(self._gathered, self._labels):
            if not isinstance(item, NamedRun):
                self._add_message(item)
            elif self._chooser.keeps(item.run):
                self._count(item.run, _format(item.entry))
                yield item
        for name, files in self._tally.files.items():
            self._formats[name].sums["files"] = files
        for finding in self._chooser.findings():
            self._add_message(finding)

    def note(self, item: Rejected | Finding) -> None:
        """Add a finding, or a record that could not be written."""
        self._add_message(item)

    def _add_message(self, item: Rejected | Finding) -> None:
        if isinstance(item, Rejected):
            self._set_aside.add(item)
        else:
            self._findings.append(item)

    def _count(self, run: Run, name: str) -> None:
        cost = cost_of(run, self._price_table)
        self._formats[name].add(run, cost_usd=cost.usd, is_lower_bound=cost.how == "lower_bound")


TRAJECTORIES = "atif"
"""Name of a directory that gets a trajectory per run instead of Parquet files."""
_UNSAFE = re.compile(r"[^\w.-]+")
MAX_FILE_NAME = 100


def write_trajectories(reading: RunReading, folder: Path) -> None:
    """Write the steps of each run as an ATIF trajectory, without keys and tokens; runs without steps are a finding."""
    without: Counter[str] = Counter()
    names: Counter[str] = Counter()
    with pages.writing(folder):
        folder.mkdir(exist_ok=True)
    for id_, entry in reading.entries():
        redaction = Redaction()
        transcript = sources.transcript_of(entry, redaction)
        if isinstance(transcript, Missing):
            without[transcript.reason] += 1
            continue
        written = sources.atif_trajectory(redaction.tree(structs.replace(entry.run, id=id_)), transcript)
        name = _UNSAFE.sub("-", redaction.text(id_))[:MAX_FILE_NAME].strip(".-") or "run"
        names[name] += 1
        path = folder / (f"{name}.json" if names[name] == 1 else f"{name}-{names[name]}.json")
        with pages.writing(path):
            path.write_bytes(msgspec.json.encode(written))
        for rejected in transcript.rejected:
            reading.note(rejected)
    for reason, count in sorted(without.items()):
        message = f"{counted(count, 'run')} not written: {reason}"
        reading.note(Finding(code="no_steps", message=message))


class _FormatTally:
    """Counts the runs of one format, one after another."""

    def __init__(self) -> None:
        nothing = FormatCount()
        self.tokens = dict(nothing.tokens)
        self.sums: dict[str, Any] = {  # Any: whole numbers or dollars, None until a run reports one
            name: getattr(nothing, name) for name in nothing.__struct_fields__ if name not in ("tokens", *REASONS)
        }

    def add(self, run: Run, *, cost_usd: float | None, is_lower_bound: bool) -> None:
        """One more run with its cost."""
        sums = self.sums
        sums["runs"] += 1
        calls = None if run.calls is None else calls_in(run.calls)
        if calls is not None:
            sums["calls"] = (sums["calls"] or 0) + calls
            sums["calls_known_runs"] += 1
        usage = run.total_usage or Usage()
        total = usage.total
        sums["tokens_unknown_runs" if total is None else "tokens_known_runs"] += 1
        if total is not None:
            sums["total_tokens"] = (sums["total_tokens"] or 0) + total
        for kind, count in zip(TOKEN_KINDS, kinds_of(usage), strict=True):
            if count is not None:
                self.tokens[kind] = (self.tokens[kind] or 0) + count
        if cost_usd is None:
            sums["cost_unknown_runs"] += 1
            return
        how = "cost_lower_bound" if is_lower_bound else "cost_known"
        sums[f"{how}_usd"] = (sums[f"{how}_usd"] or 0.0) + cost_usd
        sums[f"{how}_runs"] += 1

    def count(self) -> FormatCount:
        """Return the counts so far."""
        return format_count({**self.sums, "tokens": dict(self.tokens)})


def _format(entry: PlacedRun) -> str:
    return entry.format or (entry.run.source and entry.run.source.format) or "runs"
