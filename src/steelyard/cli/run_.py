from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from steelyard.cli._options import Csv, Json, OnePath, Quiet
from steelyard.cli._output import check_printed
from steelyard.cli._print import console, print_findings, print_json, print_lines, progress_bar, show_results
from steelyard.cli._typed import Typed, typed
from steelyard.questions.run import RunOptions, export_plan, pending_trials, plan_trials, run as run_plan, run_trial
from steelyard.records import finding_dict
from steelyard.results import PlanOutlook, PlanRun, PlanTrials

if TYPE_CHECKING:
    from steelyard.questions import Progress
    from steelyard.results import Result

run = App(name="run", help="Run agents on tasks in a sandbox.", help_format="plaintext")

DEFAULTS = typed(RunOptions)()
LINE_SECONDS = 30.0
"""Interval between progress lines if stderr is not a terminal."""
STOPPED = 130
"""The exit status after Ctrl-C."""
Folder = Annotated[OnePath, Parameter(name="DIR", help="Results directory of a plan, such as runs/NAME.")]
PlanOrFolder = Annotated[OnePath, Parameter(name="PLAN|DIR", help="Plan file, or its results directory (runs/NAME).")]
Out = Annotated[
    OnePath | None, Parameter(alias="-o", help="Results directory (default: runs/NAME, where NAME is set in the plan).")
]
TrialId = Annotated[str, Parameter(help="Trial id, or a unique prefix.")]


@run.default
def run_command(
    plan: Annotated[OnePath, Parameter(help="Plan file (TOML).")],
    /,
    *,
    options: Typed[RunOptions] = DEFAULTS,
    json: Json = False,
    csv: Csv = False,
    quiet: Quiet = False,
) -> int:
    """Run agents on tasks in a sandbox; run again to resume.

    Example: steelyard run plan.toml
    Example: steelyard run plan.toml --dry-run
    """
    check_printed(json=json, csv=csv)
    with _progress(shown=not quiet) as progress:
        result = run_plan(plan, options=options, progress=progress)
    _give(result, json=json, csv=csv)
    if not quiet:
        print_findings(result.findings)
    if isinstance(result, PlanOutlook):
        return 0
    return STOPPED if result.is_interrupted else 0 if result.done == result.trials else 1


@run.command(name="list")
def list_(
    source: PlanOrFolder,
    /,
    *,
    pending: Annotated[
        bool, Parameter(help="Print only the ids of pending trials, one per line.", negative="")
    ] = False,
    out: Annotated[
        OnePath | None,
        Parameter(alias="-o", help="Results directory to read (default: runs/NAME, where NAME is set in the plan)."),
    ] = None,
    json: Json = False,
    csv: Csv = False,
) -> int:
    """List the trials of a plan with their outcomes.

    Example: steelyard run list runs/NAME
    Example: steelyard run list plan.toml --pending
    """
    check_printed(json=json, csv=csv)
    if not pending:
        _give(plan_trials(source, out=out), json=json, csv=csv)
        return 0
    result = pending_trials(source, out=out)
    if json or csv:
        _give(result, json=json, csv=csv)
    else:
        print_lines([trial.id for trial in result.listed])
    return 0


@run.command
def show(folder: Folder, trial: TrialId, /, *, json: Json = False) -> int:
    """Show one trial: executions, outcome and files.

    Example: steelyard run show runs/NAME 0f3a
    """
    _give(plan_trials(folder, trial=trial), json=json, csv=False)
    return 0


@run.command
def trial(
    folder: Folder,
    trial: TrialId,
    /,
    *,
    accept_drift: Annotated[
        bool, Parameter(help="Continue even if the agent's version or the Steelyard version has changed.", negative="")
    ] = False,
    no_sandbox: Annotated[
        bool,
        Parameter(help="If no sandbox is available, run the agent anyway, with only resource limits.", negative=""),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run one trial (for GNU parallel, Slurm, Kubernetes).

    Example: steelyard run trial runs/NAME 0f3a9c1d2e4b5a67
    """
    with _progress(shown=not quiet) as progress:
        result = run_trial(folder, trial, accept_drift=accept_drift, no_sandbox=no_sandbox, progress=progress)
    _give(result, json=json, csv=False)
    return 0 if all(each.state == "done" for each in result.listed) else 1


@run.command
def export(
    plan: Annotated[OnePath, Parameter(help="Plan file (TOML).")],
    /,
    *,
    to: Annotated[Literal["harbor"], Parameter(help="Target tool.")],  # noqa: ARG001 # one tool so far
    out: Annotated[
        OnePath | None,
        Parameter(alias="-o", help="Output directory (default: runs/NAME-harbor, where NAME is set in the plan)."),
    ] = None,
    json: Json = False,
) -> int:
    """Export a plan as a job for another tool.

    Example: steelyard run export plan.toml --to harbor --out job
    """
    folder, findings = export_plan(plan, out=out)
    if json:
        print_json({"folder": str(folder), "findings": [finding_dict(finding) for finding in findings]})
    else:
        print_lines(
            [f"wrote {folder}: cd {folder} && harbor run -c job.json", f"then: steelyard measure {folder}/jobs"]
        )
        print_findings(findings)
    return 0


def _give(result: Result, *, json: bool, csv: bool) -> None:
    if json:
        print_json(result.to_dict())
    elif csv:
        from steelyard.pages import csv_text

        print(csv_text(result.to_dicts()), end="")
    else:
        from steelyard.reports import plan_parts

        assert isinstance(result, PlanRun | PlanOutlook | PlanTrials)
        show_results(plan_parts(result))


@contextmanager
def _progress(*, shown: bool) -> Iterator[Progress | None]:
    """Show a progress bar on a terminal, and occasional lines elsewhere."""
    if shown and not sys.stderr.isatty():
        yield _lines()
        return
    with progress_bar(shown=shown, doing="running", noun="done") as progress:
        yield progress


def _lines() -> Progress:
    last = time.monotonic()

    def report(sentence: str, count: int) -> None:  # noqa: ARG001 # the sentence has the count
        nonlocal last
        if time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            console(stderr=True).print(sentence, flush=True)

    return report
