"""Report: every command that the inputs have something for, over the same runs, as one result."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from steelyard.questions._figure_options import ReportOptions
from steelyard.questions._measured_tables import arena_of, is_arena, open_table, usual_metrics
from steelyard.questions._opening_runs import Measurable, each_input, reject_labels, table_of
from steelyard.questions._question import question
from steelyard.questions._report_inputs import sort_inputs
from steelyard.questions._report_sections import ReportSections
from steelyard.questions._run_rows import run_rows
from steelyard.records import Finding, set_aside_findings
from steelyard.results import Report, ReportInput
from steelyard.version import __version__


@question(ReportOptions)
def report(runs: Measurable, options: ReportOptions) -> Report:
    """Create a report with every section that the inputs support; save it as .html or .md.

    Inputs are runs, SKYT experiment files and the inputs of `speedup`, or the store of an arena. No code is run.

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
        work.source = table = choose(runs, reading.choice)
    elif is_arena(runs):
        work.source = arena = arena_of(runs)
        work.described = (ReportInput(name=arena.store.address, sha256=None),)
        table = open_table(arena, work.metrics or usual_metrics(arena), options, keys=options.by)
    else:
        given = work.given(list(each_input(runs, reading.mapping)))  # type: ignore[arg-type] # rejects results
        work.inputs = sort_inputs(given, mapped=reading.mapping is not None)
        work.source = table = choose(table_of(work.inputs.runs, reading), reading.choice)
    if table.n:
        work.over_runs(table)
    work.over_files()
    work.check_metrics()
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
