"""What commands share when they speak: data to stdout, everything else to stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from steelyard.errors import SteelyardError
from steelyard.reports import clean, json_text

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.records import Finding, Place
    from steelyard.workflow import Progress

FINDINGS_SHOWN = 12
PLACES_SHOWN = 3
PLACES_LOOKED_AT = 1_000
_HALVES = re.compile("[\ud800-\udfff]")


def console(*, stderr: bool = False) -> Console:
    """A terminal that tables and colors suit; plain text when it is a file or a pipe."""
    from rich.console import Console  # 60 ms that --json does not pay

    stream = sys.stderr if stderr else sys.stdout

    class Terminal(Console):
        def print(self, *objects: Any, **options: Any) -> None:  # Any: as rich has them
            # what reads a file or a pipe goes by lines; only people need them to fit
            if not stream.isatty() and all(isinstance(value, str) for value in objects):
                options["soft_wrap"] = True
            super().print(*objects, **options)

        def on_broken_pipe(self) -> None:
            # rich would end with status 1; a reader that has seen enough (head, less) is no error
            raise BrokenPipeError

    width = None if stream.isatty() else 160
    # Names come from logs and submissions: brackets and colons in them are neither markup nor emoji.
    return Terminal(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_lines(lines: Iterable[str]) -> None:
    """Lines to stdout, each of them one line whatever it holds, save that a terminal breaks them at its width."""
    terminal = console()
    for line in lines:
        terminal.print(clean(line))


def print_json(value: Any) -> None:  # Any: a JSON value
    """Strict JSON to stdout. The name of a file may hold bytes that are no text, and those are written as escapes."""
    text = _HALVES.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text(value))
    sys.stdout.write(text + "\n")


def print_error(error: SteelyardError, *, as_json: bool) -> None:
    """The error: as JSON on stdout for scripts, as a sentence on stderr for people."""
    if as_json:
        print_json({"error": error.as_dict()})
    place = f"{error.where}: " if error.where else ""
    sys.stderr.write(clean(f"steelyard: {place}{error.message}") + "\n")
    if error.hint:
        sys.stderr.write(clean(f"  try: {error.hint}") + "\n")


def print_findings(findings: Sequence[Finding], *, whole_off_terminal: bool = False) -> None:
    """Findings to stderr, the gravest first: the first places of each, then a count of what is not shown.

    With `whole_off_terminal`, all of them where stderr is no terminal: for what is not asked a second time.
    """
    from steelyard.records import GRAVEST_FIRST  # msgspec, which a command without findings does not need

    whole = whole_off_terminal and not sys.stderr.isatty()
    ordered = sorted(findings, key=lambda finding: GRAVEST_FIRST.index(finding.severity))
    shown = len(ordered) if whole else FINDINGS_SHOWN
    for finding in ordered[:shown]:
        for line in _finding_lines(finding, places=len(finding.places) if whole else PLACES_SHOWN):
            sys.stderr.write(clean(line) + "\n")
    rest = len(ordered) - shown
    if rest > 0:
        kinds = "kind of finding" if rest == 1 else "kinds of findings"
        sys.stderr.write(f"... and {rest:,} more {kinds}; --json lists them\n")


def _finding_lines(finding: Finding, *, places: int) -> Iterator[str]:
    """The finding at its first place, then the next places on lines of their own; an info takes one line."""
    first = finding.places[0]
    place = f"{first.where}: " if first.where else ""
    own = f" ({first.message})" if first.message else ""
    more = finding.count - first.count
    after = f"; {more:,} more like it" if more and finding.severity == "info" else ""
    yield f"{finding.severity}: {place}{finding.message}{own}{after} [{finding.code}]"
    if finding.severity == "info":
        return
    for other in _told_apart(finding.places, places)[1:]:
        yield "    " + ": ".join(text for text in (other.where, other.message) if text)
        more -= other.count
    if more:
        yield f"    ... and {more:,} more; --json lists them"


def _told_apart(places: Sequence[Place], most: int) -> list[Place]:
    """The first places, in their order; of those that say the same one is enough while others say something else."""
    if len(places) <= most:
        return list(places)
    first: dict[str | None, int] = {}
    for number, place in enumerate(places[:PLACES_LOOKED_AT]):
        first.setdefault(place.message, number)
    chosen = list(dict.fromkeys([*first.values(), *range(most)]))[:most]
    return [places[number] for number in sorted(chosen)]


def reading_progress(*, shown: bool) -> AbstractContextManager[Progress | None]:
    """A bar that counts the records read."""
    return progress_bar(shown=shown, doing="reading", noun="runs")


@contextmanager
def progress_bar(*, shown: bool, doing: str, noun: str) -> Iterator[Progress | None]:
    """A bar on stderr that counts what was done, and in which file; nothing where stderr is no terminal."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # only a terminal needs it

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:,}} {noun}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        bar = progress.add_task(doing, total=None)

        def advance(name: str, count: int) -> None:
            progress.update(bar, advance=count, description=clean(f"{doing} {name}"))

        yield advance
