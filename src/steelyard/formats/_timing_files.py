"""Timing files: the format that recognizes one, and its content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.errors import UnreadableFileError
from steelyard.files import parse_json, read_text
from steelyard.formats._catalog import each_timing_format
from steelyard.formats._timing_format import OpenedFile, TimingFile, TimingFormat, collected
from steelyard.records import Finding, Rejected, Timing
from steelyard.settings import shown_path

_NOT_RESULTS = frozenset({"benchmarks.json", "machine.json"})
"""Files that asv keeps next to its results."""
_RESULT_ENDINGS = (".json", ".json.gz", ".jsonl", ".txt", ".csv")


def open_timings(path: Path) -> tuple[OpenedFile, TimingFormat]:
    """Return the file and the format that recognizes it; raise an error that names the file when none does."""
    text = read_text(path)
    path = shown_path(path)
    for_json = text.lstrip()[:1] in ("{", "[") or not text.strip()
    declared = _recognized(OpenedFile(path, text, None))
    if declared is not None:
        return OpenedFile(path, text, None), declared
    if not for_json:
        raise UnreadableFileError(str(path), "unknown timing file format", hint=_known())
    opened = OpenedFile(path, text, parse_json(text, path))
    declared = _recognized(opened)
    if declared is None:
        raise UnreadableFileError(str(path), "unknown timing file format", hint=_known())
    return opened, declared


def read_timings(path: Path) -> TimingFile:
    """The timings in one file of any known format, or in a folder that is one side."""
    if not path.is_dir():
        opened, declared = open_timings(path)
        return declared.read(opened)
    for declared in each_timing_format():
        if declared.folder_pattern and (files := sorted(path.glob(declared.folder_pattern))):
            return collected(path, declared.name, _each(files))
    results = sorted(
        file
        for file in path.rglob("*")
        if file.name.endswith(_RESULT_ENDINGS) and file.name not in _NOT_RESULTS and file.is_file()
    )
    if len(results) != 1:
        raise UnreadableFileError(
            str(path), f"the directory contains {len(results)} result files", hint="name one of them"
        )
    return read_timings(results[0])


def _each(files: Iterable[Path]) -> Iterator[Timing | Rejected | Finding]:
    for file in files:
        try:
            read = read_timings(file)
        except UnreadableFileError as error:
            yield Rejected(path=error.where or str(file), reason=error.message, hint=error.hint, code=error.kind)
        else:
            yield from read.findings
            yield from read.rejected
            yield from read.timings


def _recognized(opened: OpenedFile) -> TimingFormat | None:
    return next((declared for declared in each_timing_format() if declared.recognizes(opened)), None)


def _known() -> str:
    own = 'custom timings: CSV with the header name,seconds and one line per sample, or JSON {"parse": [0.19, 0.21]}'
    return f"{own}; known: " + ", ".join(declared.name for declared in each_timing_format())
