"""From paths to runs: walk, unpack, recognize, read in parallel, put together."""

from __future__ import annotations

import gc
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from steelyard.errors import UnreadableFile
from steelyard.files import Found, SeenFiles, file_repeated, files_below, files_in, packing, rejected_file
from steelyard.formats import (
    FileResult,
    PlacedRun,
    ReadJob,
    RunPart,
    head_of,
    log_format_named,
    read_files,
    run_refusal,
)
from steelyard.records import EMPTY_FILE, NO_LABELS, Finding, Labeler, Labels, Origin, Rejected, Run, RunIds
from steelyard.scratch import scratch_folder
from steelyard.tables._joining import assemble

if TYPE_CHECKING:
    from steelyard.mappings import Mapping

Progress = Callable[[int, int], None]
"""Told how many bytes of how many have been read."""

Gathered = PlacedRun | Rejected | Finding


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


def gather(
    paths: Sequence[Path],
    *,
    format: str | None = None,  # noqa: A002 # the user's word for it
    mapping: Mapping | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    tally: GatheringCount | None = None,
    own_records: Callable[[Path, str], None] | None = None,
) -> Iterator[Gathered]:
    """The runs of all files below the paths, what was set aside, and findings.

    Our own records' files are streamed as they are met; with `own_records` they are handed to it instead. Everything
    else is put together when all files have been read, since one run may be told of by several. With a mapping, it
    alone reads: the files that were named, and in folders and archives those that it takes by their names.
    """
    if format is not None:
        log_format_named(format)
    if mapping is not None:
        own_records = None
    with without_collection():
        yield from _gathered(paths, _Reading(format, mapping, workers, progress), tally, own_records)


class NamedRun(NamedTuple):
    """A run that counts, and its id: its own, or the one that is made from its content."""

    id: str
    entry: PlacedRun

    @property
    def run(self) -> Run:
        """The run under its id."""
        run = self.entry.run
        return run if run.id is not None else msgspec.structs.replace(run, id=self.id)


def each_once(gathered: Iterable[Gathered], labels: Labels = NO_LABELS) -> Iterator[NamedRun | Rejected | Finding]:
    """Each run once, under its id and with its labels; at the end what is to be said of them."""
    ids, labeler = RunIds(), Labeler(labels)
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


def _gathered(
    paths: Sequence[Path],
    how: _Reading,
    tally: GatheringCount | None,
    own_records: Callable[[Path, str], None] | None,
) -> Iterator[Gathered]:
    counted = tally if tally is not None else GatheringCount()
    seen = SeenFiles()
    parts: list[RunPart] = []
    shown: dict[Path, str] = {}
    copies: dict[str, str] = {}
    with scratch_folder() as scratch:
        files: list[Found] = []
        absent: list[Rejected] = []
        for item in files_below(paths, scratch):
            if isinstance(item, Found):
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
                yield from _told(result, file, parts)
                if any(part.run.id is None for part in result.parts):
                    shown[file.path] = file.shown
                    if (earlier := seen.again(file.path)) in shown:
                        copies[file.shown] = shown[earlier]
                by_place = how.mapping is not None and how.mapping.reads_its_place
                if result.kind == "own" and not by_place and seen.again(file.path):
                    yield file_repeated(file.shown)
                elif result.kind == "own" and own_records is not None and not file.depth:
                    own_records(file.path, str(result.format))
                elif result.kind == "own":
                    yield from _own(file, str(result.format), how.mapping)
            files = []
            for number, archive in enumerate(reading.archives):
                for inside in files_in(archive, scratch / f"{round_number}-{number}"):
                    if isinstance(inside, Rejected):
                        yield inside
                    else:
                        files.append(inside)
        yield from absent
        yield from assemble(parts, copies)


@dataclass(slots=True)
class _Round:
    """One round over files; archives that it meets are for the next."""

    files: Sequence[Found]
    how: _Reading
    tally: GatheringCount
    archives: list[Found] = field(default_factory=list)

    def results(self) -> Iterator[tuple[FileResult, Found]]:
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
        if self.how.mapping is not None:
            return map(self._mapped, range(len(self.files)))
        format_name = self.how.format
        jobs = [(ReadJob(n, str(file.path), file.named, format_name), file.size) for n, file in enumerate(self.files)]
        return read_files(jobs, workers=self.how.workers)

    def _mapped(self, number: int) -> FileResult:
        """Whether the mapping reads the file; its runs are streamed as our own records are."""
        from steelyard.mappings import takes  # makes some twenty classes that readers of logs do not need

        file, mapping = self.files[number], self.how.mapping
        assert mapping is not None
        if packing(file.path):
            return FileResult(number, "archive")
        if file.size and (file.named or takes(mapping, PurePath(file.shown).name)):
            return FileResult(number, "own", mapping.format_name)
        return FileResult(number, "unknown")

    def _count(self, result: FileResult, file: Found) -> None:
        if result.kind == "archive":
            self.archives.append(file)
            self.tally.archives += not file.alone
        elif result.kind == "unknown":
            self.tally.unknown.append(file.shown)
        elif result.kind == "no_run":
            name = f"{result.format}: {file.path.name}"
            self.tally.without_runs[name] = self.tally.without_runs.get(name, 0) + 1
        elif result.format:
            self.tally.files[result.format] = self.tally.files.get(result.format, 0) + 1
            self.tally.bytes += file.size


