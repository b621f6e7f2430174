from __future__ import annotations

from steelyard.surfaces.cli._options import Files, Json, Level, ProfileOption, Quiet, SkipBad
from steelyard.surfaces.cli._print import console, print_findings, print_json, reading_progress
from steelyard.workflow.judges import judges as examine


def judges(
    files: Files,
    /,
    *,
    level: Level = 0.95,
    profile: ProfileOption = "outcome-1",
    json: Json = False,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> int:
    """Tell whether the judges agree, who is strict, whether their scores add up, and where they contradict themselves.

    Example: steelyard judges runs.jsonl
    """
    with reading_progress(shown=not quiet) as progress:
        result = examine(list(files), profile=profile, level=level, progress=progress)
    if json:
        print_json(result.to_dict())
    else:
        from steelyard.reports.judging import judge_lines, judge_tables  # brings rich

        terminal = console()
        for line in judge_lines(result):
            terminal.print(line, markup=False, soft_wrap=True)
        terminal.print()
        for table in judge_tables(result):
            terminal.print(table)
    if not quiet:
        print_findings([*result.contradictions, *result.findings])
    return 1 if result.rejected_count and not skip_bad else 0
