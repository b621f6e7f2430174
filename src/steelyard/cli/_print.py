"""Printing: data to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from steelyard import pages, records  # their names are imported on first use
from steelyard.errors import SteelyardError
from steelyard.plain_text import clean

if TYPE_CHECKING:
    from steelyard.pages import Page, Style, TextTable, TextTree
    from steelyard.questions import Progress
    from steelyard.records import Finding

FINDINGS_IN_TERMINAL, FINDINGS_IN_PIPE = 3, 12
NARROWEST, USUAL = 40, 80
_IN_ASCII = str.maketrans("─│├└█░▶◀↑↓δ²", "-||`#.><^vd2") | {ord("∞"): "inf"}
_STYLES: dict[str, Style] = {"error": "red", "warning": "yellow"}


class Terminal:
    """Output stream for lines and tables. A terminal has a width and colors; a file or a pipe uses COLUMNS.

    Without a width, each sentence is one line, because readers of a pipe work by line.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.width = _width(stream)
        self.color = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def print(
        self,
        item: str | TextTable | TextTree = "",
        *,
        style: Style | None = None,
        indent: str = "",
        flush: bool = False,
    ) -> None:
        """Print a table, a tree or text, with `indent` before continuation lines."""
        if isinstance(item, str):
            for line in map(clean, item.split("\n")):
                self._write(pages.wrapped(line, self.width, indent=indent) if self.width else [line], style)
        else:
            self._write(item.lines(self.width, color=self.color), None)
        if flush:
            self._stream.flush()

    def print_page(self, page: Page, *, everything: bool = False) -> None:
        """Print a page; with `everything`, folded tables too."""
        self._write(pages.page_lines(page, self.width, color=self.color, everything=everything), None)

    def _write(self, lines: Iterable[str], style: Style | None) -> None:
        try:
            for line in lines:
                self._stream.write(_encodable(pages.paint(line, style, color=self.color), self._stream.encoding) + "\n")
        except BrokenPipeError:  # the reader has enough, and the exit status is still to come
            silence_stream(self._stream)


def silence_stream(stream: TextIO | None = None) -> None:
    """Discard all further output to the stream; Python would fail again when it flushes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def _encodable(line: str, encoding: str | None) -> str:
    """Return the line in the encoding of the terminal; older encodings have no arrows and lines."""
    if encoding is None or line.isascii() or encoding.lower().startswith("utf"):
        return line
    return line.translate(_IN_ASCII).encode(encoding, "replace").decode(encoding)


def _width(stream: TextIO) -> int | None:
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked):
        return max(int(asked), NARROWEST)
    if not stream.isatty():
        return None
    try:
        return max(os.get_terminal_size(stream.fileno()).columns or USUAL, NARROWEST)
    except (OSError, ValueError):
        return USUAL


def console(*, stderr: bool = False) -> Terminal:
    """Return the terminal of stdout or stderr."""
    return Terminal(sys.stderr if stderr else sys.stdout)


def print_lines(lines: Iterable[str]) -> None:
    """Lines to stdout, each of them one line whatever it holds, save that a terminal breaks them at its width."""
    terminal = console()
    for line in lines:
        terminal.print(clean(line))


def print_json(value: Any) -> None:  # Any: a JSON value
    """Print strict JSON to stdout."""
    print_pieces([pages.json_text(value)])


def print_pieces(pieces: Iterable[str]) -> None:
    """Print a text that is made piece by piece to stdout, and a line end."""
    try:
        sys.stdout.writelines(pieces)
        sys.stdout.write("\n")
    except BrokenPipeError:  # as of tables
        silence_stream()


def print_text(text: str, *, flush: bool = False) -> None:
    """Print text to stdout; control characters are removed if stdout is a terminal."""
    sys.stdout.write("\n".join(map(clean, text.split("\n"))) if sys.stdout.isatty() else text)
    if flush:
        sys.stdout.flush()


def print_error(error: SteelyardError, *, as_json: bool) -> None:
    """Print the error: as JSON on stdout for scripts, as a sentence on stderr for people."""
    error.shown_on("cli")
    if as_json:
        print_json({"error": error.as_dict()})
        sys.stdout.flush()  # so a write error on stdout is reported once, on stderr
    terminal = console(stderr=True)
    for each, before in [(error, "steelyard: "), *((part, "  ") for part in error.parts)]:
        place = f"{each.where}: " if each.where else ""
        terminal.print(clean(f"{before}{place}{each.message}"), style="red", indent="  ")
        if each.hint:
            terminal.print(clean(f"  hint: {each.hint}"), indent="  ")


def print_findings(findings: Sequence[Finding], *, whole_off_terminal: bool = False) -> None:
    """Findings to stderr, the gravest first: a line for each kind, with where it was seen first and how often.

    With `whole_off_terminal`, every place where stderr is no terminal: for what is not asked a second time.
    """
    terminal = console(stderr=True)
    whole = whole_off_terminal and not sys.stderr.isatty()
    reported = [finding for finding in findings if finding.severity != "info" or not finding.holds_everywhere]
    ordered = sorted(reported, key=lambda finding: records.GRAVEST_FIRST.index(finding.severity))
    usual = FINDINGS_IN_TERMINAL if sys.stderr.isatty() else FINDINGS_IN_PIPE
    shown = len(ordered) if whole else usual
    for finding in ordered[:shown]:
        style = _STYLES.get(finding.severity)
        terminal.print(clean(_finding_line(finding, counted=not whole)), style=style, indent="    ")
        for place in finding.places[1:] if whole else ():
            terminal.print(clean("    " + ": ".join(text for text in (place.where, place.message) if text)))
    rest = len(ordered) - shown
    if rest > 0:
        kinds = "kind of finding" if rest == 1 else "kinds of findings"
        terminal.print(f"... and {rest:,} more {kinds} (see --json)")


def _finding_line(finding: Finding, *, counted: bool) -> str:
    """The finding at its first place, and how many more there are."""
    first = finding.places[0]
    place = f"{first.where}: " if first.where else ""
    own = f" ({first.message})" if first.message else ""
    more = finding.count - first.count
    after = f"; {more:,} more (see --json)" if more and counted else ""
    return f"{finding.severity}: {place}{finding.message}{own}{after} [{finding.code}]"


@contextmanager
def progress_bar(*, shown: bool, doing: str, noun: str) -> Iterator[Progress | None]:
    """A bar on stderr that counts what was done, and in which file; nothing where stderr is no terminal."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # only a terminal needs it
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:,}} {noun}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(doing, total=None)

        def advance(name: str, count: int) -> None:
            progress.update(bar, advance=count, description=clean(f"{doing} {name}"))

        yield advance
