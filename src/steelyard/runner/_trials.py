"""Expansion of a plan to trials. A trial is identified by its inputs, not by names and paths."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.errors import PlanError, UsageError
from steelyard.records import DEFAULT_SCHEME, tier_problem
from steelyard.runner._digests import ID_DIGITS, digest_of, tree_digest, trial_id
from steelyard.runner._judges import with_judges
from steelyard.runner._plan import ORACLE, PlanRead
from steelyard.runner._plan_records import FORMAT_VERSION, AgentUse, PlanTask, Tier
from steelyard.runner._trial_records import Trial


def trials_of(read: PlanRead) -> list[Trial]:
    """Return all trials, first attempts first, so that early results cover all agents and tasks."""
    tasks = [(task, _asked_digest(read, task), _checked_digest(read, task)) for task in read.plan.tasks]
    variants = [
        (use, model, tier, setting, _variant_digest(read, use, tiers[tier]))
        for use in (*read.plan.agents, *read.calibrating)
        for tiers in [_tiers(use)]
        for model in use.models or (None,)
        for tier in tiers
        for setting in use.settings
    ]
    trials: list[Trial] = []
    for attempt in range(1, read.plan.plan.attempts + 1):
        for task, asked, checked in tasks:
            for use, model, tier, setting, variant in variants:
                is_calibration = use in read.calibrating
                if is_calibration and (attempt > 1 or (use.use == ORACLE and task.oracle is None)):
                    continue
                limit = read.time_limit_seconds(task, use)
                own = _solution_digest(read, task) if use.use == ORACLE else None
                work = digest_of(FORMAT_VERSION, asked, variant, own, model, setting, attempt, limit)
                trials.append(
                    Trial(
                        id=trial_id(work, checked),
                        work=work[:ID_DIGITS],
                        task=task.id,
                        agent=use.label,
                        model=model,
                        tier=tier,
                        setting=setting,
                        attempt=attempt,
                        time_limit_seconds=limit,
                        is_calibration=is_calibration,
                    )
                )
    _reject_equal(read, trials)
    return with_judges(read, trials)


def _tiers(use: AgentUse) -> Mapping[str | None, Tier]:
    return dict(use.tiers.items()) or {None: Tier()}


def tier_scheme_of(read: PlanRead) -> str:
    """The scheme that the plan's tiers belong to: the default one where it knows them all, else the plan's own."""
    names = {name for use in read.plan.agents for name in use.tiers}
    return DEFAULT_SCHEME if not any(tier_problem(name, DEFAULT_SCHEME) for name in names) else read.plan.name


def _reject_equal(read: PlanRead, trials: list[Trial]) -> None:
    by_id: dict[str, Trial] = {}
    mistakes = []
    for trial in trials:
        first = by_id.setdefault(trial.id, trial)
        if first is not trial and trial.attempt == 1:
            hint = "remove one; to repeat a trial, increase attempts"
            message = f"duplicate of {first.sentence}; trials must differ in more than names"
            mistakes.append(UsageError(message, where=trial.sentence, hint=hint))
    if mistakes:
        raise PlanError(str(read.path), mistakes)


def task_digest(read: PlanRead, task: PlanTask) -> str:
    """What the agent is given and how its work is checked. The solution is not part of it: the agent never sees it."""
    return digest_of(_asked_digest(read, task), _checked_digest(read, task))


def _asked_digest(read: PlanRead, task: PlanTask) -> str:
    return digest_of(read.prompt_of(task), tree_digest(read.path_of(task.work)) if task.work else None)


def _checked_digest(read: PlanRead, task: PlanTask) -> str | None:
    verify = task.verify
    if verify is None:
        return None
    if verify.tests is not None:
        tests = tree_digest(read.path_of(verify.tests))
        return digest_of("tests", tests, verify.framework, verify.time_limit, verify.limits)
    hidden = tree_digest(read.path_of(verify.hidden)) if verify.hidden else None
    program = (verify.program,) if verify.program is not None else ()
    return digest_of(verify.command, verify.report, verify.format, verify.time_limit, verify.limits, hidden, *program)


def _solution_digest(read: PlanRead, task: PlanTask) -> str | None:
    return tree_digest(read.path_of(task.oracle)) if task.oracle else None


def _variant_digest(read: PlanRead, use: AgentUse, tier: Tier) -> str:
    overlay = tree_digest(read.path_of(tier.overlay)) if tier.overlay else None
    return digest_of(read.adapters[use.use].digest, read.server_of(use), use.command, use.options, overlay, tier.env)
