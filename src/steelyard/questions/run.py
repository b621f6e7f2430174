"""The `run` command: run and resume plans."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.questions._commands import command_text
from steelyard.questions._declaration import Options, doc
from steelyard.questions._opening_runs import Progress, current_progress
from steelyard.questions._options import Names
from steelyard.questions._question import question
from steelyard.records import Finding, Place, sum_of_known
from steelyard.results import PlanExecution, PlanForecast, PlanGroup, PlanOutlook, PlanRun, PlanTrial, PlanTrials
from steelyard.runner import (
    OpenedPlan,
    Plan,
    PlanFolder,
    PlanProgress,
    PlanRead,
    PlanTask,
    RunSettings,
    Trial,
    TrialState,
    command_shown,
    cost_of_executions,
    forecasts,
    known_lock,
    list_trials,
    missing_here,
    open_plan,
    run_plan,
    run_trial as run_in_folder,
    spending_of,
    trial_states,
    write_harbor_job,
)
from steelyard.settings import named_path

if TYPE_CHECKING:
    from steelyard.questions._delivering import Delivery

PlanInput: TypeAlias = str | Path
RUNS = Path("runs")
"""Default parent directory of plan results."""


class RunOptions(Options):
    """Options of `run`."""

    out: Path | None = doc(
        "Results directory (default: runs/NAME, where NAME is set in the plan).",
        default=None,
    )
    dry_run: bool = doc("Print the commands and expected cost without running anything.", default=False)
    only: Names = doc("Comma-separated tasks, agents or trial ids to run.", default=())
    parallel: int | None = doc("Number of trials to run in parallel (default: the plan's).", default=None)
    accept_drift: bool = doc("Continue even if an agent's version or the Steelyard version has changed.", default=False)
    regrade: bool = doc("Verify and judge finished trials again without running agents.", default=False)
    no_sandbox: bool = doc(
        "If no sandbox is available, run agents anyway, with only resource limits.",
        default=False,
        local=True,
    )

    @property
    def folder(self) -> Path | None:
        """The output directory given by the user."""
        return None if self.out is None else named_path(self.out)


@question(RunOptions)
def run(plan: PlanInput, options: RunOptions) -> PlanRun | PlanOutlook:
    r"""Run the trials of a plan that have no result yet; call again to resume.

    >>> import steelyard as sy
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     text = '[plan]\nname = "p"\n[[tasks]]\nid = "t"\nprompt = "Do it."\n[[agents]]\nuse = "nop"\n'
    ...     _ = Path(folder, "plan.toml").write_text(text)
    ...     result = sy.run(f"{folder}/plan.toml", out=f"{folder}/runs")
    >>> result.done, result.trials
    (1, 1)
    """
    opened = open_plan(named_path(plan), more_tasks=_more_tasks)
    folder = _folder(opened, options)
    if options.dry_run:
        return _outlook(opened, folder)
    delivery = _delivery(opened, folder)
    end = run_plan(
        opened,
        folder,
        RunSettings(
            no_sandbox=options.no_sandbox,
            accept_drift=options.accept_drift,
            is_regrade=options.regrade,
            parallel=options.parallel,
            only=tuple(options.only),
            progress=_emitter(current_progress()),
            measuring_progress=_measuring_emitter(current_progress()),
            finished=delivery.finished if delivery else None,
        ),
    )
    return PlanRun(
        name=opened.read.plan.name,
        folder=folder.shown,
        groups=tuple(_groups(end.states)),
        endings=Counter(state.ending.name for state in end.states if state.ending is not None),
        stopped=end.stopped,
        spent=end.spent,
        is_over_budget=end.is_over_budget,
        is_interrupted=end.is_interrupted,
        had_nothing_to_run=end.had_nothing_to_run,
        next_command=_next_command(opened.read, folder, delivery) if any(state.run for state in end.states) else None,
        findings=(*end.findings, *_delivered(delivery, end.states)),
    )


def _next_command(read: PlanRead, folder: PlanFolder, delivery: Delivery | None) -> str:
    """Return the command that analyzes the results of the plan."""
    plan = read.plan
    contract, *others = {task.contract for task in plan.tasks}
    if plan.plan.measure is not None:
        return command_text(["speedup"], [str(folder.shown)], {})
    if delivery is not None:
        return delivery.leaderboard_command
    if contract is not None and not others:
        options = {"contract": os.path.relpath(read.path_of(contract)), "by": "task,model,x_setting"}
        return command_text(["repeatability"], [str(folder.shown)], options)
    by = "tier" if any(use.tiers for use in plan.agents) else "agent,model"
    return command_text(["measure"], [str(folder.shown)], {"by": by})


def _delivery(opened: OpenedPlan, folder: PlanFolder) -> Delivery | None:
    """Return the delivery to the plan's arena; None if the plan has none."""
    address = opened.read.plan.plan.deliver
    if address is None:
        return None
    from steelyard.questions._delivering import Delivery  # brings the arena and its store

    return Delivery(address, folder, tasks={task.id for task in opened.read.plan.tasks})


