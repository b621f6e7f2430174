"""Runs of a plan: trials without a result are run, and all results are collected; states and cost forecasts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from steelyard.errors import PlanError, SteelyardError, UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.records import Failure, Finding, Run, encode_run, exact_quotient
from steelyard.runner._execution import agent_version, isolation_for, missing_program
from steelyard.runner._judges import completed_runs
from steelyard.runner._measurement import Progress, measure_sides, trials_running
from steelyard.runner._plan import ORACLE, PlanRead, key_mistakes, load_plan, unknown_urls
from steelyard.runner._plan_executor import PlanExecutor, executing, regrade
from steelyard.runner._plan_folder import PlanFolder, checked_drift, known_lock, lock_of, locked, plan_path
from steelyard.runner._plan_records import AgentUse, JudgeUse, Plan, PlanTask, seconds_of
from steelyard.runner._programs import program_digest, program_named
from steelyard.runner._scheduler import Finished, PlanProgress, Scheduler, Spending, settled
from steelyard.runner._trial_records import Ending, ExecutionOutcome, ExecutionResult, Trial
from steelyard.runner._trials import trials_of

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

    @property
    def last(self) -> tuple[ExecutionResult, ...]:
        """The execution that the Run is of; none where there is none."""
        return self.executions[-1:]

    @property
    def earlier(self) -> tuple[ExecutionResult, ...]:
        """The executions before it, which count toward the budget alone."""
        return self.executions[:-1]


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


@dataclass(frozen=True)
class Forecast:
    """The trials of one agent and model, and what those to run would cost."""

    agent: str
    model: str | None
    trials: int
    done: int
    low_usd: float | None
    high_usd: float | None
    basis: str
    first: TrialState
    """The first of its trials."""


def forecasts(read: PlanRead, states: Iterable[TrialState]) -> list[Forecast]:
    """For each agent and model the range of what its open trials would cost.

    From what finished trials of the same agent and model cost; without any, from the budget of a trial.
    """
    groups: dict[tuple[str, str | None], list[TrialState]] = {}
    for state in states:
        groups.setdefault((state.trial.agent, state.trial.model), []).append(state)
    return [_forecast(read, agent, model, group) for (agent, model), group in groups.items()]


def _forecast(read: PlanRead, agent: str, model: str | None, states: list[TrialState]) -> Forecast:
    done = [state for state in states if state.state == "done"]
    to_run = len(states) - len(done)
    amounts = [known_amounts(state.executions) for state in done]
    costs = [each.cost_usd for each in amounts if each.cost_usd is not None and not each.is_lower_bound]
    budget = read.plan.plan.budget
    cap = budget.trial_usd if budget is not None else None
    low: float | None = None
    high: float | None = None
    use = read.workers.get(agent)
    if use is None or read.endpoint_of(use) is None:
        low, high, basis = 0.0, 0.0, "no model calls"
    elif costs:
        low, high = to_run * min(costs), to_run * max(costs)
        basis = f"lowest and highest cost of {len(costs)} finished trials"
    elif cap is not None:
        low, high, basis = 0.0, to_run * cap, "the budget per trial"
    else:
        basis = "no finished trial and no trial_usd in the plan"
    return Forecast(agent, model, len(states), len(done), low, high, basis, states[0])


@dataclass(frozen=True)
class KnownAmounts:
    """What executions are known to have cost and used."""

    cost_usd: float | None
    """None where no cost is known."""
    tokens: int | None
    """None where no tokens are known."""
    is_lower_bound: bool
    """Whether it is the least: an execution has a call without an end, or no known cost or tokens."""


def known_amounts(executions: Iterable[ExecutionResult]) -> KnownAmounts:
    """What the executions are known to have cost and used together."""
    listed = list(executions)
    costs = [result.cost_usd for result in listed if result.cost_usd is not None]
    tokens = [result.usage.total for result in listed if result.usage is not None and result.usage.total is not None]
    return KnownAmounts(
        cost_usd=exact_quotient(costs, 1) if costs else None,
        tokens=sum(tokens) if tokens else None,
        is_lower_bound=any(result.is_lower_bound for result in listed)
        or 0 < len(costs) < len(listed)
        or 0 < len(tokens) < len(listed),
    )


PlanProgressCallback: TypeAlias = Callable[[PlanProgress], None]
MoreTasks: TypeAlias = Callable[[Plan], Sequence[PlanTask]]
"""Gives the tasks that a plan takes from elsewhere."""


@dataclass(frozen=True)
class OpenedPlan:
    """A plan without mistakes, and its trials."""

    read: PlanRead
    trials: Sequence[Trial]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of a run, in addition to the plan's."""

    no_sandbox: bool = False
    accept_drift: bool = False
    is_regrade: bool = False
    """Run no agent: check the work that there is, and have it judged again."""
    parallel: int | None = None
    only: Collection[str] = ()
    """Labels of agents, ids of tasks or of trials; empty for all."""
    progress: PlanProgressCallback | None = None
    finished: Finished | None = None
    """Called for each finished trial."""
    measuring_progress: Progress | None = None
    more_tasks: MoreTasks | None = None


