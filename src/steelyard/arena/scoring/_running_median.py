"""A median that follows its values one by one, whatever their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class LowerMedian(NamedTuple):
    """The lower of the two middle values (None without values), and the number of values below it."""

    value: int | None
    below: int


def running_medians(earlier: Mapping[int, int], coming: Sequence[int], *, n: int) -> tuple[list[float], LowerMedian]:
    """The median after each value that comes to `n` earlier ones, and the lower middle value in the end.

    The middle moves by at most one distinct value a time. Of the earlier values, given as value to count, those above
    it that it cannot reach may be left out.

    >>> running_medians({1: 1}, [4, 2], n=1)
    ([2.5, 2], LowerMedian(value=2, below=1))
    """
    values = sorted({*earlier, *coming})
    counts = [earlier.get(value, 0) for value in values]
    place_of = {value: place for place, value in enumerate(values)}
    medians: list[float] = []
    at = below = 0  # index of the lower middle value, and the number of values below it
    for total, value in enumerate(coming, n + 1):
        place = place_of[value]
        counts[place] += 1
        below += place < at
        middle = (total - 1) // 2
        while below > middle:
            at -= 1
            below -= counts[at]
        while below + counts[at] <= middle:
            below += counts[at]
            at += 1
        if total % 2 or below + counts[at] > total // 2:
            medians.append(values[at])
            continue
        upper = at + 1
        while not counts[upper]:
            upper += 1
        medians.append((values[at] + values[upper]) / 2)
    return medians, LowerMedian(values[at], below)
