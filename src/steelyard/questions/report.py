"""Report: every command that the inputs have something for, over the same runs, as one result."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from steelyard.questions._figure_options import ReportOptions
from steelyard.questions._opening_runs import Runs, each_input, reject_labels, table_of
from steelyard.questions._question import question
from steelyard.questions._report_inputs import sort_inputs
from steelyard.questions._report_sections import ReportSections
from steelyard.questions._run_rows import run_rows
from steelyard.records import Finding, set_aside_findings
from steelyard.results import Report
from steelyard.version import __version__


@question(ReportOptions)
def report(runs: Runs, options: ReportOptions) -> Report:
    """Create a report with every section that the inputs support; save it as .html or .md.

    Inputs are runs, SKYT experiment files and the inputs of `speedup`. No code is run.

    >>> import steelyard as sy
    >>> made = sy.report(sy.demo_runs(), sections=["measure"], title="Demonstration")
    >>> made
    Report(Demonstration: measure; 1,400 runs)
    """
    from steelyard.tables import RunTable, choose  # tables bring numpy and Polars

    work = ReportSections(options)
    reading, profile = options.reading(), options.outcome_profile()
    if isinstance(runs, RunTable):
        reject_labels(reading.labels)
        table = choose(runs, reading.choice)
    else:
        given = work.given(list(each_input(runs, reading.mapping)))
        work.inputs = sort_inputs(given, mapped=reading.mapping is not None)
        table = choose(table_of(work.inputs.runs, reading), reading.choice)
    if table.n:
        work.over_runs(table)
    work.over_files()
    names = [each.name for each in work.described]
    work.keep_command("report", options, work.all_inputs)
    return Report(
        title=options.title or f"Report on {', '.join(Path(name).name or name for name in names) or 'a table of runs'}",
        inputs=work.described,
        runs=run_rows(table, profile),
        ranking=work.ranking,
        measurement=work.measurement,
        comparison=work.comparison,
        judges=work.judges,
        repeatability=work.repeatability,
        speedup=work.speedup,
        usage=work.usage,
        completeness=work.completeness,
        outputs=tuple(work.outputs),
        outputs_left_out=work.outputs_left_out,
        sections=work.sections,
        omitted=work.omitted,
        commands=work.commands,
        findings=_each_once([*set_aside_findings(table.rejected), *table.findings, *work.findings]),
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