@dataclass(frozen=True)
class PlanEnd:
    """Outcome of a plan."""

    states: Sequence[TrialState]
    findings: Sequence[Finding] = ()
    stopped: Mapping[str, str] = field(default_factory=dict)
    """Stopped agents, with the reason."""
    spent: str | None = None
    is_over_budget: bool = False
    """Whether trials were not started because of the budget."""
    is_interrupted: bool = False
    had_nothing_to_run: bool = False
    """Whether all selected trials already had a result."""


def open_plan(path: Path, *, more_tasks: MoreTasks | None = None) -> OpenedPlan:
    """The plan with its trials; `PlanError` with every mistake, before anything starts."""
    read = load_plan(path)
    if more_tasks is not None and read.plan.plan.tasks_from is not None:
        read = read.with_tasks(more_tasks(read.plan))
    return OpenedPlan(read, trials_of(read))


def chosen_trials(opened: OpenedPlan, only: Collection[str]) -> list[Trial]:
    """The trials whose task, agent or id is among the names; all where none is named."""
    if not only:
        return list(opened.trials)
    known = {name for trial in opened.trials for name in (trial.id, trial.task, trial.agent)}
    for name in only:
        if name not in known:
            raise UnknownNameError("task, agent or trial", name, known)
    return [trial for trial in opened.trials if {trial.id, trial.task, trial.agent} & set(only)]


def run_plan(opened: OpenedPlan, folder: PlanFolder, settings: RunSettings) -> PlanEnd:
    """Run what is not done yet, and gather everything."""
    read, plan = opened.read, opened.read.plan.plan
    trials = chosen_trials(opened, settings.only)
    if settings.is_regrade:
        for trial in trials:
            if trial.kind == "judge":
                folder.reopen(trial.id)
    states = list(trial_states(folder, opened.trials))
    done = {state.trial.id for state in states if state.state == "done"}
    to_run = [trial for trial in trials if trial.id not in done]
    endpoints, versions = _ready(read, to_run, no_sandbox=settings.no_sandbox)
    kept = {} if settings.is_regrade else _digests(read, _uses(read, trials))
    findings = _set_up(opened, folder, {**kept, **versions}, accept_drift=settings.accept_drift)
    parallel = settings.parallel or plan.parallel
    with executing(read, endpoints, versions, no_sandbox=settings.no_sandbox) as executor:
        _settle(folder, states, executor)
        spending = spending_of(read, folder, trial_states(folder, opened.trials), parallel=parallel)
        scheduler = Scheduler(
            folder,
            [trial for trial in trials if trial.kind == "judge" or not settings.is_regrade],
            executor,
            spending=spending,
            parallel=parallel,
            retries=plan.retries,
            retry_wait_seconds=seconds_of(plan.retry_wait),
            done=done,
            progress=settings.progress,
            finished=settings.finished,
        )
        try:
            with trials_running() if to_run or settings.is_regrade else nullcontext():
                if settings.is_regrade:
                    regrade(folder, trials, executor, parallel=parallel, stop=scheduler.stop)
                scheduler.run()
            if plan.measure is not None and not scheduler.is_interrupted:
                findings += _measured(opened, folder, settings)
        finally:
            states = list(trial_states(folder, opened.trials))
            findings += [*write_runs(folder, read, states), *_omitted(folder, opened.trials)]
    return PlanEnd(
        states,
        findings,
        scheduler.stopped,
        spending.sentence(),
        is_over_budget=scheduler.is_over_budget,
        is_interrupted=scheduler.is_interrupted,
        had_nothing_to_run=not to_run and not settings.is_regrade,
    )


