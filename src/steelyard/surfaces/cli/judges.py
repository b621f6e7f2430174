from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.surfaces.cli._options import SHOWING, Files, Level, ProfileOption, Showing
from steelyard.surfaces.cli._print import console, print_findings, print_json, reading_progress
from steelyard.workflow import judges as examine

if TYPE_CHECKING:
    from steelyard.standings import Judges


def judges(
    files: Files,
    /,
    *,
    level: Level = 0.95,
    profile: ProfileOption = "outcome-1",
    showing: Showing = SHOWING,
) -> int:
    """Tell whether the judges agree, who is strict, whether their scores add up, and where they contradict themselves.

    Example: steelyard judges runs.jsonl
    """
    with reading_progress(shown=not showing.quiet) as progress:
        result = examine(list(files), profile=profile, level=level, progress=progress)
    if showing.json:
        print_json(result.to_dict())
    else:
        _show(result)
    if not showing.quiet:
        print_findings([*result.contradictions, *result.findings])
    return showing.status(result.rejected_count)


def _show(result: Judges) -> None:
    from steelyard.reports import judge_lines, judge_tables  # brings rich

    terminal = console()
    for line in judge_lines(result):
        terminal.print(line, soft_wrap=True)
    terminal.print()
    for table in judge_tables(result):
        terminal.print(table)
