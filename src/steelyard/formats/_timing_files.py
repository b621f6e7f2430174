"""Timing files: the format that recognizes one, and what it says."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import UnreadableFile
from steelyard.files import parse_json, read_text
from steelyard.formats._catalog import each_timing_format
from steelyard.formats._timing_format import OpenedFile, TimingFile, TimingFormat
from steelyard.settings import shown_path


def open_timings(path: Path) -> tuple[OpenedFile, TimingFormat]:
    """The file and the format that recognizes it; refused by name when none does."""
    text = read_text(path)
    path = shown_path(path)
    for_json = text.lstrip()[:1] in ("{", "[") or not text.strip()
    declared = _recognized(OpenedFile(path, text, None))
    if declared is not None:
        return OpenedFile(path, text, None), declared
    if not for_json:
        raise UnreadableFile(str(path), "not a timing file of a known format", hint=_known())
    opened = OpenedFile(path, text, parse_json(text, path))
    declared = _recognized(opened)
    if declared is None:
        raise UnreadableFile(str(path), "not a timing file of a known format", hint=_known())
    return opened, declared


def read_timings(path: Path) -> TimingFile:
    """The timings in one file of any known format."""
    opened, declared = open_timings(path)
    return declared.read(opened)


def _recognized(opened: OpenedFile) -> TimingFormat | None:
    return next((declared for declared in each_timing_format() if declared.recognizes(opened)), None)


def _known() -> str:
    return "known: " + ", ".join(declared.name for declared in each_timing_format())