def _omitted(folder: PlanFolder, trials: Iterable[Trial]) -> Iterator[Finding]:
    """Results of trials that the plan no longer has, for example because its prompt or its server has changed."""
    count = len(folder.finished() - {trial.id for trial in trials})
    if count:
        omitted = "1 finished trial, whose result is" if count == 1 else f"{count:,} finished trials, whose results are"
        message = f"the plan no longer contains {omitted} omitted"
        yield Finding(code="results_omitted", severity="info", message=message, where=str(folder.shown), count=count)


def _settle(folder: PlanFolder, states: Iterable[TrialState], executor: PlanExecutor) -> None:
    """Give executions whose runner was stopped an outcome, so that the budget knows what they spent."""
    for state in states:
        trial = state.trial
        if state.state == "done" or len(state.executions) == len(folder.executions(trial.id)):
            continue
        if folder.claim(trial.id):  # else another runner is at it
            try:
                for _ in settled(folder, trial, executor):
                    pass
            finally:
                folder.release(trial.id)


def spending_of(read: PlanRead, folder: PlanFolder, states: Iterable[TrialState], *, parallel: int = 1) -> Spending:
    """The plan's budget, with what the executions of all trials took so far.

    A cost that had no price when the execution ended may have one in the plan now.
    """
    executor = PlanExecutor(read, proxy=None, versions={})
    metered = [label for label, use in read.workers.items() if read.endpoint_of(use)]
    spending = Spending(read.plan.plan.budget, metered, parallel=parallel)
    for state in states:
        for result in state.executions:
            place = folder.trial(state.trial.id) / f"retry-{result.retry}"
            spending.add(state.trial, executor.repriced(state.trial, place, result))
    return spending


def _measured(opened: OpenedPlan, folder: PlanFolder, settings: RunSettings) -> list[Finding]:
    """Measure the speed of what is done, once every trial that agents work in is."""
    waiting = sum(trial.kind == "run" and not folder.is_done(trial.id) for trial in opened.trials)
    if waiting:
        message = f"speed is measured after all trials are done; {waiting:,} are pending"
        return [Finding(code="not_measured_yet", message=message)]
    return measure_sides(
        opened.read, folder, opened.trials, no_sandbox=settings.no_sandbox, progress=settings.measuring_progress
    )


def run_trial(folder: PlanFolder, name: str, settings: RunSettings) -> TrialState:
    """Run one trial of a plan's folder, for engines that start commands; a trial that is done stays as it is."""
    trial = folder.trial_named(name)
    opened = open_plan(plan_path(folder), more_tasks=settings.more_tasks)
    if trial.id not in {each.id for each in opened.trials}:
        hint = f"list the trials of {opened.read.path} again with steelyard run list and {option('pending')}"
        raise UsageError("the plan has changed and no longer contains this trial", where=trial.id, hint=hint)
    plan = opened.read.plan.plan
    done = {each for each in (trial.id, *trial.judged) if folder.is_done(each)}
    endpoints, versions = _ready(opened.read, [] if trial.id in done else [trial], no_sandbox=settings.no_sandbox)
    now = lock_of(opened.read, folder, versions)
    checked_drift(known_lock(folder), now, accept_drift=settings.accept_drift)
    with executing(opened.read, endpoints, versions, no_sandbox=settings.no_sandbox) as executor:
        scheduler = Scheduler(
            folder,
            [trial],
            executor,
            spending=Spending(plan.budget, metered=()),
            parallel=1,
            retries=plan.retries,
            retry_wait_seconds=seconds_of(plan.retry_wait),
            done=done,
            progress=settings.progress,
            finished=settings.finished,
        )
        with trials_running():
            scheduler.run()
    return next(iter(trial_states(folder, [trial])))


