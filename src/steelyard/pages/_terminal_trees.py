"""Trees for a terminal of any width: how a number came, benchmarks below their modules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.pages._terminal_tables import IN_A_PIPE, Painted, cell_len, paint, wrapped
from steelyard.plain_text import clean

INDENT = 4
"""Indentation of a branch below its parent."""


@dataclass(frozen=True)
class TextTree:
    """A text of one or several lines, perhaps with a bar behind the last, and what hangs below it."""

    text: str
    bar: Painted | None = None
    branches: tuple[TextTree, ...] = ()

    def lines(self, width: int | None, *, color: bool = False) -> Iterator[str]:
        """The tree, at most so wide. Bars begin below each other where there is room for that."""
        room = width or IN_A_PIPE
        start, longest = self._widths()
        yield from self._lines(room, start if start + 1 + longest <= room else 0, color=color)

    def _widths(self) -> tuple[int, int]:
        """Of the widest text before a bar, and of the longest bar."""
        below = [(INDENT + start, bar) for start, bar in (branch._widths() for branch in self.branches) if bar]
        own = [(cell_len(clean(self.text.split("\n")[-1])), cell_len(self.bar.text))] if self.bar else []
        starts, bars = zip(*(own + below), strict=True) if own or below else ((0,), (0,))
        return max(starts), max(bars)

    def _lines(self, room: int, start: int, *, color: bool) -> Iterator[str]:
        *above, last = map(clean, self.text.split("\n"))
        if self.bar:
            last += " " * (start - cell_len(last)) + f" {self.bar.text}"
        for line in (*above, last):
            for part in wrapped(line, room):
                yield self._with_bar(part, color=color)
        for number, branch in enumerate(self.branches):
            is_last = number == len(self.branches) - 1
            first, after = ("└── ", "    ") if is_last else ("├── ", "│   ")
            for place, line in enumerate(branch._lines(max(room - INDENT, INDENT), start - INDENT, color=color)):
                yield (first if place == 0 else after) + line

    def _with_bar(self, line: str, *, color: bool) -> str:
        if self.bar is None or not line.endswith(self.bar.text):
            return line
        return line.removesuffix(self.bar.text) + paint(self.bar.text, self.bar.style, color=color)
