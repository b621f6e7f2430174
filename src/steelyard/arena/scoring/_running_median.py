"""A median that follows its values one by one, whatever their number.

Kept are the lower of the two middle values and how many values lie strictly below it; a new value moves it by at most
one distinct value. Values live in a tally, value to count, which may be mostly in the store and only partly here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class TallySource(Protocol):
    """Where the counts of earlier values are looked up."""

    def count(self, value: int) -> int:
        """How many there are of this value."""

    def before(self, value: int) -> int | None:
        """The next smaller value."""

    def after(self, value: int) -> int | None:
        """The next larger value."""


class Tally:
    """How often each value occurs: what was counted here, and behind it what the source has."""

    def __init__(self, counts: dict[int, int] | None = None, source: TallySource | None = None) -> None:
        self._counts = dict(counts or {})
        self._values = sorted(self._counts)
        self._source = source
        self.added: dict[int, int] = {}

    def add(self, value: int) -> None:
        """Count the value once more."""
        count_before = self.count(value)
        if value not in self.added:
            place = bisect_left(self._values, value)
            if place == len(self._values) or self._values[place] != value:
                insort(self._values, value)
        self._counts[value] = count_before + 1
        self.added[value] = self.added.get(value, 0) + 1

    def add_counts(self, counts: Mapping[int, int]) -> None:
        """Count many values at once."""
        for value, more in counts.items():
            self._counts[value] = self.count(value) + more
            self.added[value] = self.added.get(value, 0) + more
        self._values = sorted({*self._values, *counts})

    def whole(self) -> dict[int, int]:
        """Every value with its count; only for a tally without a source."""
        return {value: count for value, count in self._counts.items() if count}

    def count(self, value: int) -> int:
        """How many there are of this value."""
        if value not in self._counts:
            self._counts[value] = self._source.count(value) if self._source else 0
        return self._counts[value]

    def before(self, value: int) -> int | None:
        """The next smaller value; None when there is none."""
        place = bisect_left(self._values, value)
        here = self._values[place - 1] if place else None
        there = self._source.before(value) if self._source else None
        return max((neighbor for neighbor in (here, there) if neighbor is not None), default=None)

    def after(self, value: int) -> int | None:
        """The next larger value; None when there is none."""
        place = bisect_right(self._values, value)
        here = self._values[place] if place < len(self._values) else None
        there = self._source.after(value) if self._source else None
        return min((neighbor for neighbor in (here, there) if neighbor is not None), default=None)


class LowerMedian(NamedTuple):
    """The lower of the two middle values (None while there are none), and how many lie strictly below it."""

    value: int | None
    below: int


class RunningMedian:
    """The running median of the values in a tally."""

    def __init__(self, tally: Tally, *, n: int, value: int | None, below: int) -> None:
        self.tally = tally
        self.n = n
        self.value = value
        """The lower of the two middle values; None while there are none."""
        self.below = below
        """How many lie strictly below it."""

    @property
    def lower_median(self) -> LowerMedian:
        """Where the middle is now, as the store keeps it."""
        return LowerMedian(self.value, self.below)

    def add(self, value: int) -> None:
        """Take one more value in."""
        self.tally.add(value)
        self.n += 1
        if self.value is None:
            self.value = value
        elif value < self.value:
            self.below += 1
        self._move_to_middle()

    def _move_to_middle(self) -> None:
        """Move to the lower middle value."""
        assert self.value is not None  # called once there is a value
        place = (self.n - 1) // 2
        while self.below > place:
            self.value = self._must(self.tally.before(self.value))
            self.below -= self.tally.count(self.value)
        while self.below + (count := self.tally.count(self.value)) <= place:
            self.below += count
            self.value = self._must(self.tally.after(self.value))

    def add_all(self, values: Sequence[int]) -> None:
        """Take many values in, where only the median after the last is wanted."""
        counts = Counter(values)
        self.tally.add_counts(counts)
        self.n += len(values)
        if self.value is None:
            self.value = min(counts)
        else:
            self.below += sum(count for value, count in counts.items() if value < self.value)
        self._move_to_middle()

    def median(self) -> float:
        """The median of all values so far."""
        assert self.value is not None  # asked only once there is a value
        if self.n % 2 or self.below + self.tally.count(self.value) > self.n // 2:
            return self.value
        return (self.value + self._must(self.tally.after(self.value))) / 2

    @staticmethod
    def _must(value: int | None) -> int:
        assert value is not None  # the middle always lies within the values
        return value
