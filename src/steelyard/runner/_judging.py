"""Judges as trials: what each is asked about the work of others, and what it answers.

A judge sees the task, the change and the test report. It does not see who made the change, with which model or tier,
in which folder, at what cost, or the agent's own statements about its work.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from steelyard.files import whole_file
from steelyard.records import Criterion, Record, TestResults
from steelyard.runner._blinding import Blinding, Secrets
from steelyard.runner._digests import trial_id
from steelyard.runner._folders import PlanFolder
from steelyard.runner._plan import NOP, ORACLE, PlanRead
from steelyard.runner._plan_records import FORMAT_VERSION, AgentUse, JudgeUse, PlanTask
from steelyard.runner._rubrics import Rubric, Shown, Winner, prompt_for, read_comparison, read_rubric, read_scores
from steelyard.runner._trial_records import Ending, ExecutionOutcome, Trial, TrialResult
from steelyard.runner._work_diff import work_diff

_MAX_OUTPUT_CHARS = 4_000
"""Characters of the verifier's output, from its end, that a judge sees."""
_MAX_TESTS = 50
Ask = Callable[[PlanTask], ExecutionOutcome]
"""Gives a prompt to the judge's model, as an execution of its adapter without a work tree."""


class JudgeAnswer(Record, frozen=True, kw_only=True):
    """Answer of a judge: points for one attempt, or the better of two."""

    judge: str
    """The judge's label."""
    criteria: tuple[Criterion, ...] = ()
    """The rubric's lines with points, where one attempt was judged."""
    passed: bool | None = None
    """The vote, where one attempt was judged."""
    better: Winner | None = None
    """The better of two attempts, in the order of `judged`."""
    redacted: str = ""
    """What was taken out of what the judge saw; empty where nothing was."""


def with_judges(read: PlanRead, trials: Sequence[Trial]) -> list[Trial]:
    """The trials, and those of every judge: one for each attempt and sample, or two for each pair."""
    seed = read.plan.plan.seed
    judging: list[Trial] = []
    for judge in read.plan.judges:
        rubric = rubric_of(read, judge)
        adapter = read.adapters[judge.use].digest
        groups = _pairs(read, trials) if judge.pairs else [(trial,) for trial in trials if _is_judged(read, trial)]
        for judged, sample in itertools.product(groups, range(1, judge.samples + 1)):
            ids = tuple(trial.id for trial in judged)
            judging.append(
                Trial(
                    id=trial_id(FORMAT_VERSION, "judge", ids, adapter, judge.model, rubric.digest, seed, sample),
                    kind="judge",
                    task=judged[0].task,
                    agent=judge.label,
                    model=judge.model,
                    attempt=sample,
                    time_limit_seconds=judged[0].time_limit_seconds,
                    judged=ids,
                )
            )
    return [*trials, *judging]


def _is_judged(read: PlanRead, trial: Trial) -> bool:
    """Whether the trial is judged: every attempt, but only the first of `nop` and `oracle`, which never vary."""
    return trial.kind == "run" and (trial.attempt == 1 or read.use_of(trial.agent).use not in (NOP, ORACLE))


def _pairs(read: PlanRead, trials: Iterable[Trial]) -> Iterator[tuple[Trial, Trial]]:
    """Attempts of one number at one task by two different agents, each pair in both orders."""
    groups: dict[tuple[str, int], list[Trial]] = {}
    for trial in trials:
        if _is_judged(read, trial):
            groups.setdefault((trial.task, trial.attempt), []).append(trial)
    for group in groups.values():
        for first, second in itertools.combinations(group, 2):
            # nop and oracle calibrate judges; comparing them with agents would only add cost
            if first.is_calibration == second.is_calibration:
                yield first, second
                yield second, first


@lru_cache(maxsize=64)
def _rubric_at(path: Path, _changed: int) -> Rubric:
    return read_rubric(path)


def rubric_of(read: PlanRead, judge: JudgeUse) -> Rubric:
    """The judge's rubric."""
    path = read.path_of(judge.rubric)
    return _rubric_at(path, path.stat().st_mtime_ns)


def judge_of(read: PlanRead, trial: Trial) -> JudgeUse:
    """Who judges in this trial."""
    return next(judge for judge in read.plan.judges if judge.label == trial.agent)


def judge_as_agent(read: PlanRead, trial: Trial) -> AgentUse:
    """The judge as an agent that is asked something."""
    judge = judge_of(read, trial)
    return AgentUse(use=judge.use, name=judge.label, models=(judge.model,), endpoint=judge.endpoint)


def judge_trial(
    trial: Trial, read: PlanRead, folder: PlanFolder, *, retry: int, trials: Mapping[str, Trial], ask: Ask
) -> ExecutionOutcome:
    """Execute a judge trial: send the prompt and parse the response; an invalid response is retried once.

    `trials` maps ids to the judged trials; `retry` is the number of the execution, 0 for the first.
    """
    judge = judge_of(read, trial)
    rubric = rubric_of(read, judge)
    question, blinding = judge_question(trial, read, folder, trials=trials)
    outcome = ask(PlanTask(id=trial.task, prompt=question))
    output = outcome.run.output if outcome.run is not None else None
    if output is None:
        return outcome if outcome.result.ending.cause else _not_judged(outcome, retry, "no response")
    answer = JudgeAnswer(judge=judge.label, redacted=blinding.summary)
    if len(trial.judged) == 2:
        better = read_comparison(output.text)
        answer = msgspec.structs.replace(answer, better=better)
        is_readable = better is not None
    else:
        scores = read_scores(output.text, rubric)
        is_readable = scores is not None
        if scores is not None:
            answer = msgspec.structs.replace(answer, criteria=scores[0], passed=scores[1])
    if not is_readable:
        return _not_judged(outcome, retry, "the response is not the requested JSON object")
    ended = msgspec.structs.replace(outcome.result, ending=Ending(name="judged"))
    return msgspec.structs.replace(outcome, result=ended, judgment=msgspec.to_builtins(answer))


