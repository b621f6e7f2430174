from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from steelyard.records import finding_dict
from steelyard.results import PlanOutlook, PlanRun, PlanTrials
from steelyard.surfaces.cli._options import Csv, Json, OnePath, Quiet
from steelyard.surfaces.cli._output import check_printed
from steelyard.surfaces.cli._print import console, print_findings, print_json, print_lines, progress_bar, show_results
from steelyard.surfaces.cli._typed import Typed, typed
from steelyard.workflow.run import RunOptions, harbor_job, open_trials, plan_trials, run as run_plan, run_trial

if TYPE_CHECKING:
    from steelyard.results import Result
    from steelyard.workflow import Progress

run = App(name="run", help="Run a plan of tasks and agents; the same command resumes it.", help_format="plaintext")

DEFAULTS = typed(RunOptions)()
LINE_SECONDS = 30.0
"""How often progress is told where nobody watches a terminal."""
STOPPED = 130
"""The exit status after Ctrl-C."""
Folder = Annotated[OnePath, Parameter(help="The folder of a plan, such as runs/NAME.")]
TrialId = Annotated[str, Parameter(help="The trial's id, or its beginning.")]


@run.default
def run_command(
    plan: Annotated[OnePath, Parameter(help="The plan, a TOML file.")],
    /,
    *,
    options: Typed[RunOptions] = DEFAULTS,
    list: Annotated[  # noqa: A002 # the user's word for it
        bool, Parameter(help="Start nothing: print the ids of the trials to run, one a line.", negative="")
    ] = False,
    as_: Annotated[
        Literal["harbor"] | None,
        Parameter(name="--as", help="Start nothing: write the plan as a job for another tool into --out."),
    ] = None,
    json: Json = False,
    csv: Csv = False,
    quiet: Quiet = False,
) -> int:
    """Run what a plan asks for: agents on tasks, each in a sandbox, each a Run that every other command reads.

    Example: steelyard run plan.toml
    Example: steelyard run plan.toml --dry-run
    Example: steelyard run plan.toml --as harbor --out job
    """
    check_printed(json=json, csv=csv)
    if as_ is not None:
        return _as_harbor(plan, options.out, json=json)
    if list:
        ids = open_trials(plan, out=options.out)
        print_json({"trials": ids}) if json else print_lines(ids)
        return 0
    with _progress(shown=not quiet) as progress:
        result = run_plan(plan, options=options, progress=progress)
    _give(result, json=json, csv=csv)
    if not quiet:
        print_findings(result.findings)
    if isinstance(result, PlanOutlook):
        return 0
    return STOPPED if result.is_interrupted else 0 if result.done == result.trials else 1


@run.command(name="list")
def list_(folder: Folder, /, *, json: Json = False, csv: Csv = False) -> int:
    """List the trials of a plan's folder, with the outcome of each.

    Example: steelyard run list runs/NAME
    """
    check_printed(json=json, csv=csv)
    _give(plan_trials(folder), json=json, csv=csv)
    return 0


@run.command
def show(folder: Folder, trial: TrialId, /, *, json: Json = False) -> int:
    """Show one trial: what it is, its executions, how it ended, and where its files are.

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
    accept_drift: Annotated[bool, Parameter(help="Go on although an agent has another version.", negative="")] = False,
    no_sandbox: Annotated[
        bool, Parameter(help="Run the agent with resource limits only if no sandbox is available.", negative="")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run one trial of a plan's folder, for engines that start commands: GNU parallel, Slurm, Kubernetes.

    Example: steelyard run trial runs/NAME 0f3a9c1d2e4b5a67
    """
    with _progress(shown=not quiet) as progress:
        result = run_trial(folder, trial, accept_drift=accept_drift, no_sandbox=no_sandbox, progress=progress)
    _give(result, json=json, csv=False)
    return 0 if all(each.state == "done" for each in result.listed) else 1


def _as_harbor(plan: OnePath, out: OnePath | None, *, json: bool) -> int:
    folder, findings = harbor_job(plan, out=out)
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
        from steelyard.reports import csv_text

        print(csv_text(result.to_dicts()), end="")
    else:
        from steelyard.reports import plan_parts

        assert isinstance(result, PlanRun | PlanOutlook | PlanTrials)
        show_results(plan_parts(result))


@contextmanager
def _progress(*, shown: bool) -> Iterator[Progress | None]:
    """A bar on a terminal; elsewhere a line from time to time."""
    if shown and not sys.stderr.isatty():
        yield _lines()
        return
    with progress_bar(shown=shown, doing="running", noun="done") as progress:
        yield progress


def _lines() -> Progress:
    told = time.monotonic()

    def tell(sentence: str, count: int) -> None:  # noqa: ARG001 # the sentence says it
        nonlocal told
        if time.monotonic() - told >= LINE_SECONDS:
            told = time.monotonic()
            console(stderr=True).print(sentence, flush=True)

    return tell