def _delivered(delivery: Delivery | None, states: Iterable[TrialState]) -> list[Finding]:
    """Submit finished runs not submitted yet; return findings about rejected ones."""
    if delivery is None:
        return []
    for state in states:
        if state.state == "done" and state.ending is not None:
            delivery.deliver(state.trial, state.ending, state.run)
    return delivery.findings


def _more_tasks(plan: Plan) -> list[PlanTask]:
    from steelyard.questions._delivering import arena_tasks  # brings the arena and its store

    return arena_tasks(plan)


def pending_trials(source: PlanInput, *, out: Path | None = None) -> PlanTrials:
    """Return the trials without a result, in order. Given a plan file, create its folder for `run_trial`."""
    path = named_path(source)
    if path.is_dir():
        trials = plan_trials(path)
        return replace(trials, listed=tuple(trial for trial in trials.listed if trial.state != "done"))
    opened = open_plan(path, more_tasks=_more_tasks)
    folder = _folder(opened, RunOptions(out=out))
    return _listed(folder, trial_states(folder, list_trials(opened, folder)))


def export_plan(plan: PlanInput, *, out: Path | None = None) -> tuple[Path, list[Finding]]:
    """Write the plan as a Harbor job; return its directory and findings about what Harbor does not support."""
    opened = open_plan(named_path(plan), more_tasks=_more_tasks)
    folder = named_path(out) if out is not None else RUNS / f"{opened.read.plan.name}-harbor"
    return folder, write_harbor_job(opened.read, folder)


def run_trial(
    folder: Path,
    trial: str,
    *,
    accept_drift: bool = False,
    no_sandbox: bool = False,
    progress: Progress | None = None,
) -> PlanTrials:
    """Run one trial of a plan's folder, unless it is done."""
    place = PlanFolder(named_path(folder))
    settings = RunSettings(
        no_sandbox=no_sandbox, accept_drift=accept_drift, progress=_emitter(progress), more_tasks=_more_tasks
    )
    return _listed(place, [run_in_folder(place, trial, settings)])


def plan_trials(source: PlanInput, *, trial: str | None = None, out: Path | None = None) -> PlanTrials:
    """Return the trials of a plan file or a plan's folder, or one of them, with their outcomes."""
    path = named_path(source)
    if path.is_file():
        place = _folder(open_plan(path, more_tasks=_more_tasks), RunOptions(out=out))
    else:
        place = PlanFolder(path)
    trials: Sequence[Trial] = place.trials() if trial is None else [place.trial_named(trial)]
    shown = _listed(place, trial_states(place, trials))
    return shown if trial is None else replace(shown, executions=tuple(_executions(place, trial_states(place, trials))))


def _folder(opened: OpenedPlan, options: RunOptions) -> PlanFolder:
    root = options.folder or RUNS / opened.read.plan.name
    if root.is_file():
        raise UsageError(
            "is a file, not a directory", where=str(root), hint=f"pass a directory: {option('out', 'DIR')}"
        )
    return PlanFolder(root)


def _emitter(progress: Progress | None) -> Callable[[PlanProgress], None] | None:
    if progress is None:
        return None
    done = 0

    def emit(state: PlanProgress) -> None:
        nonlocal done
        progress(state.sentence, state.done - done)
        done = state.done

    return emit


def _measuring_emitter(progress: Progress | None) -> Callable[[int, int, str], None] | None:
    if progress is None:
        return None
    return lambda done, total, what: progress(f"measuring: {done:,} of {total:,} ({what})", 0)


