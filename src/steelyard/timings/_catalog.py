"""Every timing source, found by standing in the folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

import steelyard.timings
from steelyard.errors import UnreadableFile
from steelyard.settings import shown_path
from steelyard.timings._base import Opened, TimingFile, TimingSource, parse_json, read_text


@cache
def timing_sources() -> tuple[TimingSource, ...]:
    """All formats of timings, by name."""
    names = sorted(
        info.name for info in pkgutil.iter_modules(steelyard.timings.__path__) if not info.name.startswith("_")
    )
    return tuple(importlib.import_module(f"steelyard.timings.{name}").SOURCE for name in names)


def open_timings(path: Path) -> tuple[Opened, TimingSource]:
    """The file and the source that recognises it; refused by name when none does."""
    text = read_text(path)
    path = shown_path(path)
    for_json = text.lstrip()[:1] in ("{", "[") or not text.strip()
    source = _recognised(Opened(path, text, None))
    if source is not None:
        return Opened(path, text, None), source
    if not for_json:
        raise UnreadableFile(str(path), "not a timing file of a known format", hint=_known())
    opened = Opened(path, text, parse_json(text, path))
    source = _recognised(opened)
    if source is None:
        raise UnreadableFile(str(path), "not a timing file of a known format", hint=_known())
    return opened, source


def read_timings(path: Path) -> TimingFile:
    """The timings in one file of any known format."""
    opened, source = open_timings(path)
    return source.read(opened)


def _recognised(opened: Opened) -> TimingSource | None:
    return next((source for source in timing_sources() if source.recognises(opened)), None)


def _known() -> str:
    return "known: " + ", ".join(source.name for source in timing_sources())
