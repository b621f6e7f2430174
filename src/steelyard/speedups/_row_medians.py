"""Medians of many short rows of samples at once.

Sorting a million rows of ten samples row by row costs a call for each. A sorting network compares column with column
instead, the same pairs for every row, so each comparison runs over all rows in one vector operation; comparisons
that the middle does not depend on are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

WIDEST = 24
"""Longer rows are sorted: a network grows faster than sorting does."""


def medians_of_rows(rows: _Floats) -> _Floats:
    """The median of each row; NaN in a row with a NaN. `rows` is left as it was.

    >>> medians_of_rows(np.array([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]])).tolist()
    [2.0, 8.0]
    """
    size = rows.shape[1]
    if size > WIDEST:
        return np.asarray(np.median(rows, axis=1))
    columns = list(rows.T.copy(order="C"))
    spare = np.empty(len(rows))
    for i, j, lower, upper in _exchanges(size):
        if lower and upper:
            np.minimum(columns[i], columns[j], out=spare)
            np.maximum(columns[i], columns[j], out=columns[j])
            columns[i], spare = spare, columns[i]
        elif lower:
            np.minimum(columns[i], columns[j], out=columns[i])
        else:
            np.maximum(columns[i], columns[j], out=columns[j])
    middle = columns[(size - 1) // 2]
    with np.errstate(over="ignore"):  # a median past all numbers is infinite, hence not valid
        return middle if size % 2 else np.asarray((middle + columns[size // 2]) / 2)


@cache
def _exchanges(size: int) -> tuple[tuple[int, int, bool, bool], ...]:
    """Which columns to compare, and whether the lower and the upper of the two is needed further on."""
    needed = {(size - 1) // 2, size // 2}
    kept: list[tuple[int, int, bool, bool]] = []
    for i, j in reversed(list(_network(size))):
        if i in needed or j in needed:
            kept.append((i, j, i in needed, j in needed))
            needed |= {i, j}
    return tuple(reversed(kept))


def _network(size: int) -> Iterator[tuple[int, int]]:
    """Pairs of Batcher's merge exchange sort (Knuth, The Art of Computer Programming 3, algorithm 5.2.2 M)."""
    top = 1 << max(size - 1, 1).bit_length() - 1
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while d > 0:
            yield from ((i, i + d) for i in range(size - d) if i & p == r)
            d, q, r = q - p, q // 2, p
        p //= 2
