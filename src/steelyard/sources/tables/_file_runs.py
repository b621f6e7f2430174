"""From paths to runs: walk, decompress, recognize, read in parallel, join."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from steelyard import sources
from steelyard.files import FoundFile, SeenFiles, file_repeated, files_below, files_in
from steelyard.records import NO_LABELS, Finding, Labeler, Labels, Place, Rejected, Run, RunIds
from steelyard.scratch import scratch_folder
from steelyard.sources.formats._catalog import log_format_named
from steelyard.sources.formats._file_reader import FileResult, ReadJob, read_files
from steelyard.sources.formats._log_format import PlacedRun, RunPart
from steelyard.sources.tables._file_results import Gathered, mapped_result, own_items, shown_items, shown_parts
from steelyard.sources.tables._join import assemble

if TYPE_CHECKING:
    from steelyard.sources.mappings._mapping import Mapping
    from steelyard.sources.tables._cluster import Cluster

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and their total."""


DATA_SUFFIXES = frozenset({
    ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".xlsx", ".yaml", ".yml", ".parquet", ".db", ".sqlite", ".eval",
    ".xml",
})  # fmt: skip
"""Suffixes of files that may hold runs."""
KINDS_SHOWN = 6
"""Kinds of files that a finding names."""


@dataclass(slots=True)
class GatheringCount:
    """What a gathering came upon."""

    files: dict[str, int] = field(default_factory=dict)
    """Files by format."""
    unknown: list[str] = field(default_factory=list)
    """Files that no format recognizes."""
    without_runs: dict[str, int] = field(default_factory=dict)
    """Files of a known tool that hold no run, such as its configuration: how many, by `tool: name of the file`."""
    archives: int = 0
    bytes: int = 0
    _not_named: list[str] = field(default_factory=list)
    _empty_of_runs: list[str] = field(default_factory=list)

    def findings(self, *, reason: str) -> Iterator[Finding]:
        """Which files were not used, and why: one finding for each reason, with the files by their suffix."""
        if self._not_named:
            suffixes = Counter(PurePath(path).suffix.lower() or "without suffix" for path in self._not_named)
            ordered = sorted(suffixes.items(), key=lambda kind: (-kind[1], kind[0]))
            kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in ordered[:KINDS_SHOWN])
            more = f", {len(suffixes) - KINDS_SHOWN} more kinds" if len(suffixes) > KINDS_SHOWN else ""
            are_data = bool(DATA_SUFFIXES & suffixes.keys())
            files = "1 file is" if len(self._not_named) == 1 else f"{len(self._not_named):,} files are"
            yield Finding(
                code="not_used",
                severity="warning" if are_data else "info",
                message=f"{files} not used: {reason} ({kinds}{more})",
                places=tuple(Place(where=path) for path in sorted(self._not_named, key=_is_no_data)),
            )
        if self._empty_of_runs:
            count = len(self._empty_of_runs)
            known = sorted(self.without_runs.items())[:KINDS_SHOWN]
            kinds = ", ".join(f"{name} ({number:,})" for name, number in known)
            files = "1 file of a known tool contains" if count == 1 else f"{count:,} files of known tools contain"
            yield Finding(
                code="no_runs_in_file",
                severity="info",
                message=f"{files} no runs: {kinds}",
                places=tuple(Place(where=path) for path in self._empty_of_runs),
            )

    def count(self, result: FileResult, file: FoundFile) -> None:
        """One more file, and what it turned out to be."""
        if result.kind == "archive":
            self.archives += not file.alone
        elif result.kind == "unknown":
            self.unknown.append(file.shown)
            if not file.named:  # one that was named is rejected
                self._not_named.append(file.shown)
        elif result.kind == "no_run":
            name = f"{result.format}: {file.path.name}"
            self.without_runs[name] = self.without_runs.get(name, 0) + 1
            self._empty_of_runs.append(file.shown)
        elif result.format:
            self.files[result.format] = self.files.get(result.format, 0) + 1
            self.bytes += file.size


def _is_no_data(path: str) -> bool:
    """Whether the file can hardly contain runs, by its suffix."""
    return PurePath(path).suffix.lower() not in DATA_SUFFIXES


def gather(
    paths: Sequence[Path],
    *,
    format: str | None = None,  # noqa: A002 # the user's word for it
    mapping: Mapping | None = None,
    labels: Labels = NO_LABELS,
    workers: int | None = None,
    cluster: Cluster | None = None,
    progress: Progress | None = None,
    tally: GatheringCount | None = None,
    own_records: Callable[[Path, str], None] | None = None,
) -> Iterator[Gathered]:
    """The runs of all files below the paths, what was rejected, and findings.

    Our own records' files are streamed as they are met; with `own_records` they are handed to it instead. Everything
    else is put together when all files have been read, since several may report one run. With a mapping, it
    alone reads: the files that were named, and in folders and archives those that it takes by their names. With a
    cluster, its workers read, our own records too. The labels tell submissions apart; they are set later.
    """
    if format is not None:
        log_format_named(format)
    if mapping is not None:
        own_records = None
    counted = tally if tally is not None else GatheringCount()
    with without_collection():
        if cluster is not None:
            yield from sources.gathered_on(
                cluster, paths, sources.ReadSettings(format, mapping, progress, labels), counted
            )
        else:
            yield from _gathered(paths, _Reading(format, mapping, workers, progress, labels), counted, own_records)
    reason = "unknown format" if format is None else f"not {format}"
    yield from counted.findings(reason="not selected by the mapping" if mapping is not None else reason)


