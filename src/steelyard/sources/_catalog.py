"""Every source, found by standing in the folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

import steelyard.sources
from steelyard.errors import BadDeclaration, UnknownName
from steelyard.sources._base import Source


@cache
def _modules() -> tuple[str, ...]:
    """The names of the source modules; those of our own records, the most general, last."""
    names = [info.name for info in pkgutil.iter_modules(steelyard.sources.__path__) if not info.name.startswith("_")]
    return tuple(sorted(names, key=lambda name: (name.startswith("native_"), name)))


def each_source() -> Iterator[Source]:
    """The sources one after another, imported as they are asked for: a folder of one format needs few of them."""
    for name in _modules():
        source: Source = importlib.import_module(f"steelyard.sources.{name}").SOURCE
        yield source


@cache
def sources() -> dict[str, Source]:
    """All sources by name, the most general last."""
    by_name: dict[str, Source] = {}
    for source in each_source():
        if source.name in by_name:
            raise BadDeclaration(f"the source name {source.name!r} is taken twice")
        by_name[source.name] = source
    return dict(sorted(by_name.items(), key=lambda item: (item[1].priority == "last", item[0])))


def source_named(name: str) -> Source:
    """The source of that name, else an error with the nearest one."""
    if name not in sources():
        raise UnknownName("format", name, sources())
    return sources()[name]
