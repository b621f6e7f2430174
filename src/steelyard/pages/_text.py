"""A page as text for a terminal, a pipe and `print`: sentences, tables and trees of any width."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from shutil import get_terminal_size
from typing import Literal, NamedTuple
from unicodedata import combining, east_asian_width

from steelyard.formatting import counted
from steelyard.pages._page import Column, Page, PageTable, Style
from steelyard.pages._result_text import DASH
from steelyard.plain_text import clean

_CODES: dict[Style, int] = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}
GAP = 2
IN_A_PIPE = 160
"""Default table width: long texts wrap, and every column is shown."""
FEW_ROWS = 12
"""Tables of up to this many rows are transposed rather than lose most of their columns."""
EASY_TO_READ = 16
"""No text is broken into a column narrower than this."""
_BREAK = re.compile(r" +(?!%)")  # a number keeps its percent sign


class StyledText(NamedTuple):
    """Text with a color that means something."""

    text: str
    style: Style


Cell = str | StyledText


def paint(text: str, style: Style | None, *, color: bool) -> str:
    """The text with the codes that a terminal paints by."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color and style and text.strip() else text


def cell_len(text: str) -> int:
    """How many cells of a terminal the text takes: two for a wide character, none for one that combines.

    >>> cell_len("speed"), cell_len("速度"), cell_len("e\u0301")
    (5, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(char: str) -> int:
    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1


def _chopped(word: str, width: int) -> list[str]:
    """The word in pieces that fit."""
    pieces = [""]
    for char in word:
        if pieces[-1] and cell_len(pieces[-1] + char) > width:
            pieces.append("")
        pieces[-1] += char
    return pieces


def wrapped(text: str, width: int, *, indent: str = "") -> list[str]:
    """The text in lines of at most `width` cells, broken between words; only a word wider than a line is cut.

    Each line begins as the first does, those after it with `indent` more.

    >>> wrapped("  the pass rate is 48.3% of all runs", 22)
    ['  the pass rate is', '  48.3% of all runs']
    """
    if cell_len(text) <= width:
        return [text]
    start = text[: len(text) - len(text.lstrip(" "))][: width // 2]
    indent = indent[: width // 4]
    lines: list[str] = []
    line, has_words = start, False
    for word in _BREAK.split(text.strip(" ")):
        if has_words and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line, has_words = start + indent, False
        if has_words:
            line += f" {word}"
            continue
        *cut, rest = [word] if cell_len(line + word) <= width else _chopped(word, width - cell_len(start + indent))
        lines += [line + piece for piece in cut[:1]] + [start + indent + piece for piece in cut[1:]]
        line, has_words = (start + indent if cut else line) + rest, True
    return [*lines, line]


@dataclass(frozen=True)
class _Column:
    heading: str
    is_number: bool
    spare: int
    legend: str = ""
    instead: str = ""
    leaves_with: str = ""

    @cached_property
    def heading_lines(self) -> list[str]:
        return self.heading.split("\n")


@dataclass
class TextTable:
    """Columns and rows, laid out when the width is known.

    Where not all columns fit, those that can be spared leave, the highest `spare` first, and are named below; a column
    of nothing but dashes leaves before all others. Where the others do not fit either, or too many would leave, the
    table is transposed: one line per column, and as many rows side by side as fit.
    """

    title: str = ""
    columns: list[_Column] = field(default_factory=list)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def add_column(
        self,
        heading: str,
        *,
        justify: Literal["left", "right"] = "left",
        spare: int = 0,
        legend: str = "",
        instead: str = "",
        leaves_with: str = "",
    ) -> None:
        """A column; cells to the right are numbers, which are never broken, and `spare` ones leave a narrow table.

        `legend` is printed below the table if the column is shown, `instead` if it is dropped. Columns with the same
        `leaves_with` leave together.
        """
        lines = "\n".join(clean(line) for line in heading.split("\n"))
        self.columns.append(_Column(lines, justify == "right", spare, clean(legend), clean(instead), leaves_with))

    def lines(self, width: int | None, *, color: bool = False) -> Iterator[str]:
        """The table, at most so wide; None is as wide as numbers and words need."""
        if self.title:
            yield from (paint(line, "bold", color=color) for line in wrapped(self.title, width or IN_A_PIPE))
        shown, widths = self._fitting(width)
        yield from (
            self._grid(shown, widths, color=color) if shown else self._transposed(width or IN_A_PIPE, color=color)
        )
        below = list(self._below(set(shown or self._filled), width))
        yield from (paint(line, "dim", color=color) for text in below for line in wrapped(text, width or IN_A_PIPE))
        if shown or below:
            yield ""

    def _below(self, shown: set[int], width: int | None) -> Iterator[str]:
        """Which columns left, and what explains those that are shown."""
        hidden = [self.columns[number] for number in self._filled if number not in shown]
        if hidden:
            names = ", ".join(" ".join(column.heading.split()) for column in hidden)
            yield f"Not shown at {width} columns: {names}"
        yield from (column.instead for column in hidden if column.instead)
        yield from dict.fromkeys(legend for number in sorted(shown) if (legend := self.columns[number].legend))

    def _fitting(self, width: int | None) -> tuple[list[int], list[int]]:
        """The columns to show and how wide each is; none where the table has to turn."""
        least, most = self._least, self._most
        shown = list(self._filled)
        if width is None:
            room = IN_A_PIPE - GAP * (len(shown) - 1)
            return shown, _shared([least[number] for number in shown], [most[number] for number in shown], room)
        while shown:
            room = width - GAP * (len(shown) - 1)
            if sum(least[number] for number in shown) <= room:
                if self._is_better_transposed(len(set(self._filled) - self._unknown - set(shown)), len(shown), width):
                    return [], []
                return shown, _shared([least[number] for number in shown], [most[number] for number in shown], room)
            spare = max(shown, key=lambda number: (number in self._unknown, self.columns[number].spare, number))
            if not self.columns[spare].spare and spare not in self._unknown:
                return [], []
            together = self.columns[spare].leaves_with
            shown = [
                number
                for number in shown
                if number != spare and not (together and self.columns[number].leaves_with == together)
            ]
        return [], []

    def _is_better_transposed(self, left: int, kept: int, width: int) -> bool:
        """Whether most columns of a short table would leave, or a third of them where all rows fit side by side."""
        if left > kept:
            return len(self.rows) <= FEW_ROWS
        bands = self._bands(width - self._label(width)) if 2 * left >= kept else iter(())
        return next(bands, None) is not None and next(bands, None) is None

    def _label(self, width: int) -> int:
        """Return the width of the column names in a transposed table."""
        longest = max((cell_len(" ".join(column.heading.split())) for column in self.columns), default=0)
        return min(longest, width // 3)

    @cached_property
    def _filled(self) -> list[int]:
        """The columns that hold something."""
        filled = [number for number in range(len(self.columns)) if any(line.strip() for line in self._lines_of(number))]
        return filled or list(range(len(self.columns)))

    @cached_property
    def _unknown(self) -> set[int]:
        """The columns in which no row has more than a dash."""
        return {number for number in self._filled if {line.strip() for line in self._lines_of(number)} <= {DASH, ""}}

    @cached_property
    def _most(self) -> list[int]:
        """How wide each column would like to be."""
        return [
            max(map(cell_len, [*column.heading_lines, *self._lines_of(number)]), default=0)
            for number, column in enumerate(self.columns)
        ]

    @cached_property
    def _least(self) -> list[int]:
        """How wide each column must be: its longest number, or its longest word and what is easy to read."""
        least = []
        for number, column in enumerate(self.columns):
            cells = self._lines_of(number)
            words = _words(column.heading_lines) + (cells if column.is_number else _words(cells))
            longest = max(map(cell_len, words), default=0)
            texts = 0 if column.is_number else max(map(cell_len, cells), default=0)
            least.append(max(longest, min(texts, EASY_TO_READ)))
        return least

    def _lines_of(self, number: int) -> list[str]:
        return [line for row in self.rows for line in _text(row[number]).split("\n")]

    def _grid(self, shown: Sequence[int], widths: Sequence[int], *, color: bool) -> Iterator[str]:
        columns = [self.columns[number] for number in shown]
        headings = [
            [line for given in column.heading_lines for line in wrapped(given, width)]
            for column, width in zip(columns, widths, strict=True)
        ]
        tallest = max(map(len, headings))
        headings = [[""] * (tallest - len(lines)) + lines for lines in headings]
        justified = [column.is_number for column in columns]
        styles: list[Style | None] = ["bold"] * len(columns)
        yield from _joined(headings, widths, justified, styles, color=color)
        yield "─" * (sum(widths) + GAP * (len(widths) - 1))
        for row in self.rows:
            cells = [row[number] for number in shown]
            broken = [
                [part for line in _text(cell).split("\n") for part in wrapped(line, width)]
                for cell, width in zip(cells, widths, strict=True)
            ]
            painted = [cell.style if isinstance(cell, StyledText) else None for cell in cells]
            yield from _joined(broken, widths, justified, painted, color=color)

    def _transposed(self, width: int, *, color: bool) -> Iterator[str]:
        """A line for each column: what it is called, and what it holds of each row of a band."""
        names = [" ".join(column.heading.split()) for column in self.columns]
        label = self._label(width)
        for rows, widths in self._bands(width - label):
            for number, name in enumerate(names):
                cells = [row[number] for row in rows]
                if not any(_text(cell).strip() for cell in cells):
                    continue
                values = [
                    [part for line in _text(cell).split("\n") for part in wrapped(line, room)]
                    for cell, room in zip(cells, widths, strict=True)
                ]
                styles = [cell.style if isinstance(cell, StyledText) else None for cell in cells]
                lines = [wrapped(name, label), *values]
                yield from _joined(lines, [label, *widths], [False] * len(lines), [None, *styles], color=color)
            yield ""

    def _bands(self, width: int) -> Iterator[tuple[list[tuple[Cell, ...]], list[int]]]:
        """Yield rows that fit side by side, with their widths; a row that is too wide is alone."""
        rows: list[tuple[Cell, ...]] = []
        widths: list[int] = []
        for row in self.rows:
            longest = max(cell_len(line) for cell in row for line in _text(cell).split("\n"))
            room = min(longest, width - GAP)
            if rows and sum(widths) + room + GAP * (len(widths) + 1) > width:
                yield rows, widths
                rows, widths = [], []
            rows, widths = [*rows, row], [*widths, room]
        if rows:
            yield rows, widths


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, StyledText) else cell


def _words(lines: Sequence[str]) -> list[str]:
    return [word for line in lines for word in _BREAK.split(line)]


def _shared(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """As wide as each would like to be, or the widest made narrower until all have room."""
    widths = list(most)
    excess = sum(widths) - room
    while excess > 0:
        loose = [number for number, width in enumerate(widths) if width > least[number]]
        if not loose:
            break
        widths[max(loose, key=lambda number: widths[number])] -= 1
        excess -= 1
    return widths


def _padded(text: str, width: int, *, right: bool = False) -> str:
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank


def _joined(
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
    justified: Sequence[bool],
    styles: Sequence[Style | None],
    *,
    color: bool,
) -> Iterator[str]:
    """The lines of a row, side by side."""
    for line in zip_longest(*cells, fillvalue=""):
        parts = [
            paint(_padded(text, width, right=right), style, color=color)
            for text, width, right, style in zip(line, widths, justified, styles, strict=True)
        ]
        yield (" " * GAP).join(parts).rstrip()


def add_row(table: TextTable, *cells: Cell) -> None:
    """One row of plain text, blank where there are fewer cells than columns; only line ends are kept."""
    cleaned: list[Cell] = []
    for cell in cells:
        text = "\n".join(clean(line) for line in _text(cell).split("\n"))
        cleaned.append(StyledText(text, cell.style) if isinstance(cell, StyledText) else text)
    table.rows.append((*cleaned, *[""] * (len(table.columns) - len(cleaned))))


def plain_table(title: str = "") -> TextTable:
    """An empty table in the house style."""
    return TextTable(clean(title))


BRANCH_INDENT = 4
"""Indentation of a branch below its parent."""


@dataclass(frozen=True)
class TextTree:
    """A text of one or several lines, perhaps with a bar behind the last, and what hangs below it."""

    text: str
    bar: StyledText | None = None
    branches: tuple[TextTree, ...] = ()

    def lines(self, width: int | None, *, color: bool = False) -> Iterator[str]:
        """The tree, at most so wide. Bars begin below each other where there is room for that."""
        room = width or IN_A_PIPE
        start, longest = self._widths()
        yield from self._lines(room, start if start + 1 + longest <= room else 0, color=color)

    def _widths(self) -> tuple[int, int]:
        """Of the widest text before a bar, and of the longest bar."""
        below = [(BRANCH_INDENT + start, bar) for start, bar in (branch._widths() for branch in self.branches) if bar]
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
            for place, line in enumerate(
                branch._lines(max(room - BRANCH_INDENT, BRANCH_INDENT), start - BRANCH_INDENT, color=color)
            ):
                yield (first if place == 0 else after) + line

    def _with_bar(self, line: str, *, color: bool) -> str:
        if self.bar is None or not line.endswith(self.bar.text):
            return line
        return line.removesuffix(self.bar.text) + paint(self.bar.text, self.bar.style, color=color)


INDENT = "  "
USUAL_WIDTH, MIN_WIDTH = 80, 40
"""Columns of a text without COLUMNS or a terminal, and the minimum."""


def text_width() -> int:
    """Return the columns of a text that is printed in Python."""
    return max(get_terminal_size((USUAL_WIDTH, 24)).columns, MIN_WIDTH)


def page_text(page: Page, width: int | None, *, everything: bool = False) -> str:
    """Return the page in lines of at most that width, without colors."""
    return "\n".join(page_lines(page, width, everything=everything)).rstrip("\n")


def page_lines(page: Page, width: int | None, *, color: bool = False, everything: bool = False) -> Iterator[str]:
    """Yield the lines of the page: its answer, its tables, further sentences, texts, its parts.

    Without a width, each sentence is one line. With `everything`, whatever is folded and all rows are included.
    """
    yield from sentence_lines([page.answer], width, style=page.style, color=color)
    yield from sentence_lines(page.notes, width, color=color)
    tables = [table for table in page.tables if (everything or not table.is_folded) and table.rows]
    for number, table in enumerate(tables):
        yield from [""] if number == 0 else []
        yield from text_table(table, everything=everything).lines(width, color=color)
    below = [*page.legend, *page.details]
    yield from [""] if below and not tables else []
    yield from sentence_lines(below, width, color=color, indent=INDENT)
    has_gap = not page.answer or (bool(tables) and not below)  # a table ends with an empty line
    for each in (each for each in page.texts if everything or each.is_open):
        yield from [] if has_gap else [""]
        for line in map(clean, [each.heading, *each.text.rstrip().expandtabs(4).split("\n")]):
            yield from wrapped(line, width, indent=INDENT) if width else [line]
        has_gap = False
    for part in page.parts:
        if part.is_data and not everything:
            continue
        yield from ("", *sentence_lines([part.title], width, style="bold", color=color))
        yield from page_lines(part, width, color=color, everything=everything)


def sentence_lines(
    sentences: Iterable[str], width: int | None, *, style: Style | None = None, color: bool = False, indent: str = ""
) -> Iterator[str]:
    """Yield the sentences in lines of at most that width; `indent` is before continuation lines."""
    for sentence in filter(None, sentences):
        line = clean(sentence)  # names in it come from data: they must not begin a line
        for part in wrapped(line, width, indent=indent) if width else [line]:
            yield paint(part, style, color=color)


def text_table(table: PageTable, *, everything: bool = False) -> TextTable:
    """Return the table for a terminal, with the rows that it shows."""
    shown = plain_table(table.caption)
    columns = table.in_words.columns
    for column in columns:
        shown.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            spare=column.spare,
            legend=column.legend,
            instead=column.instead() if column.instead else "",
            leaves_with=column.leaves_with,
        )
    rows = table.rows if everything or table.terminal_rows is None else min(table.rows, table.terminal_rows)
    for row in range(rows):
        add_row(shown, *(_cell(column, row) for column in columns))
    more = table.rows - rows + table.left_out
    if more:
        add_row(shown, f"... {counted(more, 'more row')}")
    if table.has_foot:
        add_row(shown, *(column.foot for column in columns))
    return shown


def _cell(column: Column, row: int) -> Cell:
    shown = column.shown(row)
    text = shown if column.texts is not None else clean(shown)  # a value from data has no lines of its own
    style = column.styles[row] if column.styles else None
    return StyledText(text, style) if style else text
