"""From judges' answers to the judgments of runs: who is fit to judge, what two orders of a pair agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from steelyard.records import Finding, Judgment, Run, exact_mean, model_group, sum_of_known
from steelyard.runner._folders import PlanFolder
from steelyard.runner._judging import JudgeAnswer
from steelyard.runner._measuring import measured_samples, with_benchmarks
from steelyard.runner._plan import NOP, ORACLE, PlanRead
from steelyard.runner._trial_records import Trial, TrialResult

MAX_MISTAKES = 0.1
"""From which share of wrong answers about `nop` and `oracle` on a judge is unfit."""
_FAMILIES = {"gpt": "openai", "chatgpt": "openai", "codex": "openai", "o": "openai"}
"""First words of names of models that belong to one maker; else the first word is the family."""


class Judged(NamedTuple):
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
            run = with_benchmarks(runs[trial.id], samples.get(trial.id))
            completed.append(msgspec.structs.replace(run, judgments=own) if own else run)
    return completed, findings


def _use(read: PlanRead, trial: Trial) -> str:
    return read.use_of(trial.agent).use if trial.kind == "run" else trial.kind


def _judged(trial: Trial, result: TrialResult) -> Judged | None:
    """The answer of a judge's trial; None where it gave none."""
    if result.judgment is None:
        return None
    cost_usd = sum_of_known(each.cost_usd for each in result.executions)
    return Judged(trial, msgspec.convert(result.judgment, JudgeAnswer), cost_usd)


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


def _redacted(answers: Iterable[Judged], trials: Mapping[str, Trial]) -> list[Finding]:
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


def _families(answers: Iterable[Judged], trials: Mapping[str, Trial]) -> list[Finding]:
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
    answers: Iterable[Judged],
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


def _of_single(answers: Iterable[Judged]) -> dict[str, list[Judgment]]:
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


def _of_pairs(answers: Iterable[Judged]) -> tuple[dict[str, list[Judgment]], list[Finding]]:
    """One judgment for each judge and trial: the fraction of its pairs that it won, a tie counting half.

    A pair counts when both orders were judged. Where they disagree, the order decided and not the work: a tie.
    """
    orders: dict[tuple[str, int, frozenset[str]], list[Judged]] = {}
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


def _winner(judged: Judged) -> str | None:
    """The id of the better trial; None for a tie."""
    place = {"A": 0, "B": 1}.get(judged.answer.better or "")
    return None if place is None else judged.trial.judged[place]
