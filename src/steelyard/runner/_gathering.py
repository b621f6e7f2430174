"""What a plan's folder holds: the state of each cell, and the Runs that every other verb reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from steelyard.records import Failure, Finding, Run, encode_run
from steelyard.runner._cell_records import Cell, Ending, TryOutcome, TryResult
from steelyard.runner._folders import PlanFolder
from steelyard.runner._judgments import completed_runs
from steelyard.runner._plan import ORACLE, PlanRead

State = Literal["done", "unfinished", "open"]
"""`done`: there is a result; `unfinished`: tries were made, and the next run tries again; `open`: nothing was tried."""


@dataclass(frozen=True)
class CellState:
    """A cell and the outcome of it so far."""

    cell: Cell
    state: State
    ending: Ending | None = None
    """How its last try ended; None where none was made."""
    tries: tuple[TryResult, ...] = ()
    run: Run | None = None
    findings: tuple[Finding, ...] = ()
    judgment: dict[str, object] | None = None


def cell_states(folder: PlanFolder, cells: Iterable[Cell]) -> Iterator[CellState]:
    """The state of each cell, in their order."""
    finished = folder.finished()
    for cell in cells:
        result = folder.result(cell.id) if cell.id in finished else None
        if result is not None:
            yield CellState(cell, "done", result.ending, result.tries, result.run, result.findings, result.judgment)
        else:
            yield _unfinished(folder, cell)


def _unfinished(folder: PlanFolder, cell: Cell) -> CellState:
    outcomes = [outcome for path in folder.tries(cell.id) if (outcome := folder.outcome(path)) is not None]
    if not outcomes:
        return CellState(cell, "open")
    last: TryOutcome = outcomes[-1]
    tries = tuple(outcome.result for outcome in outcomes)
    return CellState(cell, "unfinished", last.result.ending, tries, last.run, last.findings)


def write_runs(folder: PlanFolder, read: PlanRead, states: Sequence[CellState]) -> list[Finding]:
    """Write `runs.jsonl`: a Run for each cell that was tried, under the names that the plan has now."""
    broken = broken_tasks(read, states)
    named = {
        state.cell.id: named_run(read, state, is_broken=state.cell.task in broken)
        for state in states
        if state.run is not None and state.cell.kind == "run"
    }
    runs, about_judges = completed_runs(read, folder, [state.cell for state in states], named)
    folder.write("runs.jsonl", b"".join(encode_run(run) + b"\n" for run in runs))
    message = "the known solution fails this task's verification, so its verdicts do not count"
    findings = [Finding(code="oracle_fails", message=message, where=f"task {task}") for task in sorted(broken)]
    return [*findings, *about_judges, *(finding for state in states for finding in state.findings)]


def broken_tasks(read: PlanRead, states: Iterable[CellState]) -> set[str]:
    """Tasks whose known solution fails: their verifier, not the agents, is at fault."""
    return {
        state.cell.task
        for state in states
        if state.cell.kind == "run"
        and read.use_of(state.cell.agent).use == ORACLE
        and state.state == "done"
        and state.run is not None
        and state.run.verdict is False
    }


def named_run(read: PlanRead, state: CellState, *, is_broken: bool) -> Run:
    """The Run under the names that the plan has now: a cell keeps its id when its task or agent is renamed."""
    run, cell = state.run, state.cell
    assert run is not None
    named = msgspec.structs.replace(run, experiment=read.plan.name, task=cell.task, agent=cell.agent, tier=cell.tier)
    if not is_broken:
        return named
    failure = Failure(cause="infrastructure", message="the known solution fails this task's verification")
    extra = {**(named.extra or {}), "x_ending": "verifier_broken"}
    return msgspec.structs.replace(named, passed=None, tests=None, outcome="errored", failure=failure, extra=extra)