def _told(result: FileResult, file: Found, parts: list[RunPart]) -> Iterator[Gathered]:
    """What a file gave, under the name that the user knows it by."""
    real = str(file.path)
    renamed = file.depth > 0
    parts.extend(_renamed_part(part, file) if renamed else part for part in result.parts)
    for entry in result.entries:
        yield PlacedRun(_renamed_run(entry.run, file), file.shown, entry.line) if renamed else entry
    for rejected in result.rejected:
        yield msgspec.structs.replace(rejected, path=rejected.path.replace(real, file.shown)) if renamed else rejected
    for finding in result.findings:
        yield _renamed_finding(finding, file) if renamed else finding
    if result.kind == "unknown" and file.named:
        if file.size:
            yield _not_recognized(file)
        else:
            yield Rejected(path=file.shown, reason="the file is empty", code=EMPTY_FILE)


def _not_recognized(file: Found) -> Rejected:
    """What is said of a file that the user named and no format recognizes."""
    from steelyard.mappings import shipped_for  # makes some twenty classes that readers of logs do not need

    proposes = f"steelyard map {shlex.quote(file.shown)}"
    hint = f"`{proposes}` proposes a mapping; steelyard formats lists the formats"
    reason, line = "not recognized as any known format", None
    refused = run_refusal(head_of(file.path))
    if refused is not None:
        reason, line = f"not recognized; as run records: {refused.reason}", 1
        told = (refused.hint or "").replace("steelyard map FILE", proposes)
        hint = told if proposes in told else f"{told}; or {hint}" if told else hint
    shipped = shipped_for(PurePath(file.shown).name)
    if shipped:
        hint = f"{' or '.join(f'--map {name}' for name in shipped)} may read it; {hint}"
    return Rejected(path=file.shown, line=line, reason=reason, hint=hint, code="unreadable_file")


def _renamed_part(part: RunPart, file: Found) -> RunPart:
    scratch = str(file.path).removesuffix(file.shown.rpartition("!/")[2])
    shown = file.shown.rpartition("!/")[0] + "!/"
    owns = part.owns and (part.owns + "/").replace(scratch, shown).rstrip("/")
    notes = tuple(_renamed_finding(note, file) for note in part.notes)
    return msgspec.structs.replace(part, run=_renamed_run(part.run, file), path=file.shown, owns=owns, notes=notes)


def _renamed_run(run: Run, file: Found) -> Run:
    origin = run.source or Origin()
    return msgspec.structs.replace(run, source=msgspec.structs.replace(origin, path=file.shown))


def _renamed_finding(finding: Finding, file: Found) -> Finding:
    places = tuple(
        msgspec.structs.replace(place, where=place.where and place.where.replace(str(file.path), file.shown))
        for place in finding.places
    )
    return msgspec.structs.replace(finding, places=places)


def _own(file: Found, name: str, mapping: Mapping | None) -> Iterator[Gathered]:
    try:
        yield from _mapped_items(file, mapping) if mapping else _own_items(file, name)
    except UnreadableFile as error:
        yield rejected_file(error, file.shown)
    except OSError as error:
        yield Rejected(path=file.shown, reason=error.strerror or str(error), code="unreadable_file")


def _own_items(file: Found, name: str) -> Iterator[Gathered]:
    for item in log_format_named(name).read(file.path):
        if isinstance(item, PlacedRun):
            yield PlacedRun(item.run, file.shown, item.line, name)
        elif isinstance(item, Rejected):
            yield msgspec.structs.replace(item, path=file.shown)
        elif isinstance(item, Finding):
            yield item


def _mapped_items(file: Found, mapping: Mapping) -> Iterator[Gathered]:
    from steelyard.mappings import MappedRun, read_mapped  # as above

    root = Path(str(file.path).removesuffix(file.shown.rpartition("!/")[2])) if file.depth else None
    name = mapping.format_name
    for item in read_mapped(file.path, mapping, shown=file.shown, root=root):
        yield PlacedRun(item.run, file.shown, item.line, name) if isinstance(item, MappedRun) else item
