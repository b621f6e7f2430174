"""Write a self-contained HTML or Markdown report.

The report contains every section that the inputs support and loads nothing from the network. Without another output
option, it is written to report.html. Use a .md file for pull requests. Inputs are runs, SKYT experiment files and
timings, or the store of an arena. No code is run.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from steelyard import sources
from steelyard.questions._measured_tables import arena_of, is_arena, open_table, usual_metrics
from steelyard.questions._question import question
from steelyard.questions._run_input import Measurable, each_input, reject_labels, sort_inputs, table_of
from steelyard.questions._run_rows import listed_runs
from steelyard.questions.report._answer import (
    RESULTS,
    Report as Report,
    ReportInput as ReportInput,
    ReportOutput as ReportOutput,
)
from steelyard.questions.report._page import page as page
from steelyard.questions.report._sections import ReportOptions as ReportOptions, ReportSections
from steelyard.records import Finding, set_aside_findings
from steelyard.version import __version__


@question(
    ReportOptions,
    path="",
    file="report.html",
    examples=({"by": "agent,model", "out": "report.html"}, {"metrics": "pass_rate,r_prog"}),
)
def report(runs: Measurable, options: ReportOptions) -> Report:
    """Create a report with every section that the inputs support; save it as .html or .md.

    >>> import steelyard as sy
    >>> made = sy.report(sy.demo_runs(), sections=["measure"], title="Demonstration")
    >>> made
    Report(Demonstration: measure; 1,400 runs)
    """
    work = ReportSections(options)
    reading, profile = options.reading(), options.outcome_profile()
    if isinstance(runs, sources.RunTable):
        reject_labels(reading.labels)
        work.source = table = sources.choose(runs, reading.choice)
    elif is_arena(runs):
        work.source = arena = arena_of(runs)
        work.described = (ReportInput(name=arena.store.address, sha256=None),)
        table = open_table(arena, work.metrics or usual_metrics(arena), options, keys=options.by)
    else:
        given = work.given(list(each_input(runs, reading.mapping)))  # type: ignore[arg-type] # rejects results
        work.inputs = sort_inputs(given, mapped=reading.mapping is not None)
        work.source = table = sources.choose(table_of(work.inputs.runs, reading), reading.choice)
    if table.n:
        work.over_runs(table)
    work.over_files()
    work.check_metrics()
    names = [Path(each.name).name or each.name for each in work.described]
    work.keep_command("report", options, work.all_inputs)
    listed, sentence = listed_runs(table, profile)
    findings = [*set_aside_findings(table.rejected), *table.findings, *work.findings]
    results: dict[str, Any] = {RESULTS[section]: answer for section, answer in work.results.items()}  # Any: answers
    return Report(
        title=options.title or f"Report on {', '.join(names) or 'a table of runs'}",
        inputs=work.described,
        sentence=sentence,
        run_count=table.n,
        runs=listed,
        **results,
        outputs=tuple(work.outputs),
        outputs_left_out=work.outputs_left_out,
        sections=work.sections,
        omitted=work.omitted,
        commands=work.commands,
        findings=_each_once(findings),
        profile=profile.name,
        prices=table.price_table,
        version=__version__,
        redact=options.redact,
        rejected_count=table.rejected_count + work.rejected_count,
    )


def _each_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the finding with the most cases per code: commands report the same findings for the same runs."""
    largest: dict[str, Finding] = {}
    for finding in findings:
        if finding.code not in largest or finding.count > largest[finding.code].count:
            largest[finding.code] = finding
    return tuple(largest.values())
