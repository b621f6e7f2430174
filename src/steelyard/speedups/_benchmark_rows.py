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
        numbers = np.repeat(self.bases[first:last] - starts[:-1], np.diff(starts))
        numbers += np.arange(starts[0], starts[-1])
        if self.others:
            for index in range(first, last):
                if index in self.others:
                    start, stop = self.starts[index : index + 2] - starts[0]
                    numbers[start:stop] = self.others[index]
        return numbers


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
    nops = {id(nop): nop for nop, _, _ in trios}
    measured = {key: np.flatnonzero(nop.measured) for key, nop in nops.items()}
    sizes = np.array([len(measured[id(nop)]) for nop, _, _ in trios], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    incomplete = {key for key, nop in nops.items() if len(measured[key]) < len(nop.names)}
    partly = {index: measured[id(trio[0])] for index, trio in enumerate(trios) if id(trio[0]) in incomplete}
    local = Column(starts, np.zeros(len(trios), dtype=np.int64), partly)
    nop = Column(
        starts, _bases(pool, trios, 0), {index: rows + pool.row(trios[index][0]) for index, rows in partly.items()}
    )
    oracle, agent = (Column(starts, _bases(pool, trios, at), _others(trios, at, measured, pool)) for at in (1, 2))
    return Rows(starts, local, nop, oracle, agent)


def _bases(pool: Pool, trios: Sequence[tuple[Side, Side, Side]], which: int) -> Ints:
    return np.array([pool.row(trio[which]) for trio in trios], dtype=np.int64)


def _others(
    trios: Sequence[tuple[Side, Side, Side]], which: int, measured: dict[int, Ints], pool: Pool
) -> dict[int, Ints]:
    """The rows of a side in the attempts where they do not count up."""
    others: dict[int, Ints] = {}
    earlier: tuple[Side, Side] | None = None
    rows: Ints | None = None
    for index, trio in enumerate(trios):
        nop, side = trio[0], trio[which]
        if earlier is None or earlier[0] is not nop or earlier[1] is not side:  # attempts at one task stand together
            earlier, rows = (nop, side), _matched(nop, measured[id(nop)], side, pool)
        if rows is not None:
            others[index] = rows
    return others


def _matched(nop: Side, positions: Ints, side: Side, pool: Pool) -> Ints | None:
    """The side's row for each benchmark that nop measured; None when they follow one another from the first on."""
    start = pool.row(side)
    if side.names == nop.names:
        return None if len(positions) == len(nop.names) else positions + start
    where = {name: start + index for index, name in enumerate(side.names)}
    return np.array([where.get(nop.names[position], ABSENT) for position in positions.tolist()], dtype=np.int64)
