"""Parts of a page, for reports, the server and pull requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    from steelyard.figures import Figure


Facts = tuple[tuple[str, str], ...]
"""What the numbers rest on, each fact with its label."""
DASH = "-"
Style = Literal["bold", "red", "green", "yellow", "dim"]
T = TypeVar("T")


class OnDemand(Sequence[T]):
    """Cells that are made when they are looked at: a dashboard shows a hundred rows of very many."""

    def __init__(self, rows: Sequence[Any], made: Callable[[Any], T]) -> None:  # Any: rows of any result
        self._rows, self._made = rows, made

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return [self._made(row) for row in self._rows[place]]
        return self._made(self._rows[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # as a list has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table: text, or numbers that sort as numbers."""

    name: str
    """How a link to the page names it."""
    title: str
    values: Sequence[str | float | None]
    """None where a value is missing; it sorts last, whatever the direction."""
    decimals: int | None = None
    """How many decimals numbers are shown with; None for text."""
    texts: Sequence[str] | None = None
    """What is shown of each row where that is more than the value: an interval, a unit, a count."""
    brief: Sequence[str] | None = None
    """What the dashboard shows of each row whose page has the full text."""
    links: Sequence[str | None] | None = None
    """The path of the dashboard's page behind each row; a file shows the text alone."""
    dots: Sequence[Sequence[float]] | None = None
    """Numbers from 0 to 100 that are drawn in each row instead of text."""
    styles: Sequence[Style | None] | None = None
    """Color of each row's text in a terminal."""
    spare: int = 0
    """When the column leaves a narrow terminal: the highest first, 0 never."""
    leaves_with: str = ""
    """The sum that it is a part of: such columns leave together, so that what is shown adds up."""
    legend: str = ""
    """What its marks mean; shown below the table with the column."""
    instead: Callable[[], str] | None = None
    """Returns what is shown below the table in a terminal if the column left it."""
    foot: str = ""
    """Its cell in the last row, which sums up the others."""

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.decimals is not None

    def part(self, rows: Sequence[int]) -> Column:
        """The column with these rows alone, in this order."""
        return replace(
            self,
            values=[self.values[row] for row in rows],
            texts=None if self.texts is None else [self.texts[row] for row in rows],
            brief=None if self.brief is None else [self.brief[row] for row in rows],
            links=None if self.links is None else [self.links[row] for row in rows],
            dots=None if self.dots is None else [self.dots[row] for row in rows],
            styles=None if self.styles is None else [self.styles[row] for row in rows],
        )

    def shown(self, row: int) -> str:
        """What the cell shows."""
        if self.texts is not None:
            return self.texts[row]  # may have several lines
        value = self.values[row]
        if value is None:
            return DASH
        return value if isinstance(value, str) else number_shown(value, self.decimals or 0)


def number_shown(value: float, decimals: int) -> str:
    """A number as the script of a page shows it too.

    >>> number_shown(12345.678, 1), number_shown(float("inf"), 1)
    ('12,345.7', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.{decimals}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    """A table that can be sorted and filtered."""

    caption: str
    columns: tuple[Column, ...]
    name: str = "table"
    """How a link names it on its page."""
    left_out: int = 0
    """Rows beyond those that the page holds."""
    sides: Sequence[str] | None = None
    """How a comparison calls each row, where two rows can be compared: `agent=ant,model=large`."""
    is_folded: bool = False
    """Whether readers unfold it: a page folds it, and a terminal shows it only on request."""
    terminal_rows: int | None = None
    """Rows that a terminal shows; None for all."""

    @property
    def rows(self) -> int:
        """How many rows the page holds."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def in_words(self) -> PageTable:
        """The table without the columns that are only drawn."""
        return replace(self, columns=tuple(column for column in self.columns if column.dots is None))

    @property
    def legends(self) -> list[str]:
        """What the marks in its columns mean."""
        return list(dict.fromkeys(column.legend for column in self.columns if column.legend))

    @property
    def has_foot(self) -> bool:
        """Whether its last row sums up the others."""
        return any(column.foot for column in self.columns)

    def part(self, rows: Sequence[int]) -> PageTable:
        """The table with these rows alone, in this order."""
        sides = None if self.sides is None else [self.sides[row] for row in rows]
        return replace(self, columns=tuple(column.part(rows) for column in self.columns), sides=sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongText:
    """A text that is folded under its heading: an output."""

    heading: str
    text: str
    is_open: bool = False
    """Whether it is unfolded at first."""


class PageLink(NamedTuple):
    """A way from one page of the dashboard to another."""

    text: str
    path: str
    """Below the dashboard's own address, with its query."""
    relation: str = ""
    """`prev` and `next` are what the keys [ and ] follow."""


class Ref(NamedTuple):
    """A way to another answer: a question with options. The dashboard makes it a link; a file shows the text alone."""

    text: str
    question: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer: the user's question, a sentence, what shows it, and what it rests on."""

    name: str
    """How a link names the page: the command's own word."""
    title: str
    """The question."""
    answer: str
    """One plain sentence."""
    style: Style | None = None
    """Color of the answer in a terminal."""
    notes: tuple[str, ...] = ()
    """Further sentences, below the answer."""
    links: tuple[PageLink, ...] = ()
    """Related pages of the dashboard; a file has none."""
    refs: tuple[Ref, ...] = ()
    """Related questions."""
    draw: Callable[[], tuple[tuple[Figure, ...], tuple[Figure, ...]]] | None = field(default=None, compare=False)
    """Draws its figures for a desk and for a phone; a terminal needs none."""
    table: PageTable | None = None
    legend: tuple[str, ...] = ()
    """What marks in the table mean."""
    also: tuple[PageTable, ...] = ()
    """Further tables: what the main one sums up, task by task."""
    details: tuple[str, ...] = ()
    """Further sentences, below the tables."""
    texts: tuple[LongText, ...] = ()
    facts: Facts = ()
    parts: tuple[Page, ...] = ()
    """Pages of the answers that it contains, below its own answer and notes."""
    is_data: bool = False
    """Whether it lists data, as a part of another page; Markdown omits it there, and a terminal unless asked."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its figures."""
        return () if self.draw is None else self.draw()[0]

    @property
    def narrow_figures(self) -> tuple[Figure, ...]:
        """The same figures for a phone."""
        return () if self.draw is None else self.draw()[1]

    @property
    def tables(self) -> tuple[PageTable, ...]:
        """All tables, the main one first."""
        return (*((self.table,) if self.table is not None else ()), *self.also)
