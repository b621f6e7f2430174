"""What one file gives, under the name that the user knows it by: the same wherever it is read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import msgspec

from steelyard import sources
from steelyard.errors import UnreadableFileError
from steelyard.files import FoundFile, is_yaml, packing, rejected_file
from steelyard.records import EMPTY_FILE, Finding, Origin, Rejected, Run
from steelyard.sources import mappings
from steelyard.sources.formats._catalog import log_format_named
from steelyard.sources.formats._file_reader import FileResult
from steelyard.sources.formats._log_format import PlacedRun, RunPart, head_of
from steelyard.sources.formats._run_records import run_refusal

if TYPE_CHECKING:
    from steelyard.sources.mappings._mapping import Mapping

Gathered = PlacedRun | Rejected | Finding


_MAX_TIMINGS = 16 * 1024 * 1024
"""Up to this size, a file of an unknown format is tried as one of timings, for a better hint."""


def mapped_result(number: int, file: FoundFile, mapping: Mapping) -> FileResult:
    """Whether the mapping reads the file; its runs are streamed as our own records are."""
    kind = packing(file.path)
    name = PurePath(file.shown)
    if is_yaml(name):
        name = name.with_suffix(".json")  # it is read as JSON
    if kind is not None and (kind != "yaml" or file.named or mappings.takes(mapping, name.name)):
        return FileResult(number, "archive")
    if file.size and (file.named or mappings.takes(mapping, name.name)):
        return FileResult(number, "own", mapping.format_name)
    return FileResult(number, "unknown")


def shown_parts(result: FileResult, file: FoundFile) -> list[RunPart]:
    """The parts of runs that a file gave."""
    return [_renamed_part(part, file) for part in result.parts] if file.depth else result.parts


def shown_items(result: FileResult, file: FoundFile) -> Iterator[Gathered]:
    """What else it gave: whole runs, what was rejected, and findings."""
    real = file.location
    renamed = file.depth > 0
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


def _not_recognized(file: FoundFile) -> Rejected:
    """Return the rejection of a file that the user named and no format recognizes."""
    proposes = f"steelyard mapping suggest {shlex.quote(file.shown.partition('!/')[0])}"
    hint = f"`{proposes}` suggests a mapping; see also: steelyard formats"
    reason, line = "unknown format", None
    refusal = run_refusal(head_of(file.path))
    if refusal is not None:
        reason, line = f"unknown format; as run records: {refusal.reason}", 1
        advice = (refusal.hint or "").replace("steelyard mapping suggest FILE", proposes)
        hint = advice if proposes in advice else f"{advice}; or {hint}" if advice else hint
    shipped = mappings.shipped_for(PurePath(file.shown).name)
    timings = _timing_format(file)
    if timings is not None:
        reason, line = f"{timings} timings of one side, and no runs", None
        hint = "`steelyard speedup` compares two files of timings"
    elif shipped:
        hint = f"try the mapping {' or '.join(shipped)}; {hint}"
    return Rejected(path=file.shown, line=line, reason=reason, hint=hint, code="unreadable_file")


def _timing_format(file: FoundFile) -> str | None:
    """The benchmark tool's format that the file has, if any: what looks like custom timings may be anything."""
    if file.size > _MAX_TIMINGS:
        return None
    try:
        name = sources.open_timings(file.path)[1].name
    except (UnreadableFileError, OSError):
        return None
    return None if name == "plain" else name


def _renamed_part(part: RunPart, file: FoundFile) -> RunPart:
    scratch = str(file.path).removesuffix(file.shown.rpartition("!/")[2])
    shown = file.shown.rpartition("!/")[0] + "!/"
    owns = part.owns and (part.owns + "/").replace(scratch, shown).rstrip("/")
    notes = tuple(_renamed_finding(note, file) for note in part.notes)
    return msgspec.structs.replace(part, run=_renamed_run(part.run, file), path=file.shown, owns=owns, notes=notes)


def _renamed_run(run: Run, file: FoundFile) -> Run:
    origin = run.source or Origin()
    return msgspec.structs.replace(run, source=msgspec.structs.replace(origin, path=file.shown))


def _renamed_finding(finding: Finding, file: FoundFile) -> Finding:
    places = tuple(
        msgspec.structs.replace(place, where=place.where and place.where.replace(str(file.path), file.shown))
        for place in finding.places
    )
    return msgspec.structs.replace(finding, places=places)


def own_items(file: FoundFile, name: str, mapping: Mapping | None) -> Iterator[Gathered]:
    """The runs in a file of our own records, or in one that the mapping reads, as they are read."""
    try:
        yield from _mapped_items(file, mapping) if mapping else _own_items(file, name)
    except UnreadableFileError as error:
        yield rejected_file(error, file.shown)
    except OSError as error:
        yield Rejected(path=file.shown, reason=error.strerror or str(error), code="unreadable_file")


def _own_items(file: FoundFile, name: str) -> Iterator[Gathered]:
    for item in log_format_named(name).read(file.path):
        if isinstance(item, PlacedRun):
            yield PlacedRun(item.run, file.shown, item.line, name)
        elif isinstance(item, Rejected):
            yield msgspec.structs.replace(item, path=file.shown)
        elif isinstance(item, Finding):
            yield item


def _mapped_items(file: FoundFile, mapping: Mapping) -> Iterator[Gathered]:
    root = Path(str(file.path).removesuffix(file.shown.rpartition("!/")[2])) if file.depth else None
    name = mapping.format_name
    for item in mappings.read_mapped(file.path, mapping, shown=file.shown, root=root):
        yield PlacedRun(item.run, file.shown, item.line, name) if isinstance(item, mappings.MappedRun) else item