def list_trials(opened: OpenedPlan, folder: PlanFolder) -> list[Trial]:
    """Write the plan's folder without running anything; return the trials that have no result.

    Their ids are for other machines, so the URLs that are part of the ids must be known here.
    """
    if mistakes := unknown_urls(opened.read):
        raise PlanError(str(opened.read.path), mistakes)
    _set_up(opened, folder, _versions_here(opened.read), accept_drift=False)
    return [state.trial for state in trial_states(folder, opened.trials) if state.state != "done"]


def _versions_here(read: PlanRead) -> dict[str, str | None]:
    """Versions of the agents that are installed on this machine, for the machines that run the trials."""
    adapters = {label: read.adapters[use.use] for label, use in read.workers.items()}
    here = {
        label: adapter for label, adapter in adapters.items() if adapter.version and program_named(adapter.version[0])
    }
    stated = {label: agent_version(adapter) for label, adapter in here.items()}
    return {**stated, **_digests(read, list(read.workers.values()))}


def _digests(read: PlanRead, uses: Iterable[AgentUse | JudgeUse]) -> dict[str, str]:
    """Digests of the files that users name as programs, by label, for adapters that state no version."""
    commands = {use.label: _command(read, use) for use in uses if not read.adapters[use.use].version}
    digests = {label: program_digest(line[0], folder=read.folder) for label, line in commands.items() if line}
    return {label: digest for label, digest in digests.items() if digest is not None}


def _command(read: PlanRead, use: AgentUse | JudgeUse) -> tuple[str, ...]:
    return (use.command if isinstance(use, AgentUse) else ()) or read.adapters[use.use].command


def _set_up(
    opened: OpenedPlan, folder: PlanFolder, versions: Mapping[str, str | None], *, accept_drift: bool
) -> list[Finding]:
    folder.make()
    findings = locked(folder, lock_of(opened.read, folder, versions), accept_drift=accept_drift)
    folder.write_trials(opened.trials)
    folder.write("plan.toml", opened.read.text)
    return findings


def _ready(read: PlanRead, trials: Sequence[Trial], *, no_sandbox: bool) -> tuple[set[str], dict[str, str | None]]:
    """Return endpoints and agent versions of the trials; report missing requirements before any trial starts."""
    if mistakes := missing_here(read, trials):
        raise PlanError(str(read.path), mistakes)
    uses = _uses(read, trials)
    endpoints = _endpoints(read, uses)
    for use in uses:
        if read.adapters[use.use].command:
            isolation_for(needs_loopback=read.endpoint_of(use) is not None, no_sandbox=no_sandbox)
    stated = {use.label: agent_version(read.adapters[use.use], no_sandbox=no_sandbox) for use in uses}
    return endpoints, {**stated, **_digests(read, uses)}


def missing_here(read: PlanRead, trials: Sequence[Trial]) -> list[SteelyardError]:
    """What these trials need and this machine does not have: keys, programs of agents and programs of checks."""
    uses = _uses(read, trials)
    mistakes = list(key_mistakes(read, _endpoints(read, uses)))
    for use in uses:
        command = _command(read, use)
        if command and program_named(command[0], folder=read.folder) is None:
            problem = missing_program(read.adapters[use.use], command[0])
            mistakes.append(UsageError(problem, where=f"agent {use.label!r}"))
    return [*mistakes, *_check_mistakes(read, sorted({trial.task for trial in trials if trial.kind == "run"}))]


def _uses(read: PlanRead, trials: Sequence[Trial]) -> list[AgentUse | JudgeUse]:
    return [read.workers[label] for label in sorted({trial.agent for trial in trials})]


def _endpoints(read: PlanRead, uses: Sequence[AgentUse | JudgeUse]) -> set[str]:
    return {name for use in uses if (name := read.endpoint_of(use)) is not None}


def _check_mistakes(read: PlanRead, tasks: Sequence[str]) -> Iterator[UsageError]:
    """Checks of tasks whose program is not installed: every agent would have worked in vain."""
    for task in map(read.task_of, tasks):
        program = (task.verify.command or ("python3",))[0] if task.verify is not None else None
        if program is not None and "/" not in program and program_named(program) is None:
            hint = "install it, or write ./NAME for a program in the work or hidden directory"
            yield UsageError(f"program not found on PATH: {program!r}", where=f"task {task.id!r}, verify", hint=hint)
