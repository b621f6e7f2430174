from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from cyclopts import Parameter

from steelyard.cli._options import CommandOptions, Csv, NoCsvEscape, Paths, typed
from steelyard.cli._output import SHOWING, DisplayOptions, Output, check_csv_escape, check_printed, print_written
from steelyard.cli._print import console, print_findings
from steelyard.cli._question_commands import deliver
from steelyard.pages import RUN_FILE_ENDINGS, check_file, check_runs_folder, write_runs, write_runs_folder
from steelyard.plain_text import clean
from steelyard.questions import ReadOptions
from steelyard.questions.read import TRAJECTORIES, BytesProgress, RunReading, write_trajectories
from steelyard.settings import named_path

DEFAULTS = typed(ReadOptions)()


def read(
    paths: Annotated[
        Paths | None, Parameter(help="Files, directories or archives (zip, tar, gz, zst, bz2, xz); - for stdin.")
    ] = None,
    /,
    *,
    options: CommandOptions[ReadOptions] = DEFAULTS,
    csv: Csv = False,
    no_csv_escape: NoCsvEscape = False,
    out: Annotated[
        str | None,
        Parameter(
            help="Write runs to .jsonl, .csv, .parquet or a Parquet directory (DIR/), or ATIF trajectories to a "
            "directory named atif/."
        ),
    ] = None,
    showing: DisplayOptions = SHOWING,
) -> int:
    """Convert logs and results to run records (42 formats).

    Without a path, reads the logs of the agents installed on this machine.

    Example: steelyard read logs/ --out runs.parquet
    Example: steelyard read results/ --set experiment={folder} --out runs.parquet
    Example: steelyard read logs/ --out atif/
    Example: steelyard read /shared/logs --engine spark://HOST:7077 --out runs/
    """
    check_printed(json=showing.json, csv=csv)
    check_csv_escape(no_csv_escape=no_csv_escape, csv=csv)
    place, is_folder = named_path(out or "."), out is not None and out.endswith("/")
    is_atif = is_folder and place.name == TRAJECTORIES
    if out is not None:
        check_runs_folder(place) if is_folder else check_file(place, endings=RUN_FILE_ENDINGS)
    with _bytes_progress(shown=not showing.quiet) as progress:
        reading = RunReading(paths or [], options=options, progress=progress)
        if not showing.quiet:
            for searched_paths in reading.summary.searched_paths:
                console(stderr=True).print(clean(f"searching {searched_paths}"))
        if is_atif:
            write_trajectories(reading, place)
        elif out is not None:
            write_runs_folder(reading, place) if is_folder else write_runs(reading, place)
        else:
            deque(reading, maxlen=0)
    summary = reading.summary
    # the file contains the runs, so the summary is printed too
    deliver(summary, Output(json=showing.json, csv=csv, no_csv_escape=no_csv_escape))
    if out is not None and not showing.json and not csv:
        print_written(place)
    if not showing.quiet:
        print_findings(summary.findings)
    return showing.status(summary.rejected_count, useless=summary.is_empty)


@contextmanager
def _bytes_progress(*, shown: bool) -> Iterator[BytesProgress | None]:
    """A bar on stderr that counts bytes; nothing where stderr is no terminal."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # only a terminal needs it
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("reading", total=None)

        def advance(done: int, total: int) -> None:
            bars.update(bar, completed=done, total=total)

        yield advance
