"""Columns of a list of runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from steelyard.pages._columns import text_column
from steelyard.pages._page import Column

DECIMALS = {"USD": 4, "s": 1, "tokens": 0, "tool calls": 0, "iterations": 0, "fraction": 3, "ratio": 3}
COUNTS = {"attempt": "attempt", "total_tokens": "tokens"}
DIGEST = re.compile(r"[0-9a-f]{40,}\Z")
MIN_ID_LENGTH = 12


class ListedMetric(Protocol):
    """A metric, as far as a column shows it."""

    @property
    def title(self) -> str: ...

    @property
    def unit(self) -> str: ...


def run_column(name: str, values: Sequence[str | float | None], metrics: Mapping[str, ListedMetric]) -> Column:
    """Return a column of a list of runs: a metric, a count or text."""
    if name in COUNTS:
        return Column(name=name, title=COUNTS[name], values=values, decimals=0)
    if name not in metrics:
        shown = [value if value is None else str(value) for value in values]
        return text_column(name, name.replace("_", " "), _short_ids(shown) if name == "run" else shown)
    metric = metrics[name]
    unit = "" if metric.unit in ("fraction", "ratio") else f", {metric.unit}"
    return Column(name=name, title=metric.title.lower() + unit, values=values, decimals=DECIMALS.get(metric.unit, 3))


def _short_ids(ids: Sequence[str | None]) -> list[str | None]:
    """Return the ids, with content hashes cut to the shortest distinct prefix, which commands accept."""
    digests = [id_ for id_ in ids if id_ is not None and DIGEST.match(id_)]
    length = MIN_ID_LENGTH
    while length < 40 and len({id_[:length] for id_ in digests}) < len(set(digests)):
        length += 4
    return [id_[:length] if id_ is not None and DIGEST.match(id_) else id_ for id_ in ids]
