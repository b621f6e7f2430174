"""Where each benchmark of each attempt stands in the pool, under nop, oracle and the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.speedups._sides import Ints, Pool, Side

ABSENT = -1


@dataclass(frozen=True, eq=False)
class Column:
    """A number for every row of the table, kept short: in most attempts they simply count up from a base."""

    starts: Ints
    """First row of each attempt, and one past the last."""
    bases: Ints
    """The number at each attempt's first row."""
    others: dict[int, Ints]
    """Attempts whose numbers do not count up, by position."""

    def numbers(self, first: int, last: int) -> Ints:
        """The numbers of the attempts from `first` up to `last`, which is not among them."""
        starts = self.starts[first : last + 1]
        found = np.repeat(self.bases[first:last] - starts[:-1], np.diff(starts))
        found += np.arange(starts[0], starts[-1])
        if self.others:
            for index in range(first, last):
                if index in self.others:
                    start, stop = self.starts[index : index + 2] - starts[0]
                    found[start:stop] = self.others[index]
        return found


@dataclass(frozen=True, eq=False)
class Rows:
    """For each row of the table: its position in the nop side, and its row of the pool under each of the three."""

    starts: Ints
    local: Column
    nop: Column
    oracle: Column
    agent: Column
    """-1 where the side does not have the benchmark; the same under oracle."""


def rows_of(trios: Sequence[tuple[Side, Side, Side]], pool: Pool) -> Rows:
    """The rows of these attempts, each given as nop, oracle and the agent's side."""
    measured = {id(nop): np.flatnonzero(nop.measured) for nop in {id(trio[0]): trio[0] for trio in trios}.values()}
    sizes = np.array([len(measured[id(nop)]) for nop, _, _ in trios], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    partly = {
        index: measured[id(nop)] for index, (nop, _, _) in enumerate(trios) if len(measured[id(nop)]) < len(nop.names)
    }
    local = Column(starts, np.zeros(len(trios), dtype=np.int64), partly)
    columns = [_column(trios, which, measured, starts, pool) for which in range(3)]
    return Rows(starts, local, columns[0], columns[1], columns[2])


def _column(
    trios: Sequence[tuple[Side, Side, Side]], which: int, measured: dict[int, Ints], starts: Ints, pool: Pool
) -> Column:
    bases = np.array([pool.row(trio[which]) for trio in trios], dtype=np.int64)
    found: dict[tuple[int, int], Ints | None] = {}
    others: dict[int, Ints] = {}
    for index, trio in enumerate(trios):
        nop, side = trio[0], trio[which]
        key = (id(nop), id(side))
        if key not in found:
            found[key] = _matched(nop, measured[id(nop)], side, pool)
        rows = found[key]
        if rows is not None:
            others[index] = rows
    return Column(starts, bases, others)


def _matched(nop: Side, positions: Ints, side: Side, pool: Pool) -> Ints | None:
    """The side's row for each benchmark that nop measured; None when they follow one another from the first on."""
    start = pool.row(side)
    if side.names == nop.names:
        return None if len(positions) == len(nop.names) else positions + start
    where = {name: start + index for index, name in enumerate(side.names)}
    return np.array([where.get(nop.names[position], ABSENT) for position in positions.tolist()], dtype=np.int64)
