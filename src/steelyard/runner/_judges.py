"""Judges as trials, and the judgments of runs from their answers.

A judge sees the task, the change and the test report. It does not see who made the change, with which model or tier,
in which folder, at what cost, or the agent's own statements about its work. Answers about `nop` and `oracle` show
which judges are unfit, and both orders of a pair must agree.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from steelyard.files import whole_file
from steelyard.records import (
    Criterion,
    Finding,
    Judgment,
    Record,
    Run,
    TestResults,
    exact_mean,
    model_group,
    sum_of_known,
)
from steelyard.runner._blinding import Blinding, Secrets, work_diff
from steelyard.runner._digests import trial_id
from steelyard.runner._measurement import measured_samples, with_benchmarks
from steelyard.runner._plan import NOP, ORACLE, PlanRead
from steelyard.runner._plan_folder import PlanFolder
from steelyard.runner._plan_records import FORMAT_VERSION, AgentUse, JudgeUse, PlanTask
from steelyard.runner._rubrics import (
    BlindedAttempt,
    Rubric,
    Winner,
    prompt_for,
    read_comparison,
    read_rubric,
    read_scores,
)
from steelyard.runner._trial_records import Ending, ExecutionOutcome, Trial, TrialResult

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
        adapter, server = read.adapters[judge.use].digest, read.server_of(judge)
        groups = _pairs(read, trials) if judge.pairs else [(trial,) for trial in trials if _is_judged(read, trial)]
        for judged, sample in itertools.product(groups, range(1, judge.samples + 1)):
            ids = tuple(trial.id for trial in judged)
            judging.append(
                Trial(
                    id=trial_id(
                        FORMAT_VERSION, "judge", ids, adapter, server, judge.model, rubric.digest, seed, sample
                    ),
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


def _shown(read: PlanRead, folder: PlanFolder, trial: Trial, task: PlanTask, blinding: Blinding) -> BlindedAttempt:
    result, executions = folder.result(trial.id), folder.executions(trial.id)
    before = [read.path_of(task.work)] if task.work else []
    tier = read.use_of(trial.agent).tiers.get(trial.tier or "")
    before += [work_overlay(read.path_of(tier.overlay))] if tier is not None and tier.overlay else []
    diff = blinding.diff(work_diff(before, executions[-1] / "work")) if executions else ""
    tests = result.run.tests if result is not None and result.run is not None else None
    output = _end_of(executions[-1] / "verify" / "stdout", blinding) if executions and task.verify else ""
    return BlindedAttempt(diff, blinding.text("\n".join(part for part in (_tests(tests), output) if part)))


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


MAX_MISTAKES = 0.1
"""From which share of wrong answers about `nop` and `oracle` on a judge is unfit."""
_FAMILIES = {"gpt": "openai", "chatgpt": "openai", "codex": "openai", "o": "openai"}
"""First words of names of models that belong to one maker; else the first word is the family."""


class JudgedTrial(NamedTuple):
    """One finished trial of a judge."""

    trial: Trial
    answer: JudgeAnswer
    cost_usd: float | None


def completed_runs(
    read: PlanRead, folder: PlanFolder, trials: Sequence[Trial], runs: Mapping[str, Run]
) -> tuple[list[Run], list[Finding]]:
    """Return the runs (by trial) with judgments and timings, and findings about the judges.

    Runs that exist for calibration alone are left out.
    """
    by_id = {trial.id: trial for trial in trials}
    results = {trial.id: result for trial in trials if (result := folder.result(trial.id)) is not None}
    answers = [_judged(trial, results[trial.id]) for trial in trials if trial.kind == "judge" and trial.id in results]
    readable = [judged for judged in answers if judged is not None]
    findings = [
        *_unread(trials, results),
        *_redacted(readable, by_id),
        *_families(readable, by_id),
    ]
    unfit, mistaken = calibration(readable, by_id, results, uses={trial.agent: _use(read, trial) for trial in trials})
    findings += mistaken
    fit = [judged for judged in readable if judged.trial.agent not in unfit]
    judgments = _of_single(fit)
    compared, disagreements = _of_pairs(fit)
    findings += disagreements
    samples = measured_samples(read, folder, trials)
    completed = []
    for trial in trials:
        if trial.kind == "run" and not trial.is_calibration and trial.id in runs:
            own = (*judgments.get(trial.id, ()), *compared.get(trial.id, ()))
            run = with_benchmarks(runs[trial.id], samples.get(trial.id), read.plan.plan.measure)
            completed.append(msgspec.structs.replace(run, judgments=own) if own else run)
    return completed, findings


def _use(read: PlanRead, trial: Trial) -> str:
    return read.use_of(trial.agent).use if trial.kind == "run" else trial.kind


def _judged(trial: Trial, result: TrialResult) -> JudgedTrial | None:
    """The answer of a judge's trial; None where it gave none."""
    if result.judgment is None:
        return None
    cost_usd = sum_of_known(each.cost_usd for each in result.executions)
    return JudgedTrial(trial, msgspec.convert(result.judgment, JudgeAnswer), cost_usd)


