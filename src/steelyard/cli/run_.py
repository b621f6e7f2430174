"""Run agents on tasks in a sandbox."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from steelyard.cli._options import CommandOptions, Csv, Json, OnePath, Quiet, typed
from steelyard.cli._output import check_printed
from steelyard.cli._print import console, print_findings, print_json, print_text, progress_bar
from steelyard.cli._question_commands import command_named
from steelyard.pages import csv_text
from steelyard.questions import PlanOutlook
from steelyard.questions.run import RunOptions, export_plan, run as run_plan, run_trial

if TYPE_CHECKING:
    from steelyard.questions import PlanExport, PlanRun, Progress
    from steelyard.questions.run_list import PlanTrials

run = App(name="run", help=__doc__, help_format="plaintext")

DEFAULTS = typed(RunOptions)()
LINE_SECONDS = 30.0
"""Interval between progress lines if stderr is not a terminal."""
STOPPED = 130
"""The exit status after Ctrl-C."""
Folder = Annotated[OnePath, Parameter(name="DIR", help="Results directory of a plan, such as runs/NAME.")]
TrialId = Annotated[str, Parameter(help="Trial id, or a unique prefix.")]


@run.default
def run_command(
    plan: Annotated[OnePath, Parameter(help="Plan file (TOML).")],
    /,
    *,
    options: CommandOptions[RunOptions] = DEFAULTS,
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
    _give(result, json=json, csv=csv, quiet=quiet)
    if isinstance(result, PlanOutlook):
        return 0
    return STOPPED if result.is_interrupted else 0 if result.done == result.trials else 1


run.command(command_named("run_list"), name="list")
run.command(command_named("run_show"), name="show")


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
    csv: Csv = False,
    quiet: Quiet = False,
) -> int:
    """Run one trial (for GNU parallel, Slurm, Kubernetes).

    Example: steelyard run trial runs/NAME 0f3a9c1d2e4b5a67
    """
    check_printed(json=json, csv=csv)
    with _progress(shown=not quiet) as progress:
        result = run_trial(folder, trial, accept_drift=accept_drift, no_sandbox=no_sandbox, progress=progress)
    _give(result, json=json, csv=csv, quiet=quiet)
    return 0 if all(each.state == "done" for each in result.trials) else 1


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
    csv: Csv = False,
    quiet: Quiet = False,
) -> int:
    """Export a plan as a job for another tool.

    Example: steelyard run export plan.toml --to harbor --out job
    """
    check_printed(json=json, csv=csv)
    _give(export_plan(plan, out=out), json=json, csv=csv, quiet=quiet)
    return 0


def _give(answer: PlanRun | PlanOutlook | PlanTrials | PlanExport, *, json: bool, csv: bool, quiet: bool) -> None:
    if json:
        print_json(answer.to_dict())
    elif csv:
        print_text(csv_text(answer.to_dicts()))
    else:
        console().print_page(answer.page())
    if not quiet:
        print_findings(answer.findings)


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
