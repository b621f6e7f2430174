"""States of trials, and the Runs that all other commands read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from steelyard.records import Failure, Finding, Run, encode_run
from steelyard.runner._folders import PlanFolder
from steelyard.runner._judgments import completed_runs
from steelyard.runner._plan import ORACLE, PlanRead
from steelyard.runner._trial_records import Ending, ExecutionOutcome, ExecutionResult, Trial

State = Literal["done", "unfinished", "open"]
"""`done`: has a result; `unfinished`: executed without a result, retried by the next run; `open`: not executed yet."""


@dataclass(frozen=True)
class TrialState:
    """A trial and the outcome of it so far."""

    trial: Trial
    state: State
    ending: Ending | None = None
    """Ending of the last execution; None if there is none."""
    executions: tuple[ExecutionResult, ...] = ()
    run: Run | None = None
    findings: tuple[Finding, ...] = ()
    judgment: dict[str, object] | None = None


def trial_states(folder: PlanFolder, trials: Iterable[Trial]) -> Iterator[TrialState]:
    """The state of each trial, in their order."""
    finished = folder.finished()
    for trial in trials:
        result = folder.result(trial.id) if trial.id in finished else None
        if result is not None:
            yield TrialState(
                trial, "done", result.ending, result.executions, result.run, result.findings, result.judgment
            )
        else:
            yield _unfinished(folder, trial)


def _unfinished(folder: PlanFolder, trial: Trial) -> TrialState:
    outcomes = [outcome for path in folder.executions(trial.id) if (outcome := folder.outcome(path)) is not None]
    if not outcomes:
        return TrialState(trial, "open")
    last: ExecutionOutcome = outcomes[-1]
    executions = tuple(outcome.result for outcome in outcomes)
    return TrialState(trial, "unfinished", last.result.ending, executions, last.run, last.findings)


def write_runs(folder: PlanFolder, read: PlanRead, states: Sequence[TrialState]) -> list[Finding]:
    """Write `runs.jsonl`: a Run for each trial that was tried, under the names that the plan has now."""
    broken = broken_tasks(read, states)
    named = {
        state.trial.id: named_run(read, state, is_broken=state.trial.task in broken)
        for state in states
        if state.run is not None and state.trial.kind == "run"
    }
    runs, about_judges = completed_runs(read, folder, [state.trial for state in states], named)
    folder.write("runs.jsonl", b"".join(encode_run(run) + b"\n" for run in runs))
    message = "the reference solution fails this task's verification, so its verdicts are ignored"
    findings = [Finding(code="oracle_fails", message=message, where=f"task {task}") for task in sorted(broken)]
    return [*findings, *about_judges, *(finding for state in states for finding in state.findings)]


def broken_tasks(read: PlanRead, states: Iterable[TrialState]) -> set[str]:
    """Tasks whose known solution fails: their verifier, not the agents, is at fault."""
    return {
        state.trial.task
        for state in states
        if state.trial.kind == "run"
        and read.use_of(state.trial.agent).use == ORACLE
        and state.state == "done"
        and state.run is not None
        and state.run.verdict is False
    }


def named_run(read: PlanRead, state: TrialState, *, is_broken: bool) -> Run:
    """The Run under the names that the plan has now: a trial keeps its id when its task or agent is renamed."""
    run, trial = state.run, state.trial
    assert run is not None
    named = msgspec.structs.replace(run, experiment=read.plan.name, task=trial.task, agent=trial.agent, tier=trial.tier)
    if not is_broken:
        return named
    failure = Failure(cause="infrastructure", message="the reference solution fails this task's verification")
    extra = {**(named.extra or {}), "x_ending": "verifier_broken"}
    return msgspec.structs.replace(named, passed=None, tests=None, outcome="errored", failure=failure, extra=extra)
