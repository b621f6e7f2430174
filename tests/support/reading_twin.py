"""A cluster in one process: rows in lists, each map over two halves, so that what Spark does has a plain twin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.sources import GatheringCount, PlacedRun, Row, Work, gather


@dataclass(frozen=True)
class PlainRows:
    rows: Sequence[Row]

    def mapped(self, work: Work) -> PlainRows:
        middle = len(self.rows) // 2
        return PlainRows([*work(iter(self.rows[:middle])), *work(iter(self.rows[middle:]))])

    def by_key(self, work: Work) -> PlainRows:
        ordered = sorted(self.rows, key=lambda row: (row.key, row.order))
        return PlainRows([row for side in (0, 1) for row in work(row for row in ordered if row.key % 2 == side)])

    def tagged(self, *tags: int) -> PlainRows:
        return PlainRows([row for row in self.rows if row.tag in tags])

    def moved(self, keys: Mapping[int, int]) -> PlainRows:
        return PlainRows([row._replace(key=keys.get(row.key, row.key)) for row in self.rows])

    def with_rows(self, others: PlainRows) -> PlainRows:
        return replace(self, rows=[*self.rows, *others.rows])

    def kept(self) -> PlainRows:
        return self

    def in_order(self) -> Iterator[Row]:
        return iter(sorted(self.rows, key=lambda row: row.order))

    def dropped(self) -> None:
        pass


class PlainCluster:
    def rows(self, rows: Sequence[Row]) -> PlainRows:
        return PlainRows(rows)


def gathered(paths: Sequence[Path], **how: object) -> tuple[list[object], GatheringCount]:
    """What a reading tells, in its order, and what it came upon."""
    tally = GatheringCount()
    told = list(gather(paths, tally=tally, **how))  # type: ignore[arg-type] # the words of gather
    return [_without_laziness(item) for item in told], tally


def _without_laziness(item: object) -> object:
    return (item.run, item.path, item.line, item.format) if isinstance(item, PlacedRun) else item
