"""The runs of files, as every verb gathers them."""

from __future__ import annotations

from pathlib import Path

from steelyard.records import Rejected, Run
from steelyard.sources import PlacedRun, gather


def runs(*paths: Path) -> list[Run]:
    """Every run that the files tell of."""
    return [item.run for item in gather(list(paths)) if isinstance(item, PlacedRun)]


def only(*paths: Path) -> Run:
    """The one run that the files tell of; where there is none, what was rejected."""
    items = list(gather(list(paths)))
    found = [item.run for item in items if isinstance(item, PlacedRun)]
    rejected = "; ".join(f"{item.where}: {item.reason}" for item in items if isinstance(item, Rejected))
    named = ", ".join(map(str, paths))
    assert len(found) == 1, f"{len(found)} runs in {named}; rejected: {rejected or 'nothing'}"
    return found[0]
