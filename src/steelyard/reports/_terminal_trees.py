"""Trees for a terminal of any width: how a number came, benchmarks below their modules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.plain_text import clean
from steelyard.reports._terminal_tables import IN_A_PIPE, Painted, paint, wrapped


@dataclass(frozen=True)
class TextTree:
    """A text of one or several lines, perhaps with a bar behind the last, and what hangs below it."""

    text: str
    bar: Painted | None = None
    branches: tuple[TextTree, ...] = ()

    def lines(self, width: int | None, *, color: bool = False) -> Iterator[str]:
        """The tree, at most so wide."""
        room = width or IN_A_PIPE
        for line in self.text.split("\n"):
            shown = f"{clean(line)} {self.bar.text}" if self.bar and line == self.text.split("\n")[-1] else clean(line)
            for part in wrapped(shown, room):
                yield self._with_bar(part, color=color)
        for number, branch in enumerate(self.branches):
            is_last = number == len(self.branches) - 1
            first, after = ("└── ", "    ") if is_last else ("├── ", "│   ")
            for place, line in enumerate(branch.lines(max(room - len(first), len(first)), color=color)):
                yield (first if place == 0 else after) + line

    def _with_bar(self, line: str, *, color: bool) -> str:
        if self.bar is None or not line.endswith(self.bar.text):
            return line
        return line.removesuffix(self.bar.text) + paint(self.bar.text, self.bar.style, color=color)
