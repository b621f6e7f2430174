"""The `run` command: run and resume plans."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.questions._plan_outcomes import ExportCommand, PlanExport, PlanForecast, PlanGroup, PlanOutlook, PlanRun
from steelyard.questions._question import Names, Options, command_text, doc, question
from steelyard.questions._run_input import Progress, current_progress
from steelyard.questions.run_list import RUNS, PlanInput, PlanTrials, more_tasks, of_states, plan_folder, setting_text
from steelyard.records import Finding, Place, one_a_kind
from steelyard.runner import (
    OpenedPlan,
    PlanFolder,
    PlanProgress,
    PlanRead,
    RunSettings,
    TrialState,
    command_shown,
    forecasts,
    known_amounts,
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
    from steelyard.questions._run_delivery import Delivery


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
    opened = open_plan(named_path(plan), more_tasks=more_tasks)
    folder = plan_folder(opened, options.out)
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
    groups = tuple(_groups(end.states))
    return PlanRun(
        plan=opened.read.plan.name,
        folder=str(folder.shown),
        trials=sum(group.trials for group in groups),
        done=sum(group.done for group in groups),
        groups=groups,
        endings=Counter(state.ending.name for state in end.states if state.ending is not None),
        stopped=dict(end.stopped),
        spent=end.spent,
        is_over_budget=end.is_over_budget,
        is_interrupted=end.is_interrupted,
        had_nothing_to_run=end.had_nothing_to_run,
        next_command=_next_command(opened.read, folder, delivery) if any(state.run for state in end.states) else None,
        findings=one_a_kind((*end.findings, *_delivered(delivery, end.states))),
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
    from steelyard.questions._run_delivery import Delivery  # brings the arena and its store

    return Delivery(address, folder, tasks={task.id for task in opened.read.plan.tasks})


def _delivered(delivery: Delivery | None, states: Iterable[TrialState]) -> list[Finding]:
    """Submit finished runs not submitted yet; return findings about rejected ones."""
    if delivery is None:
        return []
    for state in states:
        if state.state == "done" and state.ending is not None:
            delivery.deliver(state.trial, state.ending, state.run)
    return delivery.findings


def export_plan(plan: PlanInput, *, out: Path | None = None) -> PlanExport:
    """Write the plan as a Harbor job."""
    opened = open_plan(named_path(plan), more_tasks=more_tasks)
    folder = named_path(out) if out is not None else RUNS / f"{opened.read.plan.name}-harbor"
    findings = write_harbor_job(opened.read, folder)
    return PlanExport(
        folder=str(folder),
        commands=(
            ExportCommand(step="run", command=f"cd {folder} && harbor run -c job.json"),
            ExportCommand(step="measure", command=f"steelyard measure {folder}/jobs"),
        ),
        findings=tuple(findings),
    )


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
        no_sandbox=no_sandbox, accept_drift=accept_drift, progress=_emitter(progress), more_tasks=more_tasks
    )
    return of_states(place, [run_in_folder(place, trial, settings)])


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
    expected = forecasts(opened.read, states)
    return PlanOutlook(
        plan=opened.read.plan.name,
        folder=str(folder.shown),
        trials=sum(each.trials for each in expected),
        done=sum(each.done for each in expected),
        budget=spending_of(opened.read, folder, states).sentence(),
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
            for each in expected
        ),
        findings=_missing_here(opened, states),
    )


def _missing_here(opened: OpenedPlan, states: Sequence[TrialState]) -> tuple[Finding, ...]:
    """Return a finding about programs and keys that are missing on this machine."""
    lacking = missing_here(opened.read, [state.trial for state in states if state.state != "done"])
    places = tuple(Place(where=error.where, message=error.message) for error in lacking)
    message = "some requirements of the plan are missing on this machine"
    return (Finding(code="missing_here", message=message, places=places),) if places else ()


def _groups(states: Iterable[TrialState]) -> list[PlanGroup]:
    grouped: dict[tuple[str, str | None, str | None, str | None, bool], list[TrialState]] = {}
    for state in states:
        trial = state.trial
        key = (trial.agent, trial.model, trial.tier, setting_text(trial), trial.is_calibration)
        grouped.setdefault(key, []).append(state)
    return [_group(group) for group in grouped.values()]


def _group(states: Sequence[TrialState]) -> PlanGroup:
    trial = states[0].trial
    verdicts = Counter(state.run.verdict if state.run else None for state in states if state.state == "done")
    last = known_amounts(result for state in states for result in state.last)
    earlier = known_amounts(result for state in states for result in state.earlier)
    return PlanGroup(
        agent=trial.agent,
        model=trial.model,
        tier=trial.tier,
        setting=setting_text(trial),
        kind="calibration" if trial.is_calibration else trial.kind,
        trials=len(states),
        passed=verdicts[True],
        failed=verdicts[False],
        no_verdict=verdicts[None],
        done=verdicts.total(),
        unfinished=sum(state.state == "unfinished" for state in states),
        open=sum(state.state == "open" for state in states),
        retries=sum(max(len(state.executions) - 1, 0) for state in states),
        retried=sum(len(state.executions) > 1 for state in states),
        cost_usd=last.cost_usd,
        tokens=last.tokens,
        is_lower_bound=last.is_lower_bound,
        retry_cost_usd=earlier.cost_usd,
        retry_cost_is_lower_bound=earlier.is_lower_bound,
    )
