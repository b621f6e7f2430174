from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from steelyard.cli._options import Files
from steelyard.cli._output import REPORT_FILE, REPORT_OUTPUT, ReportOutput
from steelyard.cli._print import print_findings, print_lines, progress_bar
from steelyard.cli._typed import Typed, typed
from steelyard.questions import ReportOptions
from steelyard.questions.report import report as make_report
from steelyard.reports import report_lead

DEFAULTS = typed(ReportOptions)()


def report(files: Files, /, *, options: Typed[ReportOptions] = DEFAULTS, output: ReportOutput = REPORT_OUTPUT) -> int:
    """Write a self-contained HTML or Markdown report.

    The report loads nothing from the network. --out report.md writes Markdown for pull requests. Like
    repeatability and speedup, report also accepts SKYT experiment files and timings.

    Example: steelyard report runs.jsonl --by agent,model --out report.html
    """
    if not (output.json or output.csv or output.out):
        output = replace(output, out=Path(REPORT_FILE))
    output.check()
    with progress_bar(shown=not output.quiet, doing="report:", noun="runs") as progress:
        result = make_report(files, options=options, progress=progress)
    lead = [report_lead(result)]
    output.give(result, lambda: print_lines(lead), sentences=lambda: lead)
    if not output.quiet:
        print_findings(result.findings)
    return output.status(result.rejected_count, useless=result.empty)
