from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.results import SpeedupResult
from steelyard.surfaces.cli._options import OnePath, Paths
from steelyard.surfaces.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.surfaces.cli._print import console, print_findings
from steelyard.surfaces.cli._typed import Typed, typed
from steelyard.workflow import SpeedupOptions, TaskFiles
from steelyard.workflow.speedup import agent_files, files_of_tests, speedup as weigh

DEFAULTS = typed(SpeedupOptions)()


@Parameter(name="*", negative="")
@dataclass(frozen=True, kw_only=True)
class OneTask:
    """The files of one task, as they are typed; a folder of tasks holds them under names."""

    nop: OnePath | None = None
    """Timings of the unchanged code."""
    oracle: OnePath | None = None
    """Timings of the expert's change; without them advantages are missing."""
    agent: list[str] | None = None
    """Timings of an agent's change, as NAME:MODEL=FILE; may be repeated."""
    nop_again: OnePath | None = None
    """The unchanged code measured again, for the noise floor."""
    tests: list[str] | None = None
    """Test results by agent and of oracle (JSON), or a test report such as JUnit XML: of the one agent as FILE, of
    several as NAME:MODEL=FILE and oracle=FILE; may be repeated."""
    snapshot: OnePath | None = None
    """Snapshot results by agent (JSON), and of oracle."""
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
        if self.nop is None or not self.agent:
            raise UsageError("one task needs --nop and --agent", hint="or give a folder of tasks")
        tests, reports = files_of_tests(self.tests or [])
        return TaskFiles(
            task=self.task or "task",
            nop=self.nop,
            oracle=self.oracle,
            agents=agent_files(self.agent),
            nop_again=self.nop_again,
            tests=tests,
            test_reports=reports,
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
    options: Typed[SpeedupOptions] = DEFAULTS,
    benchmarks: Annotated[bool, Parameter(help="With --csv, one line a benchmark.", negative="")] = False,
    output: DrawnOutput = DRAWN_OUTPUT,
) -> int:
    """Weigh code made faster: agents against no change and against an expert.

    Example: steelyard speedup --nop nop.json --oracle expert.json --agent openhands:gpt-5=agent.json
    """
    output.check_drawn(SpeedupResult)
    if benchmarks and not output.csv:
        raise UsageError("--benchmarks is for --csv: one line a benchmark", hint="--json always lists them")
    if inputs:
        one_task.refuse_beside_inputs()
    result = weigh(inputs or one_task.files(), options=options)
    output.give(
        result, lambda: _show(result), rows=lambda: result.to_dicts(benchmarks=benchmarks), json_text=result.to_json
    )
    if not output.quiet:
        print_findings(result.findings)
    return output.status(result.rejected_count, useless=not result.usable)


def _show(result: SpeedupResult) -> None:
    from steelyard.reports import benchmark_tree, speedup_sentence, speedup_table

    terminal = console()
    terminal.print(speedup_sentence(result))
    terminal.print()
    terminal.print(speedup_table(result))
    for attempt in result.attempts:
        if attempt.tree is not None:
            terminal.print(benchmark_tree(attempt.agent, attempt.tree))