class NamedRun(NamedTuple):
    """A run that counts, and its id: its own, or the one that is made from its content."""

    id: str
    entry: PlacedRun

    @property
    def run(self) -> Run:
        """The run under its id."""
        run = self.entry.run
        return run if run.id == self.id else msgspec.structs.replace(run, id=self.id)


def each_once(gathered: Iterable[Gathered], labels: Labels = NO_LABELS) -> Iterator[NamedRun | Rejected | Finding]:
    """Each run once, under its id and with its labels; at the end the findings about them."""
    ids, labeler = RunIds(labels.key if labels else None), Labeler(labels)
    for item in gathered:
        if not isinstance(item, PlacedRun):
            yield item
            continue
        streamed = item.format is not None  # our own records may be more than memory holds
        id_ = ids.admit(item.run, path=item.path, line=item.line, in_memory=not streamed)
        if isinstance(id_, Rejected):
            yield id_
        elif id_ is not None:
            run = labeler.label(item.run, item.path, item.line)
            if isinstance(run, Rejected):
                yield run
            else:
                yield NamedRun(id_, item if run is item.run else msgspec.structs.replace(item, run=run))
    yield from (*ids.findings(), *labeler.findings())


@contextmanager
def without_collection() -> Iterator[None]:
    """Many records are made and none of them in circles: looking for circles would take a sixth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@dataclass(frozen=True, slots=True)
class _Reading:
    """How files are read."""

    format: str | None
    mapping: Mapping | None
    workers: int | None
    progress: Progress | None
    labels: Labels


def _gathered(
    paths: Sequence[Path],
    how: _Reading,
    counted: GatheringCount,
    own_records: Callable[[Path, str], None] | None,
) -> Iterator[Gathered]:
    seen = SeenFiles()
    parts: list[RunPart] = []
    shown: dict[Path, str] = {}
    copies: dict[str, str] = {}
    with scratch_folder() as scratch:
        files: list[FoundFile] = []
        absent: list[Rejected] = []
        for item in files_below(paths, scratch):
            if isinstance(item, FoundFile):
                files.append(item)
            elif isinstance(item, Rejected):
                absent.append(item)
            else:
                yield item
        round_number = 0
        while files:
            round_number += 1
            reading = _Round(files, how, counted)
            for result, file in reading.results():
                parts += shown_parts(result, file)
                yield from shown_items(result, file)
                if any(part.run.id is None for part in result.parts):
                    shown[file.path] = file.shown
                    if (earlier := seen.again(file.path)) in shown:
                        copies[file.shown] = shown[earlier]
                by_place = how.mapping is not None and how.mapping.reads_its_place
                if result.kind == "own" and not by_place and seen.again(file.path, how.labels.key(file.shown)):
                    yield file_repeated(file.shown)
                elif result.kind == "own" and own_records is not None and not file.depth:
                    own_records(file.path, str(result.format))
                elif result.kind == "own":
                    yield from own_items(file, str(result.format), how.mapping)
            files = []
            for number, archive in enumerate(reading.archives):
                for inside in files_in(archive, scratch / f"{round_number}-{number}"):
                    if isinstance(inside, Rejected):
                        yield inside
                    else:
                        files.append(inside)
        yield from absent
        yield from assemble(parts, copies, how.labels)


@dataclass(slots=True)
class _Round:
    """One round over files; archives that it meets are for the next."""

    files: Sequence[FoundFile]
    how: _Reading
    tally: GatheringCount
    archives: list[FoundFile] = field(default_factory=list)

    def results(self) -> Iterator[tuple[FileResult, FoundFile]]:
        """Results in the order of the files, each as soon as those before it are there."""
        total = sum(file.size for file in self.files)
        early: dict[int, FileResult] = {}
        following = done = 0
        for result in self._read():
            early[result.number] = result
            done += self.files[result.number].size
            if self.how.progress:
                self.how.progress(done, total)
            while following in early:
                file = self.files[following]
                ready = early.pop(following)
                following += 1
                self._count(ready, file)
                yield ready, file

    def _read(self) -> Iterator[FileResult]:
        mapping = self.how.mapping
        if mapping is not None:
            return (mapped_result(number, file, mapping) for number, file in enumerate(self.files))
        format_name = self.how.format
        jobs = [(ReadJob(n, file.location, file.named, format_name), file.size) for n, file in enumerate(self.files)]
        return read_files(jobs, workers=self.how.workers)

    def _count(self, result: FileResult, file: FoundFile) -> None:
        if result.kind == "archive":
            self.archives.append(file)
        self.tally.count(result, file)