def _unread(trials: Iterable[Trial], results: Mapping[str, TrialResult]) -> list[Finding]:
    """Judges that did not judge, each with how often."""
    asked, missing = Counter[str](), Counter[str]()
    for trial in trials:
        if trial.kind == "judge" and trial.id in results:
            asked[trial.agent] += 1
            missing[trial.agent] += results[trial.id].judgment is None
    return [
        Finding(
            code="not_judged",
            message=f"{count} of {asked[judge]} responses could not be parsed and count as missing",
            where=f"judge {judge}",
        )
        for judge, count in missing.items()
        if count
    ]


def _redacted(answers: Iterable[JudgedTrial], trials: Mapping[str, Trial]) -> list[Finding]:
    """Report attempts that reveal their agent, once for all judges."""
    redacted_in: dict[str, str] = {}
    for judged in answers:
        if judged.answer.redacted and len(judged.trial.judged) == 1:
            redacted_in.setdefault(judged.trial.judged[0], judged.answer.redacted)
    return [
        Finding(
            code="judge_blinded",
            severity="info",
            message=f"redacted from the judges' input: {redacted}",
            where=trials[id_].sentence,
        )
        for id_, redacted in redacted_in.items()
    ]


def _families(answers: Iterable[JudgedTrial], trials: Mapping[str, Trial]) -> list[Finding]:
    """Judges that judged models of their own family, which they tend to prefer."""
    own: dict[str, set[str]] = {}
    for judged in answers:
        for id_ in judged.trial.judged:
            model = trials[id_].model
            if model is not None and family_of(model) == family_of(judged.trial.model or ""):
                own.setdefault(judged.trial.agent, set()).add(model)
    return [
        Finding(
            code="judge_same_family",
            message=f"judges models of its own family ({', '.join(sorted(models))}): compare with another judge",
            where=f"judge {judge}",
        )
        for judge, models in own.items()
    ]


def family_of(model: str) -> str:
    """Return the model family from a model name.

    >>> family_of("anthropic/claude-sonnet-4-5"), family_of("gpt-5.1"), family_of("o3-mini")
    ('claude', 'openai', 'openai')
    """
    name = model_group(model).rpartition("/")[2].lower()
    word = "".join(char if char.isalpha() else " " for char in name).split()
    return _FAMILIES.get(word[0], word[0]) if word else name


def calibration(
    answers: Iterable[JudgedTrial],
    trials: Mapping[str, Trial],
    results: Mapping[str, TrialResult],
    *,
    uses: Mapping[str, str],
) -> tuple[set[str], list[Finding]]:
    """Judges that pass unchanged code or fail the known solution too often, and what each got wrong.

    Where the task's own tests contradict what is known (unchanged code passes, the solution fails), no judge is blamed.
    """
    asked, wrong = Counter[str](), dict[str, list[str]]()
    for judged in answers:
        kinds = [uses[trials[id_].agent] for id_ in judged.trial.judged]
        if any(_is_contradicted(kind, results[id_]) for kind, id_ in zip(kinds, judged.trial.judged, strict=True)):
            continue
        mistake: str | None
        if kinds in ([NOP], [ORACLE]):
            expected = kinds == [ORACLE]
            mistake = "fails the reference solution" if expected else "passes unchanged code"
            is_right = judged.answer.passed is expected
        elif sorted(kinds) == [NOP, ORACLE]:
            mistake = "does not prefer the reference solution to unchanged code"
            is_right = judged.answer.better == "AB"[kinds.index(ORACLE)]
        else:
            continue
        judge = judged.trial.agent
        asked[judge] += 1
        if not is_right:
            wrong.setdefault(judge, []).append(f"{mistake} ({judged.trial.task})")
    unfit = {judge for judge, mistakes in wrong.items() if len(mistakes) > MAX_MISTAKES * asked[judge]}
    findings = [_calibrated(judge, wrong[judge], asked[judge], is_unfit=judge in unfit) for judge in wrong]
    return unfit, findings