def _not_judged(outcome: ExecutionOutcome, retry: int, detail: str) -> ExecutionOutcome:
    """Return an outcome without a judgment: retried once, and never a score of 0."""
    ending = Ending(name="not_judged", cause="agent", is_retried=retry < 1, detail=detail)
    return msgspec.structs.replace(outcome, result=msgspec.structs.replace(outcome.result, ending=ending))


def judge_question(
    trial: Trial, read: PlanRead, folder: PlanFolder, *, trials: Mapping[str, Trial]
) -> tuple[str, Blinding]:
    """What the judge is asked, and what was taken out of it."""
    judge = judge_of(read, trial)
    rubric = rubric_of(read, judge)
    judged = [trials[id_] for id_ in trial.judged]
    task = read.task_of(trial.task)
    prompt = read.prompt_of(task)
    blinding = Blinding(_secrets(read, folder, judged), spoken_of=prompt)
    sides = [_shown(read, folder, each, task, blinding) for each in judged]
    seed = f"{read.plan.plan.seed}/{judge.label}/{','.join(trial.judged)}/{trial.attempt}"
    mark = hashlib.sha256(f"{seed}{sides}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    question = prompt_for(blinding.text(prompt), sides, rubric.shuffled(seed), rubric=rubric, mark=f"=== {mark} ===")
    return question, blinding


def _secrets(read: PlanRead, folder: PlanFolder, judged: Iterable[Trial]) -> Secrets:
    uses = read.plan.agents
    results = [result for trial in judged if (result := folder.result(trial.id)) is not None]
    places = [read.folder, folder.root, Path.home()]
    counted = [result.run.total_usage for result in results if result.run is not None]
    return Secrets(
        agents=tuple(name for use in uses for name in (use.label, use.use)),
        models=tuple(model for use in uses for model in use.models),
        tiers=tuple(tier for use in uses for tier in use.tiers),
        paths=tuple(str(form) for place in places for form in (place, place.absolute(), Path(os.path.realpath(place)))),
        ids=tuple(id_ for result in results for id_ in (result.id, result.run.id if result.run else None) if id_),
        costs_usd=tuple(cost for result in results for cost in _costs(result)),
        tokens=tuple(
            count
            for usage in counted
            if usage is not None
            for count in msgspec.structs.asdict(usage).values()
            if isinstance(count, int)
        ),
        overlaid=frozenset(_overlaid(read)),
    )


def _costs(result: TrialResult) -> Iterator[float]:
    yield from (cost for each in result.executions if (cost := each.cost_usd) is not None)
    if result.run is not None and result.run.cost_usd is not None:
        yield result.run.cost_usd


def _overlaid(read: PlanRead) -> Iterator[str]:
    """Files of the overlays of all tiers."""
    for use in read.plan.agents:
        for tier in use.tiers.values():
            if tier.overlay:
                place = work_overlay(read.path_of(tier.overlay))
                yield from (path.relative_to(place).as_posix() for path in place.rglob("*") if not path.is_dir())


def work_overlay(overlay: Path) -> Path:
    """Return the part of a tier's overlay for the work tree."""
    return overlay / "work" if (overlay / "work").is_dir() or (overlay / "home").is_dir() else overlay


def _shown(read: PlanRead, folder: PlanFolder, trial: Trial, task: PlanTask, blinding: Blinding) -> Shown:
    result, executions = folder.result(trial.id), folder.executions(trial.id)
    before = [read.path_of(task.work)] if task.work else []
    tier = read.use_of(trial.agent).tiers.get(trial.tier or "")
    before += [work_overlay(read.path_of(tier.overlay))] if tier is not None and tier.overlay else []
    diff = blinding.diff(work_diff(before, executions[-1] / "work")) if executions else ""
    tests = result.run.tests if result is not None and result.run is not None else None
    output = _end_of(executions[-1] / "verify" / "stdout", blinding) if executions and task.verify else ""
    return Shown(diff, blinding.text("\n".join(part for part in (_tests(tests), output) if part)))


def _tests(tests: TestResults | None) -> str:
    """The test report in a few lines: how many, and which failed."""
    if tests is None or not tests.total:
        return ""
    lines = [f"{tests.total - tests.not_passed} of {tests.total} tests pass."]
    for what, names in (("failed", tests.failed), ("could not run", tests.errors)):
        if isinstance(names, tuple) and names:
            lines += [f"{what}: {name}" for name in names[:_MAX_TESTS]]
            lines += [f"... and {len(names) - _MAX_TESTS} more"] if len(names) > _MAX_TESTS else []
    return "\n".join(lines)


def _end_of(path: Path, blinding: Blinding) -> str:
    """Return the end of the output, redacted before it is cut, because part of a key is not recognized."""
    if not path.is_file():
        return ""
    output = whole_file(path)[-16 * _MAX_OUTPUT_CHARS :].decode("utf-8", "replace")
    return blinding.redaction.text(output)[-_MAX_OUTPUT_CHARS:]
