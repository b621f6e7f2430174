from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.surfaces.cli._options import Csv, Json, OnePath, Paths, PricesOption, ProfileOption, Quiet, SkipBad
from steelyard.surfaces.cli._print import console, print_findings
from steelyard.workflow.speedup import DEFAULT_PROFILE, SpeedupResult, TaskFiles, agent_files
from steelyard.workflow.speedup import speedup as weigh


def speedup(
    inputs: Annotated[
        Paths | None, Parameter(help="A folder of tasks, or FC-Eval's results.json or log; - is stdin.")
    ] = None,
    /,
    *,
    nop: Annotated[OnePath | None, Parameter(help="Timings of the unchanged code.")] = None,
    oracle: Annotated[OnePath | None, Parameter(help="Timings of the expert's change.")] = None,
    agent: Annotated[
        list[str] | None,
        Parameter(help="Timings of an agent's change, as NAME:MODEL=FILE; may be repeated.", negative=""),
    ] = None,
    nop_again: Annotated[
        OnePath | None, Parameter(help="The unchanged code measured again, for the noise floor.")
    ] = None,
    tests: Annotated[OnePath | None, Parameter(help="Test results by agent (JSON), and of oracle.")] = None,
    snapshot: Annotated[OnePath | None, Parameter(help="Snapshot results by agent (JSON).")] = None,
    runs: Annotated[OnePath | None, Parameter(help="cost_usd and trajectory_length by agent (JSON).")] = None,
    log: Annotated[
        list[str] | None, Parameter(help="An agent's JSON log or .cast, as NAME:MODEL=FILE.", negative="")
    ] = None,
    task: Annotated[str | None, Parameter(help="The task's name.")] = None,
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
    json: Json = False,
    csv: Csv = False,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> int:
    """Weigh code made faster: agents against no change and against an expert.

    Example: steelyard speedup --nop nop.json --oracle expert.json --agent openhands:gpt-5=agent.json
    """
    if json and csv:
        raise UsageError("--json and --csv exclude each other")
    if benchmarks and not csv:
        raise UsageError("--benchmarks is for --csv: one line a benchmark", hint="--json always lists them")
    if no_intervals and (interval or verdict):
        unused = "interval" if interval else "verdict"
        raise UsageError(f"--{unused} says how sure the figures are, which --no-intervals leaves out")
    given: dict[str, object] = {"nop": nop, "oracle": oracle, "agent": agent, "nop-again": nop_again, "tests": tests}
    given |= {"snapshot": snapshot, "runs": runs, "log": log, "task": task}
    files: TaskFiles | list[Path]
    if inputs:
        clash = next((name for name, value in given.items() if value), None)
        if clash:
            raise UsageError(f"--{clash} is for the files of one task and cannot go with a folder or FC-Eval file")
        files = inputs
    else:
        if nop is None or oracle is None or not agent:
            raise UsageError("one task needs --nop, --oracle and --agent", hint="or give a folder of tasks")
        files = TaskFiles(
            task=task or "task",
            nop=nop,
            oracle=oracle,
            agents=agent_files(agent),
            nop_again=nop_again,
            tests=tests,
            snapshot=snapshot,
            runs=runs,
            logs={key: [path] for key, path in agent_files(log or []).items()},
        )
    overrides = {"agent_only_failures": agent_only, "interval_method": interval, "verdict": verdict}
    result = weigh(files, profile=profile, intervals=not no_intervals, prices=prices, overrides=overrides)
    _show(result, json=json, csv=csv, benchmarks=benchmarks)
    if not quiet:
        print_findings(result.findings)
    return 1 if not result.usable or (result.rejected and not skip_bad) else 0


def _show(result: SpeedupResult, *, json: bool, csv: bool, benchmarks: bool) -> None:
    if json:
        sys.stdout.write(result.to_json() + "\n")
        return
    shape = result.to_dict()
    from steelyard.reports.speedup import benchmark_tree, speedup_csv, speedup_tables  # brings rich

    if csv:
        print(speedup_csv(shape, benchmarks=benchmarks), end="")
        return
    terminal = console()
    for table in speedup_tables(shape):
        terminal.print(table)
    if not result.many:
        for key, root in result.trees():
            terminal.print(benchmark_tree(key, root))