def _is_contradicted(kind: str, result: TrialResult) -> bool:
    verdict = result.run.verdict if result.run is not None else None
    return verdict is (kind == NOP) if kind in (NOP, ORACLE) else False


def _calibrated(judge: str, mistakes: Sequence[str], asked: int, *, is_unfit: bool) -> Finding:
    shown = "; ".join(mistakes[:3]) + ("; ..." if len(mistakes) > 3 else "")
    summary = f"{len(mistakes)} of {asked} calibration answers are wrong ({shown})"
    if not is_unfit:
        return Finding(code="judge_mistaken", message=summary, where=f"judge {judge}")
    message = f"judgments excluded: {summary}. Use another model or a clearer rubric"
    return Finding(code="judge_unfit", severity="error", message=message, where=f"judge {judge}")


def _of_single(answers: Iterable[JudgedTrial]) -> dict[str, list[Judgment]]:
    """Judgments by judged trial, where one attempt was judged."""
    judgments: dict[str, list[Judgment]] = {}
    for judged in answers:
        if judged.answer.criteria:
            judgment = Judgment(
                judge=judged.answer.judge,
                passed=judged.answer.passed,
                cost_usd=judged.cost_usd,
                criteria=judged.answer.criteria,
            )
            judgments.setdefault(judged.trial.judged[0], []).append(judgment)
    return judgments


def _of_pairs(answers: Iterable[JudgedTrial]) -> tuple[dict[str, list[Judgment]], list[Finding]]:
    """One judgment for each judge and trial: the fraction of its pairs that it won, a tie counting half.

    A pair counts when both orders were judged. Where they disagree, the order decided and not the work: a tie.
    """
    orders: dict[tuple[str, int, frozenset[str]], list[JudgedTrial]] = {}
    for judged in answers:
        if judged.answer.better is not None:
            orders.setdefault((judged.trial.agent, judged.trial.attempt, frozenset(judged.trial.judged)), []).append(
                judged
            )
    points: dict[tuple[str, str], list[float]] = {}
    costs: dict[tuple[str, str], list[float | None]] = {}
    swayed, pairs = Counter[str](), Counter[str]()
    for (judge, _, ids), both in orders.items():
        if len(both) != 2:
            continue
        pairs[judge] += 1
        winners = {_winner(judged) for judged in both}
        swayed[judge] += len(winners) > 1
        winner = winners.pop() if len(winners) == 1 else None
        for id_ in ids:
            points.setdefault((judge, id_), []).append(0.5 if winner is None else float(winner == id_))
            costs.setdefault((judge, id_), []).extend(
                None if judged.cost_usd is None else judged.cost_usd / 2 for judged in both
            )
    judgments: dict[str, list[Judgment]] = {}
    for (judge, id_), won in points.items():
        cost_usd = sum_of_known(costs[judge, id_])
        judgment = Judgment(judge=f"{judge} (pairs)", weighted_score=exact_mean(won), cost_usd=cost_usd)
        judgments.setdefault(id_, []).append(judgment)
    findings = [
        Finding(
            code="pair_disagreement",
            message=f"{count} of {pairs[judge]} pairs depend on the presentation order and count as ties",
            where=f"judge {judge}",
        )
        for judge, count in swayed.items()
        if count
    ]
    return judgments, findings


def _winner(judged: JudgedTrial) -> str | None:
    """The id of the better trial; None for a tie."""
    place = {"A": 0, "B": 1}.get(judged.answer.better or "")
    return None if place is None else judged.trial.judged[place]
