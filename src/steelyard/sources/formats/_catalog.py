"""Every format: ours, found by standing in the folder, and those of plug-ins."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import steelyard.sources.formats
from steelyard import sources
from steelyard.errors import DeclarationError, UnknownNameError
from steelyard.plugins import PlugIn, plug_ins
from steelyard.settings import FORMATS_PATH
from steelyard.sources.formats._log_format import LogFormat

if TYPE_CHECKING:
    from steelyard.sources.formats._timing_format import TimingFormat

Format: TypeAlias = "LogFormat | TimingFormat"

ENTRY_POINTS = "steelyard.formats"
"""The group of entry points in which a package names its formats."""
Kind = Literal["logs", "own records", "timings"]


def each_log_format() -> Iterator[LogFormat]:
    """Return the formats of runs and tests: ours, those of plug-ins, and our own records, in the order they are asked.

    Each is imported as it is asked for: a folder of one format needs few of them.
    """
    yield from _ours("logs")
    yield from (declared for declared in formats_plugged_in() if isinstance(declared, LogFormat))
    yield from _ours("own records")


def each_timing_format() -> Iterator[TimingFormat]:
    """Return the formats of timings: ours by name, then those of plug-ins."""
    yield from _ours("timings")
    yield from (declared for declared in formats_plugged_in() if not isinstance(declared, LogFormat))


def _ours(kind: Kind) -> Iterator[Any]:  # Any: a format of that kind
    return map(_declared, _modules(kind))


@cache
def _modules(kind: Kind) -> tuple[str, ...]:
    """Those of a kind, by name; our own records are the most general in shape, so they are a kind of their own."""
    folder = (
        importlib.import_module("steelyard.sources.formats.timings") if kind == "timings" else steelyard.sources.formats
    )
    names = sorted(info.name for info in pkgutil.iter_modules(folder.__path__) if not info.ispkg)
    native = kind == "own records"
    return tuple(
        f"{folder.__name__}.{name}" for name in names if name[0] != "_" and name.startswith("native_") == native
    )


@cache
def _declared(module: str) -> Format:
    declared: Format = importlib.import_module(module).FORMAT
    return declared


@cache
def formats_plugged_in() -> tuple[Format, ...]:
    """The formats of plug-ins; a name that is taken is rejected, so none of them can replace one of ours."""
    plugged_in = list(plug_ins(ENTRY_POINTS, FORMATS_PATH))
    if not plugged_in:
        return ()  # before all of ours are imported to know their names
    kinds: tuple[Kind, ...] = ("logs", "own records", "timings")
    homes = {declared.name: "steelyard" for kind in kinds for declared in _ours(kind)}
    declared: list[Format] = []
    for plug_in in plugged_in:
        format_ = _declared_in(plug_in)
        if format_.name in homes:
            message = f"duplicate format name {format_.name!r}"
            raise DeclarationError(message, where=plug_in.where, hint=f"already defined in {homes[format_.name]}")
        homes[format_.name] = plug_in.where
        declared.append(replace(format_, priority="plugin") if isinstance(format_, LogFormat) else format_)
    return tuple(declared)


def _declared_in(plug_in: PlugIn) -> Format:
    loaded = plug_in.loaded
    declared = getattr(loaded, "FORMAT", None) if isinstance(loaded, ModuleType) else loaded
    if not isinstance(declared, (LogFormat, sources.TimingFormat)):
        hint = "define FORMAT = LogFormat(...) or TimingFormat(...); both are in steelyard.sources"
        raise DeclarationError("no FORMAT defined", where=plug_in.where, hint=hint)
    return declared


@cache
def all_formats() -> dict[str, Format]:
    """All formats by name, those of logs before those of timings, each kind in the order in which it is asked."""
    by_name: dict[str, Format] = {}
    for declared in chain[Format](each_log_format(), each_timing_format()):
        if declared.name in by_name:
            raise DeclarationError(f"duplicate format name {declared.name!r}")
        by_name[declared.name] = declared
    return by_name


@cache
def log_formats() -> dict[str, LogFormat]:
    """Return the formats of runs and tests by name, in the order in which they are asked."""
    return {declared.name: declared for declared in each_log_format()}


@cache
def log_format_named(name: str) -> LogFormat:
    """The format of that name, else an error with the nearest one."""
    for declared in each_log_format():
        if declared.name == name:
            return declared
    raise UnknownNameError("format", name, log_formats())