def _outlook(opened: OpenedPlan, folder: PlanFolder) -> PlanOutlook:
    states = list(trial_states(folder, opened.trials))
    return PlanOutlook(
        name=opened.read.plan.name,
        folder=folder.shown,
        budget=spending_of(opened.read, states).sentence(),
        forecasts=tuple(
            PlanForecast(
                agent=each.agent,
                model=each.model,
                trials=each.trials,
                done=each.done,
                low_usd=each.low_usd,
                high_usd=each.high_usd,
                basis=each.basis,
                command=command_shown(opened.read, each.first.trial),
            )
            for each in forecasts(opened.read, states)
        ),
        findings=_missing_here(opened, states),
    )


def _missing_here(opened: OpenedPlan, states: Sequence[TrialState]) -> tuple[Finding, ...]:
    """Return a finding about programs and keys that are missing on this machine."""
    lacking = missing_here(opened.read, [state.trial for state in states if state.state != "done"])
    places = tuple(Place(where=error.where, message=error.message) for error in lacking)
    message = "some requirements of the plan are missing on this machine"
    return (Finding(code="missing_here", message=message, places=places),) if places else ()


def _setting_text(trial: Trial) -> str | None:
    return ",".join(f"{name}={value}" for name, value in sorted(trial.setting.items())) or None


def _groups(states: Iterable[TrialState]) -> list[PlanGroup]:
    grouped: dict[tuple[str, str | None, str | None, str | None, bool], list[TrialState]] = {}
    for state in states:
        trial = state.trial
        key = (trial.agent, trial.model, trial.tier, _setting_text(trial), trial.is_calibration)
        grouped.setdefault(key, []).append(state)
    return [_group(group) for group in grouped.values()]


def _group(states: Sequence[TrialState]) -> PlanGroup:
    trial = states[0].trial
    verdicts = Counter(state.run.verdict if state.run else None for state in states if state.state == "done")
    executions = [result for state in states for result in state.executions]
    tokens = sum_of_known(result.usage.total if result.usage is not None else None for result in executions)
    return PlanGroup(
        agent=trial.agent,
        model=trial.model,
        tier=trial.tier,
        setting=_setting_text(trial),
        kind="calibration" if trial.is_calibration else trial.kind,
        trials=len(states),
        passed=verdicts[True],
        failed=verdicts[False],
        no_verdict=verdicts[None],
        unfinished=sum(state.state == "unfinished" for state in states),
        open=sum(state.state == "open" for state in states),
        retries=sum(max(len(state.executions) - 1, 0) for state in states),
        retried=sum(len(state.executions) > 1 for state in states),
        cost_usd=sum_of_known(cost_of_executions(state) for state in states if state.executions),
        tokens=None if tokens is None else int(tokens),
        is_lower_bound=any(result.is_lower_bound for result in executions),
    )


def _executions(folder: PlanFolder, states: Iterable[TrialState]) -> Iterator[PlanExecution]:
    for state in states:
        for result in state.executions:
            yield PlanExecution(
                retry=result.retry,
                ending=result.ending.name,
                cause=result.ending.cause,
                detail=result.ending.detail,
                duration_seconds=(result.ended_at - result.started_at).total_seconds(),
                calls=result.calls,
                tokens=result.usage.total if result.usage is not None else None,
                cost_usd=result.cost_usd,
                is_lower_bound=result.is_lower_bound,
                folder=str(folder.shown / "trials" / state.trial.id / f"retry-{result.retry}"),
            )


VERDICTS: Mapping[bool | None, Literal["passed", "failed"] | None] = {True: "passed", False: "failed", None: None}


def _listed(folder: PlanFolder, states: Iterable[TrialState]) -> PlanTrials:
    listed = tuple(
        PlanTrial(
            id=state.trial.id,
            kind=state.trial.kind,
            task=state.trial.task,
            agent=state.trial.agent,
            model=state.trial.model,
            tier=state.trial.tier,
            setting=_setting_text(state.trial),
            attempt=state.trial.attempt,
            state=state.state,
            ending=state.ending.name if state.ending else None,
            verdict=VERDICTS[state.run.verdict if state.run else None] if state.state == "done" else None,
            detail=state.ending.detail if state.ending else None,
            retries=max(len(state.executions) - 1, 0),
            cost_usd=cost_of_executions(state),
            folder=str(folder.shown / "trials" / state.trial.id),
        )
        for state in states
    )
    return PlanTrials(name=known_lock(folder).name, folder=folder.shown, listed=listed)
