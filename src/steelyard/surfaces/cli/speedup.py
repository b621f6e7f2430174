from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.surfaces.cli._options import SHOWING, Csv, OnePath, Paths, PricesOption, ProfileOption, Showing
from steelyard.surfaces.cli._print import console, print_findings
from steelyard.workflow import DEFAULT_PROFILE, SpeedupResult, TaskFiles, agent_files, speedup as weigh


@Parameter(name="*", negative="")
@dataclass(frozen=True, kw_only=True)
class OneTask:
    """The files of one task, as they are typed; a folder of tasks holds them under names."""

    nop: OnePath | None = None
    """Timings of the unchanged code."""
    oracle: OnePath | None = None
    """Timings of the expert's change."""
    agent: list[str] | None = None
    """Timings of an agent's change, as NAME:MODEL=FILE; may be repeated."""
    nop_again: OnePath | None = None
    """The unchanged code measured again, for the noise floor."""
    tests: OnePath | None = None
    """Test results by agent (JSON), and of oracle."""
    snapshot: OnePath | None = None
    """Snapshot results by agent (JSON)."""
    runs: OnePath | None = None
    """cost_usd and trajectory_length by agent (JSON)."""
    log: list[str] | None = None
    """An agent's JSON log or .cast, as NAME:MODEL=FILE."""
    task: str | None = None
    """The task's name."""

    def refuse_beside_inputs(self) -> None:
        """A folder or an FC-Eval file names its files itself."""
        given = next((field.name for field in fields(self) if getattr(self, field.name)), None)
        if given:
            option = given.replace("_", "-")
            raise UsageError(f"--{option} is for the files of one task and cannot go with a folder or FC-Eval file")

    def files(self) -> TaskFiles:
        """The files of the library."""
        if self.nop is None or self.oracle is None or not self.agent:
            raise UsageError("one task needs --nop, --oracle and --agent", hint="or give a folder of tasks")
        return TaskFiles(
            task=self.task or "task",
            nop=self.nop,
            oracle=self.oracle,
            agents=agent_files(self.agent),
            nop_again=self.nop_again,
            tests=self.tests,
            snapshot=self.snapshot,
            runs=self.runs,
            logs={key: [path] for key, path in agent_files(self.log or []).items()},
        )


ONE_TASK = OneTask()


def speedup(
    inputs: Annotated[
        Paths | None, Parameter(help="A folder of tasks, or FC-Eval's results.json or log; - is stdin.")
    ] = None,
    /,
    *,
    one_task: OneTask = ONE_TASK,
    profile: ProfileOption = DEFAULT_PROFILE,
    agent_only: Annotated[
        Literal["drop", "baseline", "worst"] | None,
        Parameter(help="What a benchmark that fails only under the agent counts as."),
    ] = None,
    interval: Annotated[
        Literal["order", "bootstrap"] | None, Parameter(help="How intervals of speedups are made.")
    ] = None,
    verdict: Annotated[
        Literal["interval", "asv"] | None, Parameter(help="Who decides what is faster or slower.")
    ] = None,
    prices: PricesOption = DEFAULT_BOOK,
    no_intervals: Annotated[bool, Parameter(help="Only the figures, not how sure they are.", negative="")] = False,
    benchmarks: Annotated[bool, Parameter(help="With --csv, one line a benchmark.", negative="")] = False,
    csv: Csv = False,
    showing: Showing = SHOWING,
) -> int:
    """Weigh code made faster: agents against no change and against an expert.

    Example: steelyard speedup --nop nop.json --oracle expert.json --agent openhands:gpt-5=agent.json
    """
    if showing.json and csv:
        raise UsageError("--json and --csv exclude each other")
    if benchmarks and not csv:
        raise UsageError("--benchmarks is for --csv: one line a benchmark", hint="--json always lists them")
    if no_intervals and (interval or verdict):
        unused = "interval" if interval else "verdict"
        raise UsageError(f"--{unused} says how sure the figures are, which --no-intervals leaves out")
    if inputs:
        one_task.refuse_beside_inputs()
    overrides = {"agent_only_failures": agent_only, "interval_method": interval, "verdict": verdict}
    result = weigh(
        inputs or one_task.files(), profile=profile, intervals=not no_intervals, prices=prices, overrides=overrides
    )
    _show(result, json=showing.json, csv=csv, benchmarks=benchmarks)
    if not showing.quiet:
        print_findings(result.findings)
    return showing.status(result.rejected, useless=not result.usable)


def _show(result: SpeedupResult, *, json: bool, csv: bool, benchmarks: bool) -> None:
    if json:
        sys.stdout.write(result.to_json() + "\n")
        return
    shape = result.to_dict()
    from steelyard.reports import benchmark_tree, speedup_csv, speedup_tables  # brings rich

    if csv:
        print(speedup_csv(shape, benchmarks=benchmarks), end="")
        return
    terminal = console()
    for table in speedup_tables(shape):
        terminal.print(table)
    if not result.many:
        for key, root in result.trees():
            terminal.print(benchmark_tree(key, root))
