"""Every format, found by standing in the folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

import steelyard.formats
from steelyard.errors import BadDeclaration, UnknownName
from steelyard.formats._log_format import LogFormat
from steelyard.formats._timing_format import TimingFormat

_NATIVE = "native_"
"""How the modules of our own records begin: they are the most general in shape, and asked last."""


@cache
def _modules() -> tuple[str, ...]:
    names = [info.name for info in pkgutil.iter_modules(steelyard.formats.__path__) if not info.name.startswith("_")]
    return tuple(sorted(names, key=lambda name: (name.startswith(_NATIVE), name)))


def each_format() -> Iterator[LogFormat | TimingFormat]:
    """The formats one after another, imported as they are asked for: a folder of one format needs few of them."""
    for name in _modules():
        declared: LogFormat | TimingFormat = importlib.import_module(f"steelyard.formats.{name}").FORMAT
        yield declared


def each_log_format() -> Iterator[LogFormat]:
    """Those that tell of runs and tests, in the order in which they are asked."""
    return (declared for declared in each_format() if isinstance(declared, LogFormat))


@cache
def log_formats() -> dict[str, LogFormat]:
    """Those that tell of runs and tests by name, the most general last."""
    by_name: dict[str, LogFormat] = {}
    for declared in each_log_format():
        if declared.name in by_name:
            raise BadDeclaration(f"the format name {declared.name!r} is taken twice")
        by_name[declared.name] = declared
    return dict(sorted(by_name.items(), key=lambda item: (item[1].priority == "last", item[0])))


def log_format_named(name: str) -> LogFormat:
    """The format of that name, else an error with the nearest one."""
    if name not in log_formats():
        raise UnknownName("format", name, log_formats())
    return log_formats()[name]


@cache
def timing_formats() -> tuple[TimingFormat, ...]:
    """Those that tell of timings, by name."""
    declared = [each for each in each_format() if isinstance(each, TimingFormat)]
    return tuple(sorted(declared, key=lambda each: each.name))
