"""Running a plan: what is to be done is found, locked, scheduled and gathered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from steelyard.errors import BadPlan, SteelyardError, UnknownName, UsageError
from steelyard.records import Finding
from steelyard.runner._budgets import Spending
from steelyard.runner._cell_records import Cell
from steelyard.runner._cells import cells_of
from steelyard.runner._executing import PlanExecutor
from steelyard.runner._folders import PlanFolder
from steelyard.runner._gathering import CellState, cell_states, write_runs
from steelyard.runner._lock import lock_of, locked, plan_path
from steelyard.runner._plan import PlanRead, key_mistakes, load_plan
from steelyard.runner._plan_records import seconds_of
from steelyard.runner._scheduling import PlanProgress, Scheduler

Tell: TypeAlias = Callable[[PlanProgress], None]


@dataclass(frozen=True)
class OpenedPlan:
    """A plan without mistakes, and its cells."""

    read: PlanRead
    cells: Sequence[Cell]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How a plan is run, beside what it says itself."""

    unsafe: bool = False
    accept_drift: bool = False
    parallel: int | None = None
    only: Collection[str] = ()
    """Labels of agents, ids of tasks or of cells; empty for all."""
    tell: Tell | None = None


@dataclass(frozen=True)
class PlanEnd:
    """What became of a plan."""

    states: Sequence[CellState]
    findings: Sequence[Finding] = ()
    stopped: Mapping[str, str] = field(default_factory=dict)
    """Agents whose cells were started no more, with the reason."""
    spent: str | None = None
    is_over_budget: bool = False
    """Whether cells were not started because the budget does not allow it."""
    is_interrupted: bool = False


def open_plan(path: Path) -> OpenedPlan:
    """The plan with its cells; `BadPlan` with every mistake, before anything starts."""
    read = load_plan(path)
    return OpenedPlan(read, cells_of(read))


def chosen_cells(opened: OpenedPlan, only: Collection[str]) -> list[Cell]:
    """The cells whose task, agent or id is among the names; all where none is named."""
    if not only:
        return list(opened.cells)
    known = {name for cell in opened.cells for name in (cell.id, cell.task, cell.agent)}
    for name in only:
        if name not in known:
            raise UnknownName("task, agent or cell", name, known)
    return [cell for cell in opened.cells if {cell.id, cell.task, cell.agent} & set(only)]


def run_plan(opened: OpenedPlan, folder: PlanFolder, settings: RunSettings) -> PlanEnd:
    """Run what is not done yet, and gather everything."""
    read, plan = opened.read, opened.read.plan.plan
    cells = chosen_cells(opened, settings.only)
    states = list(cell_states(folder, opened.cells))
    done = {state.cell.id for state in states if state.state == "done"}
    to_run = [cell for cell in cells if cell.id not in done]
    _refuse(read, key_mistakes(read, _endpoints(read, to_run)))
    findings = _set_up(opened, folder, to_run, accept_drift=settings.accept_drift)
    parallel = settings.parallel or plan.parallel
    metered = [label for label, use in read.workers.items() if read.endpoint_of(use)]
    spending = Spending(plan.budget, metered, parallel=parallel)
    for state in states:
        for result in state.tries:
            spending.add(state.cell, result)
    scheduler = Scheduler(
        folder,
        cells,
        PlanExecutor(read, unsafe=settings.unsafe),
        spending=spending,
        parallel=parallel,
        retries=plan.retries,
        retry_wait_seconds=seconds_of(plan.retry_wait),
        done=done,
        tell=settings.tell,
    )
    try:
        scheduler.run()
    finally:
        states = list(cell_states(folder, opened.cells))
        findings += write_runs(folder, read, states)
    return PlanEnd(
        states,
        findings,
        scheduler.stopped,
        spending.sentence(),
        is_over_budget=scheduler.is_over_budget,
        is_interrupted=scheduler.is_interrupted,
    )


def run_cell(folder: PlanFolder, name: str, settings: RunSettings) -> CellState:
    """Run one cell of a plan's folder, for engines that start commands; a cell that is done stays as it is."""
    cell = folder.cell_named(name)
    opened = open_plan(plan_path(folder))
    if cell.id not in {each.id for each in opened.cells}:
        hint = f"steelyard run {opened.read.path} --list writes the cells of today"
        raise UsageError("the plan has changed and has no such cell any more", where=cell.id, hint=hint)
    plan = opened.read.plan.plan
    done = {cell.id} if folder.is_done(cell.id) else set()
    _refuse(opened.read, key_mistakes(opened.read, _endpoints(opened.read, [] if done else [cell])))
    Scheduler(
        folder,
        [cell],
        PlanExecutor(opened.read, unsafe=settings.unsafe),
        spending=Spending(plan.budget, metered=()),
        parallel=1,
        retries=plan.retries,
        retry_wait_seconds=seconds_of(plan.retry_wait),
        done=done,
        tell=settings.tell,
    ).run()
    return next(iter(cell_states(folder, [cell])))


def list_cells(opened: OpenedPlan, folder: PlanFolder) -> list[Cell]:
    """Write the plan's folder without running anything, and tell its cells that have no result."""
    _set_up(opened, folder, [], accept_drift=False)
    return [state.cell for state in cell_states(folder, opened.cells) if state.state != "done"]


def _set_up(opened: OpenedPlan, folder: PlanFolder, to_run: Iterable[Cell], *, accept_drift: bool) -> list[Finding]:
    folder.make()
    versions = dict.fromkeys(sorted({cell.agent for cell in to_run}))
    findings = locked(folder, lock_of(opened.read, folder, versions), accept_drift=accept_drift)
    folder.write_cells(opened.cells)
    folder.write("plan.toml", opened.read.text)
    return findings


def _endpoints(read: PlanRead, cells: Iterable[Cell]) -> set[str]:
    named = {read.endpoint_of(read.workers[label]) for label in {cell.agent for cell in cells}}
    return {name for name in named if name is not None}


def _refuse(read: PlanRead, mistakes: Iterator[SteelyardError]) -> None:
    told = list(mistakes)
    if told:
        raise BadPlan(str(read.path), told)
