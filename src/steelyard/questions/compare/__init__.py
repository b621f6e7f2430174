"""Test whether a candidate is better than a baseline.

Results are paired by task, on the tasks that both sides attempted. P-values are corrected for multiple
comparisons.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from msgspec import structs

from steelyard import pages, statistics  # names of `pages` are imported on first use
from steelyard.errors import UsageError
from steelyard.formatting import (
    at_least,
    counted,
    difference_text,
    interval_name,
    p_value_cell,
    quantity,
    ratio_bounds,
    ratio_text,
)
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.plain_text import clean
from steelyard.questions import analysis
from steelyard.questions._expected_tasks import TasksOptions, with_expected_tasks
from steelyard.questions._figure_options import ConditionOptions, DifferenceOptions, EngineOptions, VerdictOptions
from steelyard.questions._group_keys import compared_schemes
from steelyard.questions._measured_tables import open_table, usual_metrics
from steelyard.questions._options import Selections
from steelyard.questions._question import Names, doc, question
from steelyard.questions._run_input import Measurable
from steelyard.questions._sides import sides_of
from steelyard.questions.compare._answer import (
    SOLVED_FROM,
    ComparedSide as ComparedSide,
    Comparison as Comparison,
    CorrectedTest,
    Correction as Correction,
    Coverage as Coverage,
    EffectSize as EffectSize,
    EqualTasks,
    Flips as Flips,
    MetricDifference as MetricDifference,
    MissingBounds as MissingBounds,
    Pair as Pair,
    PowerAnalysis as PowerAnalysis,
    SequentialState as SequentialState,
    SideCounts,
    TaskDifferences as TaskDifferences,
    TaskValues as TaskValues,
    Verdict as Verdict,
)
from steelyard.records import Finding, Selection, one_a_kind, set_aside_findings, tier_meaning, tier_text

if TYPE_CHECKING:
    from steelyard.metrics import Key
    from steelyard.pages import Column, Page, PageTable, Style
    from steelyard.questions.analysis import Difference, Mask, Samples, StatisticsOptions
    from steelyard.questions.compare._verdicts import JudgedDifference
    from steelyard.sources import RunTable
    from steelyard.statistics import Ints

FEW_TASKS = 10
TASKS_SHOWN = 16
"""Differing tasks that a terminal shows."""
VERDICT_STYLES: dict[str, Style] = {"better": "green", "worse": "red"}


class CompareOptions(VerdictOptions, DifferenceOptions, TasksOptions, ConditionOptions, EngineOptions):
    """Options of `compare`."""

    baseline: Selection | None = doc(
        "Runs to compare with: agent=NAME,model=NAME, a file or a directory (default: the first input).",
        default=None,
        short="-a",
    )
    candidate: Selections = doc("Runs to test; repeatable (default: the other inputs).", default=(), short="-b")
    metrics: Names = doc(
        "Comma-separated metrics (see: steelyard metrics; default: the standard set); cost_usd:geomean is a "
        "geometric mean.",
        default=(),
    )
    correction: Correction = doc("Multiple-comparison correction.", default="holm")
    effect_size: float | None = doc(
        "Report the sample size needed to detect a difference of DIFF, in the metric's unit (for pass_rate, "
        "0.05 is 5 pp).",
        default=None,
    )
    margin: float | None = doc(
        "Equivalence margin of the first metric, in its unit (for pass_rate, 0.02 is 2 pp).",
        default=None,
    )
    sequential: int | None = doc(
        "Use a sequential test, which stays valid under repeated looks at incomplete results; N is the planned number "
        "of tasks, fixed before the first look.",
        default=None,
    )

    def check(self) -> None:
        """Reject an effect size or a margin of 0."""
        for name in ("effect_size", "margin"):
            size = getattr(self, name)
            if size is not None and not 0 < abs(size) < math.inf:
                raise UsageError(f"{option(name)} must be finite and not 0 (got {size:g})", hint=option(name, 0.05))

    def statistics(self, method: str = "auto") -> StatisticsOptions:
        """Return the options of the statistics, validated; a sequential test excludes some of the others."""
        found = super().statistics(method)
        if self.sequential is None:
            return found
        for name, usual in (("interval", "auto"), ("cluster", None), ("weight_by", "tasks")):
            if getattr(self, name) != usual:
                raise UsageError(f"{option('sequential')} does not support {option(name)}")
        return replace(found, planned_tasks=self.sequential)


@question(
    CompareOptions,
    examples=(
        {"baseline": "tier=T0", "candidate": "tier=T6"},
        {"baseline": "tier=T0", "candidate": "tier=T6", "metrics": "pass_rate,cost_usd"},
    ),
)
def compare(runs: Measurable, options: CompareOptions) -> Comparison:
    """Compare candidates with a baseline on the tasks they share.

    `baseline` and `candidate` select runs: `"agent=X,model=Y"`, a dict of the same, or a file or directory. Of
    several files without them, the first is the baseline.

    >>> import steelyard as sy
    >>> compared = sy.compare(sy.demo_runs(), baseline="tier=T0", candidate="tier=T2", metrics=["pass_rate"])
    >>> compared.pairs[0].metrics["pass_rate"].verdict
    'better'
    """
    profile, judging = options.outcome_profile(), options.statistics(options.interval)
    usual = usual_metrics(runs) or [metric.name for metric in catalog().overview() if metric.is_estimate]
    names = analysis.comparable(
        options.metrics or (usual if options.sequential is None else ["pass_rate"]), geometric=True
    )
    candidates = [options.candidate] if isinstance(options.candidate, (str, Mapping)) else options.candidate
    runs, baseline, candidates = sides_of(runs, options.baseline, candidates)
    if options.sequential is not None:
        _check_sequential(names, candidates)
    filters = _filters(baseline, candidates)
    keys = [*options.cluster_keys, *(key for chosen in filters for key in chosen)]
    table = open_table(runs, names, options, keys=keys)
    table = with_expected_tasks(table, options.tasks, filters)
    samples = analysis.samples_of(table, names, profile=profile, weight_by=options.weight_by)
    if options.sequential is None:
        samples = analysis.with_clusters(samples, table, options.cluster)
    masks = [
        analysis.chosen_rows(table, chosen, where=option("candidate" if place else "baseline"))
        for place, chosen in enumerate(filters)
    ]
    sides, scheme_findings = _sides(table, samples, filters, masks)
    if options.sequential is not None:
        samples = analysis.with_completion(samples, table, reduce(or_, masks))
    differences, others = _compared(table, samples, masks, names, options)
    compared = {cell.metric for row in differences for cell in row}
    pairs, tests, condition_findings = _pairs(table, samples, sides, masks, differences, others, options)
    return Comparison(
        baseline=sides[0],
        pairs=pairs,
        confidence=judging.level,
        seed=judging.seed,
        resamples=judging.resamples,
        correction=options.correction,
        comparisons=tests,
        profile=profile.name,
        findings=one_a_kind(
            (
                *table_findings(table, reduce(or_, masks)),
                *scheme_findings,
                *condition_findings,
                *_pooling(table, sides, masks),
                *_no_verdicts(names, compared),
                *_doubts(sides, masks, pairs, judging),
                *clusters_found(_effective_clusters(differences), samples),
                *_few_planned(options.sequential),
                *_outlier_dominated_means(table, samples, sides, masks, differences),
                *_sides_skews(table, samples, sides, masks, names),
            )
        ),
        rejected_count=table.rejected_count,
        weight_by=options.weight_by,
        unscored=profile.unscored,
    )


def leader_margin(
    table: RunTable,
    samples: Samples,
    groups: Sequence[tuple[str, dict[str, str], Mask]],
    metric: str,
    options: CompareOptions,
) -> MetricDifference:
    """Return the difference of the second of two groups from the first as `compare` judges it, without planning.

    Each group is its label, what selects its runs, and their mask.
    """
    own = {name: column for name, column in samples.values.items() if name.split(" ")[0] == metric}
    samples = replace(samples, values=own)
    labels, filters, masks = zip(*groups, strict=True)
    sides, _ = _sides(table, samples, filters, masks)
    sides = [structs.replace(side, label=label) for side, label in zip(sides, labels, strict=True)]
    (row,), others = _compared(table, samples, masks, [metric], options)
    # simulating the power takes longer than a ranking; it needs the differences of the tasks
    unplanned = [[replace(found, gaps=None) for found in row]]
    (pair,), _, _ = _pairs(table, samples, sides, masks, unplanned, others, options)
    return pair.metrics[metric]


def _pairs(
    table: RunTable,
    samples: Samples,
    sides: Sequence[ComparedSide],
    masks: Sequence[Mask],
    differences: Sequence[Sequence[Difference]],
    others: Sequence[Sequence[Difference]] | None,
    options: CompareOptions,
) -> tuple[tuple[Pair, ...], int, list[Finding]]:
    """Return the judged pairs, how many tests they account for, and the finding on their conditions."""
    pairs, tests = _judged(samples, sides, masks, differences, others, options)
    pairs = tuple(
        _with_lower_bounds(table, samples, pair, sides[0].label, (masks[0], mask))
        for pair, mask in zip(pairs, masks[1:], strict=True)
    )
    pairs, condition_findings = _under_conditions(table, pairs, [side.chosen for side in sides], masks, options)
    return pairs, tests, condition_findings


def _check_sequential(names: Sequence[str], candidates: Sequence[Selection]) -> None:
    """Reject what a sequential test cannot decide: several comparisons, or values without bounds."""
    if len(names) > 1 or len(candidates) > 1:
        message = f"{option('sequential')} compares one metric of one candidate"
        raise UsageError(message, hint=option("metrics", names[0]) if len(names) > 1 else None)
    declared = catalog()[names[0]]
    if declared.is_ratio or not all(map(math.isfinite, declared.bounds)):
        raise UsageError(
            f"{option('sequential')} needs a metric with bounds, and {names[0]} has none",
            hint=option("metrics", "pass_rate"),
        )


def _few_planned(planned: int | None) -> list[Finding]:
    if planned is None or planned >= statistics.MIN_SAVING_TASKS:
        return []
    message = (
        f"with fewer than {statistics.MIN_SAVING_TASKS} planned tasks, a sequential test usually needs as many tasks "
        "as a fixed sample"
    )
    return [Finding(code="few_planned_tasks", severity="info", message=message)]


def _filters(a: Selection, others: Sequence[Selection]) -> list[dict[str, str]]:
    """Return the filters of the baseline and each candidate; duplicates would count as two comparisons."""
    if not others:
        raise UsageError("no candidate to compare", hint=option("candidate", "agent=NAME,model=NAME"))
    filters = [analysis.read_filter(text, option=option("candidate")) for text in others]
    for place, text in enumerate(others):
        if filters[place] in filters[:place]:
            raise UsageError(f"{option('candidate', text)} is given twice")
    return [analysis.read_filter(a, option=option("baseline")), *filters]


def _sides(
    table: RunTable, samples: Samples, filters: Sequence[dict[str, str]], masks: Sequence[Mask]
) -> tuple[list[ComparedSide], list[Finding]]:
    """Return the labeled sides, and findings about their tier schemes."""
    by_side = list(zip(filters, masks, strict=True))
    schemes = [table.tier_schemes(mask) if "tier" in chosen else [] for chosen, mask in by_side]
    findings = compared_schemes(zip(filters, schemes, strict=True))
    labels = _labels([_with_names(chosen, own) for chosen, own in zip(filters, schemes, strict=True)])
    sides = [
        ComparedSide(
            label=label,
            chosen=chosen,
            runs=int(mask.sum()),
            tasks=int(samples.attempted(mask).sum()),
            tier_scheme=next(iter(own), None),
            tier_name=_tier_name(chosen, next(iter(own), None)),
        )
        for label, (chosen, mask), own in zip(labels, by_side, schemes, strict=True)
    ]
    return sides, findings


def _tier_name(chosen: Mapping[str, str], tier_scheme: str | None) -> str | None:
    return tier_meaning(str(chosen.get("tier")), chosen.get("tier_scheme", tier_scheme))


def _compared(
    table: RunTable, samples: Samples, masks: Sequence[Mask], names: Sequence[str], options: CompareOptions
) -> tuple[list[list[Difference]], list[list[Difference]] | None]:
    """Return the differences, and those with runs without a verdict counted the other way, if there are such runs."""
    judging = options.statistics(options.interval)
    differences = _differences(samples, masks, [names] * (len(masks) - 1), judging)
    if not options.metrics:  # skip default metrics that no run has
        differences = [[cell for cell in row if cell.tasks] or row for row in differences]
    otherwise = analysis.counted_otherwise(table, samples, names)
    if otherwise is None:
        return differences, None
    if options.sequential is not None:
        if options.unscored is None:
            hint = f"{option('unscored', 'fail')} counts them as failed, {option('unscored', 'exclude')} excludes them"
            raise UsageError("a sequential test needs a policy for runs without a verdict", hint=hint)
        return differences, None
    others = _differences(otherwise, masks, [[cell.metric for cell in row] for row in differences], judging)
    if options.unscored is None:
        differences = [[analysis.with_fills(cell, judging) for cell in row] for row in differences]
    return differences, others


def _differences(
    samples: Samples, masks: Sequence[Mask], metrics: Sequence[Sequence[str]], judging: StatisticsOptions
) -> list[list[Difference]]:
    """Return the differences of each candidate from the baseline."""
    return [
        [analysis.difference(samples, masks[0], mask, name, options=judging) for name in names]
        for mask, names in zip(masks[1:], metrics, strict=True)
    ]


def _outlier_dominated_means(
    table: RunTable,
    samples: Samples,
    sides: Sequence[ComparedSide],
    masks: Sequence[Mask],
    differences: Sequence[Sequence[Difference]],
) -> list[Finding]:
    from steelyard.questions.compare._outliers import outlier_dominated_mean  # brings numpy and Polars

    found = (
        outlier_dominated_mean(table, samples, difference, rows=(masks[0], mask), labels=(sides[0].label, side.label))
        for side, mask, row in zip(sides[1:], masks[1:], differences, strict=True)
        for difference in row
    )
    return [finding for finding in found if finding is not None]


def _sides_skews(
    table: RunTable, samples: Samples, sides: Sequence[ComparedSide], masks: Sequence[Mask], metrics: Sequence[str]
) -> list[Finding]:
    import numpy as np  # heavy: a comparison needs it, its --help does not

    return [
        finding
        for side, mask in zip(sides, masks, strict=True)
        for finding in skews(
            table,
            samples,
            metrics,
            np.where(mask, 0, -1),
            by=list(side.chosen),
            keys=[tuple(side.chosen.values())],
            labels=[side.label],
        )
    ]


def skews(
    table: RunTable,
    samples: Samples,
    metrics: Sequence[str],
    groups: Ints,
    *,
    by: Sequence[str],
    keys: Sequence[Key],
    labels: Sequence[str],
) -> list[Finding]:
    """Where runs and tasks would give other figures, and where attempts or costs mislead; -1 is no group.

    `keys` are those of the groups, as texts or as they are.
    """
    from steelyard.metrics import (  # with the next it brings numpy and scipy
        LabeledGroups,
        engine_of,
        skewed_groups,
    )

    def texts(key: Key) -> tuple[str | None, ...]:
        return tuple(None if value is None else str(value) for value in key)

    place_of = {texts(key): place for place, key in enumerate(keys)}
    labeled = LabeledGroups(by, lambda key: place_of.get(texts(key)), labels)
    engine = engine_of(table, samples.profile)
    return [*analysis.weights_differ(samples, metrics, groups, labels), *skewed_groups(engine, metrics, labeled)]


def _judged(
    samples: Samples,
    sides: Sequence[ComparedSide],
    masks: Sequence[Mask],
    differences: Sequence[Sequence[Difference]],
    others: Sequence[Sequence[Difference]] | None,
    options: CompareOptions,
) -> tuple[tuple[Pair, ...], int]:
    """The pairs with their verdicts, and how many tests those account for.

    `others` are the differences with runs without a verdict counted the other way.
    """
    from steelyard.questions.compare._verdicts import (  # brings numpy and scipy
        VerdictSettings,
        adjusted_p_values,
        judge,
        simultaneous_intervals,
        verdict,
    )

    correction = options.correction
    flat = [difference for row in differences for difference in row]
    tests = max(1, sum(difference.test.p_value is not None for difference in flat))
    statistics_options = options.statistics(options.interval)
    judging = VerdictSettings(
        level=statistics_options.level,
        comparisons=1 if correction == "none" else tests,
        correction=correction,
        unscored=samples.profile.unscored,
        is_typed=options.unscored is not None,
        effect_size=options.effect_size,
        margin=None if options.margin is None else abs(options.margin),
        seed=statistics_options.seed,
        planned_tasks=statistics_options.planned_tasks,
    )
    adjusted = iter(adjusted_p_values(flat, correction))
    simultaneous = iter(simultaneous_intervals(flat, judging))
    otherwise = None
    if others is not None:
        flat_others = [difference for row in others for difference in row]
        otherwise = iter(
            (difference, verdict(difference, p_value))
            for difference, p_value in zip(flat_others, adjusted_p_values(flat_others, correction), strict=True)
        )
    label = sides[0].label
    return tuple(
        Pair(
            candidate=side,
            tasks=_coverage(samples, masks[0], mask),
            metrics={
                difference.metric: _metric_difference(
                    judge(
                        difference,
                        a=label,
                        b=side.label,
                        adjusted=next(adjusted),
                        simultaneous=next(simultaneous),
                        alone=_alone(difference.metric, side, metrics=len(row), sides=len(differences)),
                        otherwise=None if otherwise is None else next(otherwise),
                        judging=judging,
                        is_first=place == 0,
                    ),
                    judging.planned_tasks,
                )
                for place, difference in enumerate(row)
            },
        )
        for side, mask, row in zip(sides[1:], masks[1:], differences, strict=True)
    ), tests


def _with_lower_bounds(table: RunTable, samples: Samples, pair: Pair, baseline: str, masks: tuple[Mask, Mask]) -> Pair:
    """The pair with the number of runs whose values are lower bounds, which its sentences name."""
    import numpy as np  # heavy: a comparison needs it, its --help does not

    shared = (samples.attempted(masks[0]) & samples.attempted(masks[1]))[samples.tasks]
    found = dict(pair.metrics)
    for name, cell in pair.metrics.items():
        counts = [
            analysis.lower_bound_runs(table, samples, name, np.where(mask & shared, 0, -1), 1)[0] for mask in masks
        ]
        if any(counts):
            sides = zip((baseline, pair.candidate.label), counts, strict=True)
            names = " and ".join(f"{label} ({counted(count, 'run')})" for label, count in sides if count)
            reason = f"the value is a lower bound for {names}"
            bounds = SideCounts(baseline=counts[0], candidate=counts[1])
            if _may_turn(cell, bounds):
                cell = _without_claim(cell, pair.candidate.label, reason)  # noqa: PLW2901
            else:
                cell = structs.replace(cell, sentence=f"{cell.sentence} {reason.capitalize()}.")  # noqa: PLW2901
            found[name] = structs.replace(cell, lower_bounds=bounds)
    return structs.replace(pair, metrics=found)


def _under_conditions(
    table: RunTable,
    pairs: tuple[Pair, ...],
    filters: Sequence[Mapping[str, str]],
    masks: Sequence[Mask],
    options: CompareOptions,
) -> tuple[tuple[Pair, ...], list[Finding]]:
    """The pairs without claims where the sides ran under different conditions, and the finding about those."""
    ignored = analysis.check_ignored(options.ignore_conditions)
    before, *others = (analysis.condition_rows(table, mask) for mask in masks)
    differing = [
        analysis.differing_conditions(before, after, chosen={*filters[0], *chosen}, ignored=ignored)
        for after, chosen in zip(others, filters[1:], strict=True)
    ]
    reasons = map(analysis.withheld_reason, differing)
    kept = tuple(
        pair if reason is None else _without_claims(pair, reason) for pair, reason in zip(pairs, reasons, strict=True)
    )
    labeled = {pair.candidate.label: own for pair, own in zip(pairs, differing, strict=True)}
    return kept, analysis.conditions_finding(labeled)


CLAIMED = ("better", "worse", "differs", "equivalent", "non-inferior")


def _may_turn(cell: MetricDifference, bounds: SideCounts) -> bool:
    """Whether a claim would not hold if the true values of the lower bounds were higher."""
    estimate = cell.difference.estimate
    if cell.verdict not in CLAIMED or estimate is None:
        return False
    if cell.verdict in ("equivalent", "non-inferior"):
        return True
    return bool(bounds.candidate if estimate < cell.equal else bounds.baseline)


def _without_claims(pair: Pair, reason: str) -> Pair:
    found = {name: _without_claim(cell, pair.candidate.label, reason) for name, cell in pair.metrics.items()}
    return structs.replace(pair, metrics=found)


def _without_claim(cell: MetricDifference, label: str, reason: str) -> MetricDifference:
    """The difference as inconclusive, with the reason, if it has a claim."""
    if cell.verdict not in CLAIMED:
        return cell
    words = ("better", "worse", "cheaper", "more expensive", "faster", "slower", "non-inferior")
    claims = "|".join([*(f"{re.escape(label)} is {word}" for word in words), "the difference is significant"])
    claim = re.compile(rf": ({claims}|{re.escape(label)} and .+? are equivalent)\.")
    sentence = claim.sub(lambda _: f": inconclusive; {reason}.", cell.sentence, count=1)
    return structs.replace(cell, verdict="inconclusive", sentence=sentence)


def _alone(metric: str, b: ComparedSide, *, metrics: int, sides: int) -> str:
    """Return the selections and metrics of this comparison alone."""
    return " of ".join([*([metric] if metrics > 1 else []), *([b.choice] if sides > 1 else [])])


def _metric_difference(judged: JudgedDifference, planned: int | None) -> MetricDifference:
    found = judged.difference
    decided = None if found.paired is None else found.paired.decided_at
    declared, delta, bounds = catalog()[found.metric], found.cliffs_delta, found.bounds
    interval, simultaneous, equivalence = found.interval, judged.simultaneous, judged.equivalence
    if declared.is_geometric:
        interval = analysis.as_ratio(interval)
        simultaneous = None if simultaneous is None else analysis.as_ratio(simultaneous)
        if equivalence is not None:
            equivalence = structs.replace(equivalence, low=math.exp(equivalence.low), high=math.exp(equivalence.high))
    by_task = TaskDifferences(
        higher=tuple(TaskValues(**each._asdict()) for each in found.higher),
        lower=tuple(TaskValues(**each._asdict()) for each in found.lower),
        same=tuple(EqualTasks(value=value, tasks=tasks) for value, tasks in found.same),
    )
    return MetricDifference(
        sentence=judged.sentence,
        verdict=judged.verdict,
        baseline=found.baseline,
        candidate=found.candidate,
        unit=declared.unit,
        better=declared.better,
        scale="ratio" if declared.is_geometric else "difference",
        difference=interval,
        test=CorrectedTest(**structs.asdict(found.test), adjusted_p_value=judged.adjusted_p),
        tasks=found.tasks,
        runs=SideCounts(baseline=found.runs[0], candidate=found.runs[1]),
        missing=SideCounts(baseline=found.missing[0], candidate=found.missing[1]),
        lower_bounds=SideCounts(baseline=0, candidate=0),
        effect=EffectSize(
            cliffs_delta=delta,
            size=None if delta is None else statistics.size_word(delta),
            standardized=found.standardized,
        ),
        power_analysis=_power_analysis(judged),
        simultaneous=simultaneous,
        equivalence=equivalence,
        tipping_point=None
        if judged.tipping is None
        else SideCounts(baseline=judged.tipping.a, candidate=judged.tipping.b),
        sequential=None
        if planned is None
        else SequentialState(planned=planned, completed=found.tasks, decided_at=decided),
        by_task=by_task,
        flips=_flips(by_task, found.tasks) if found.metric == "pass_rate" else None,
        geometric_ratio=found.geometric_ratio,
        missing_bounds=None if bounds is None else MissingBounds(low=bounds.low, high=bounds.high),
    )


def _power_analysis(judged: JudgedDifference) -> PowerAnalysis | None:
    planned = judged.sample_size
    if planned is None:
        return None
    is_geometric = catalog()[judged.difference.metric].is_geometric
    minimum = judged.minimum_effect
    return PowerAnalysis(
        effect_size=math.expm1(planned.effect) if is_geometric else planned.effect,
        tasks_needed=planned.tasks,
        min_tasks=planned.low,
        max_tasks=planned.high,
        minimum_detectable_effect=math.expm1(minimum) if is_geometric and minimum is not None else minimum,
        power=planned.power,
        reason=planned.reason,
    )


def _flips(by_task: TaskDifferences, tasks: int) -> Flips | None:
    """Return the tasks that each side solves; None if tasks do not count equally."""
    higher, lower = by_task.higher, by_task.lower
    if not tasks or len(higher) + len(lower) + sum(each.tasks for each in by_task.same) != tasks:
        return None
    gained = tuple(each for each in higher if each.baseline < SOLVED_FROM <= each.candidate)
    lost = tuple(each for each in lower if each.candidate < SOLVED_FROM <= each.baseline)
    both = sum(min(each.baseline, each.candidate) >= SOLVED_FROM for each in (*higher, *lower))
    both += sum(each.tasks for each in by_task.same if each.value >= SOLVED_FROM)
    neither = tasks - len(gained) - len(lost) - both
    return Flips(solved_from=SOLVED_FROM, gained=gained, lost=lost, both=both, neither=neither)


def _pooling(table: RunTable, sides: Sequence[ComparedSide], masks: Sequence[Mask]) -> list[Finding]:
    findings = []
    for side, mask in zip(sides, masks, strict=True):
        mixed = analysis.pooled(table, mask, side.chosen)
        if mixed:
            message = f"{side.label} pools runs of {mixed}; add them to the filter to compare one configuration"
            findings.append(Finding(code="pooled", message=message))
    return findings


def _doubts(
    sides: Sequence[ComparedSide], masks: Sequence[Mask], pairs: Sequence[Pair], judging: StatisticsOptions
) -> list[Finding]:
    return [*_overlaps(sides, masks), *_few_tasks(pairs), *_other_method(pairs, judging)]


def _no_verdicts(names: Sequence[str], compared: Collection[str]) -> list[Finding]:
    """Warn that a comparison of costs and times does not compare pass rates, as most readers expect."""
    if "pass_rate" not in names or "pass_rate" in compared:
        return []
    message = "pass rate not compared: no task has a verdict on both sides"
    return [Finding(code="no_verdicts", severity="info", message=message)]


def _overlaps(sides: Sequence[ComparedSide], masks: Sequence[Mask]) -> list[Finding]:
    """Sides that share runs: their difference is smaller than that of separate runs would be."""
    findings = []
    for side, mask in zip(sides[1:], masks[1:], strict=True):
        shared = int((masks[0] & mask).sum())
        if shared:
            message = f"{shared:,} runs are on both sides, which biases the difference toward 0"
            findings.append(Finding(code="overlap", message=message, where=side.label))
    return findings


def _other_method(pairs: Sequence[Pair], judging: StatisticsOptions) -> list[Finding]:
    """Metrics whose interval was made by another method than the one asked for."""
    asked = judging.method
    other = {
        name: compared.difference.method
        for pair in pairs
        for name, compared in pair.metrics.items()
        if asked not in ("auto", compared.difference.method)
    }
    return [
        Finding(
            code="interval_method",
            severity="info",
            message=f"{asked} does not support ratios of means; the interval for {metric} uses {method}",
        )
        for metric, method in sorted(other.items())
    ]


def _few_tasks(pairs: Sequence[Pair]) -> list[Finding]:
    """Return a finding on pairs with so few tasks that intervals depend on the distribution of the data."""
    return [
        Finding(
            code="few_tasks",
            severity="info",
            message=f"{counted(pair.tasks.common, 'shared task')}; intervals are unreliable below {FEW_TASKS}",
            where=pair.candidate.label,
        )
        for pair in pairs
        if pair.tasks.common < FEW_TASKS
    ]


def _effective_clusters(differences: Sequence[Sequence[Difference]]) -> float | None:
    found = (cell.effective_clusters for row in differences for cell in row)
    return next((effective for effective in found if effective is not None), None)


def clusters_found(effective: float | None, samples: Samples) -> list[Finding]:
    """Return a finding on clusters of tasks: how many there are and how many equal ones they are worth."""
    from steelyard.statistics import MIN_CLUSTERS  # brings numpy and scipy

    if effective is None or samples.clusters is None:
        return []
    count = len({samples.clusters[name] for name in samples.task_names if name in samples.clusters})
    message = f"tasks come from {counted(count, 'cluster')} (effective number: {effective:.1f})"
    if samples.are_clusters_units:
        message += (
            "; with 5 or fewer a sign-flip test cannot reach p < 0.05" if count <= 5 else ", the unit of analysis"
        )
    elif count < MIN_CLUSTERS:
        message += f", too few to test (at least {MIN_CLUSTERS}); results may depend on them"
    else:
        message += "; a claim must be significant over tasks and over clusters"
    return [Finding(code="clusters", severity="info", message=message)]


def table_findings(table: RunTable, rows: Mask | None = None) -> list[Finding]:
    """Return findings of reading and rejected records; findings on costs only if they concern the rows."""
    return [*set_aside_findings(table.rejected), *table.findings_of(rows)]


def _with_names(chosen: Mapping[str, str], schemes: Sequence[str]) -> dict[str, str]:
    """Return the values with the meaning of a tier appended."""
    return {key: tier_text(value, schemes[0]) if key == "tier" else value for key, value in chosen.items()}


def _labels(filters: Sequence[dict[str, str]]) -> list[str]:
    """Return the values that distinguish the sides, or all values, with a letter if those are equal."""
    shared = {key for key in filters[0] if all(chosen.get(key) == filters[0][key] for chosen in filters)}
    short = [" ".join(value for key, value in chosen.items() if key not in shared) for chosen in filters]
    if all(short) and len(set(short)) == len(short):
        return short
    whole = [" ".join(chosen.values()) for chosen in filters]
    if len(set(whole)) == len(whole):
        return whole
    return [f"{text} ({'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[place % 26]})" for place, text in enumerate(whole)]


def _coverage(samples: Samples, a: Mask, b: Mask) -> Coverage:
    in_a, in_b = samples.attempted(a), samples.attempted(b)
    names = samples.task_names
    return Coverage(
        common=int((in_a & in_b).sum()),
        only_baseline=tuple(name for name, here, there in zip(names, in_a, in_b, strict=True) if here and not there),
        only_candidate=tuple(name for name, here, there in zip(names, in_a, in_b, strict=True) if there and not here),
    )


def page(answer: Comparison) -> Page:
    """Return one table per pair with a row per metric, and the tasks that differ."""
    first, *others = answer.pairs
    names = "candidates" if others else first.candidate.label
    sentence, *notes = (text for pair in answer.pairs for text in _headline(answer, pair))
    table, *also = (made for number, pair in enumerate(answer.pairs, 1) for made in _tables(answer, pair, number))
    swapped = (("baseline", first.candidate.choice), ("candidate", answer.baseline.choice))
    made = pages.Page(
        name="compare",
        title=f"{'Are' if others else 'Is'} {names} better than {answer.baseline.label}?",
        answer=sentence,
        notes=tuple(notes),
        refs=() if others else (pages.Ref("Swap baseline and candidate", "compare", swapped),),
        table=table,
        also=tuple(also),
        details=tuple(clean(text) for pair in answer.pairs for text in pair.sentences[1:]),
        facts=(
            (
                "interval method",
                pages.methods_of([each.difference for pair in answer.pairs for each in pair.metrics.values()]),
            ),
            ("correction", f"{answer.correction}, {counted(answer.comparisons, 'comparison')}"),
            *pages.drawn_facts(confidence=answer.confidence, resamples=answer.resamples, seed=answer.seed),
            *pages.counting_facts(answer),
        ),
    )
    return pages.with_figures(made, answer, ("differences", "flips", "dumbbells"))


def _headline(answer: Comparison, pair: Pair) -> tuple[str, str]:
    """Return the sentence of the first metric, and the number of shared and excluded tasks."""
    a, b, tasks = answer.baseline.label, pair.candidate.label, pair.tasks
    excluded = [f"{len(tasks.only_baseline):,} attempted only by {a}"] if tasks.only_baseline else []
    excluded += [f"{len(tasks.only_candidate):,} only by {b}"] if tasks.only_candidate else []
    rest = f" (excluded: {', '.join(excluded)})" if excluded else ""
    shared = f"{_both_sides(answer, pair)}: {counted(tasks.common, 'shared task')}{rest}."
    return clean(pair.sentences[0]), clean(shared)


def _tables(answer: Comparison, pair: Pair, number: int) -> Iterator[PageTable]:
    """Yield the metrics of a pair, and the tasks on which it differs."""
    sides = _both_sides(answer, pair)
    yield pages.PageTable(
        name="table" if number == 1 else f"table{number}",
        caption=f"{sides}, {pages.weighting(answer)}",
        columns=tuple(_metric_columns(answer, pair)),
    )
    if pair.differing_metric is not None:
        yield _differing_tasks(pair, pair.differing_metric, sides, name="tasks" if number == 1 else f"tasks{number}")
    others = [name for name in pair.metrics if name != pair.differing_metric]
    rows = [
        (catalog()[name].title, pair.metrics[name].unit, task)
        for name in others
        for task in (*pair.metrics[name].by_task.higher, *pair.metrics[name].by_task.lower)
    ]
    if rows:
        yield _tasks_of_metrics(rows, sides, name="task_values" if number == 1 else f"task_values{number}")


def _both_sides(answer: Comparison, pair: Pair) -> str:
    """Return both sides with their letters in the tables."""
    return f"{_lettered(pair.candidate.label, 'B')} vs. {_lettered(answer.baseline.label, 'A')}"


def _lettered(label: str, letter: str) -> str:
    return label if label.endswith(f"({letter})") else f"{label} ({letter})"


def _metric_columns(answer: Comparison, pair: Pair) -> Iterator[Column]:
    every = list(pair.metrics.values())
    yield pages.text_column("metric", "metric", [catalog()[name].title for name in pair.metrics])
    for name, title, values, bounds in (
        ("baseline_value", "A", [each.baseline for each in every], [each.lower_bounds.baseline for each in every]),
        ("candidate_value", "B", [each.candidate for each in every], [each.lower_bounds.candidate for each in every]),
    ):
        texts = [
            pages.DASH if value is None else at_least(quantity(value, each.unit), is_bound=bool(bound))
            for value, each, bound in zip(values, every, bounds, strict=True)
        ]
        yield pages.Column(name=name, title=title, values=values, decimals=6, texts=texts)
    ends = [each.printed for each in every]
    yield pages.Column(
        name="difference",
        title="B / A" if all(each.scale == "ratio" for each in every) else "B - A",
        values=[end.estimate for end in ends],
        decimals=6,
        texts=[
            pages.DASH if each.difference.estimate is None else _change_text(each, each.difference.estimate)
            for each in every
        ],
    )
    yield pages.Column(
        name="interval",
        title=("simultaneous " if any(each.simultaneous for each in every) else "") + interval_name(answer.confidence),
        values=[end.low for end in ends],
        decimals=6,
        texts=[
            pages.range_text(end.low, end.high, each.unit, end.mark, excludes_0=each.is_significant)
            if each.scale == "difference"
            else ratio_bounds(end.low, end.high)
            for end, each in zip(ends, every, strict=True)
        ],
        legend=pages.interval_legend(ends),
    )
    p_values = [each.test.adjusted_p_value for each in every]
    yield pages.Column(
        name="p",
        title="p" if answer.correction == "none" else f"p ({answer.correction})",
        values=p_values,
        decimals=6,
        texts=[p_value_cell(p_value) for p_value in p_values],
        spare=1,
    )
    deltas = [each.effect.cliffs_delta for each in every]
    yield replace(pages.number_column("cliffs_delta", "Cliff's δ", deltas, places=2, sign="+"), spare=3)
    yield replace(pages.count_column("tasks", "tasks", [each.tasks for each in every]), spare=2)
    verdicts = [each.verdict for each in every]
    styles = [VERDICT_STYLES.get(verdict) for verdict in verdicts]
    yield pages.Column(name="verdict", title="verdict", values=verdicts, styles=styles)


def _change_text(compared: MetricDifference, estimate: float) -> str:
    """Return a difference or a ratio as text."""
    if compared.scale == "ratio":
        return ratio_text(estimate)
    return difference_text(estimate, compared.unit, signed=True)


def _differing_tasks(pair: Pair, metric: str, sides: str, *, name: str) -> PageTable:
    """Return the tasks on which the metric differs; those that only one side solves first."""
    compared, declared = pair.metrics[metric], catalog()[metric]
    flips, unit = compared.flips, compared.unit
    tasks = [*compared.by_task.higher, *compared.by_task.lower]
    counts = f"{len(tasks):,} of {counted(compared.tasks, 'shared task')}"
    if flips is not None:
        flipped = _balanced(flips.gained, flips.lost)
        names = {each.task for each in flipped}
        tasks = [*flipped, *(each for each in tasks if each.task not in names)]
        counts = (
            f"{len(flips.gained):,} gained, {len(flips.lost):,} lost, {flips.both:,} solved by both, "
            f"{flips.neither:,} by neither (solved: at least half of the runs pass)"
        )
    columns = [
        pages.text_column("task", "task", [each.task for each in tasks]),
        pages.level_column("baseline", "A", [each.baseline for each in tasks], unit),
        pages.level_column("candidate", "B", [each.candidate for each in tasks], unit),
    ]
    if flips is not None:
        columns.append(pages.text_column("solved", "solved by", [_solvers(each) for each in tasks]))
    return pages.PageTable(
        name=name,
        caption=f"{declared.title} on tasks that differ, {sides}: {counts}",
        columns=tuple(columns),
        terminal_rows=TASKS_SHOWN,
    )


def _tasks_of_metrics(rows: Sequence[tuple[str, str, TaskValues]], sides: str, *, name: str) -> PageTable:
    """Return the tasks on which the other metrics differ: the title of the metric, its unit and the values."""
    metrics, units, tasks = zip(*rows, strict=True)
    columns = [
        pages.text_column("metric", "metric", metrics),
        pages.text_column("task", "task", [each.task for each in tasks]),
    ]
    for place, title, values in (
        ("baseline", "A", [each.baseline for each in tasks]),
        ("candidate", "B", [each.candidate for each in tasks]),
    ):
        texts = [quantity(value, unit) for value, unit in zip(values, units, strict=True)]
        columns.append(pages.Column(name=place, title=title, values=values, decimals=6, texts=texts))
    return pages.PageTable(
        name=name,
        caption=f"Other metrics on tasks that differ, {sides}",
        columns=tuple(columns),
        is_folded=True,
    )


def _balanced(gained: Sequence[TaskValues], lost: Sequence[TaskValues]) -> list[TaskValues]:
    """Return gained and lost tasks so that a terminal, which shows the first ones, shows both."""
    half = TASKS_SHOWN // 2
    some = max(half, TASKS_SHOWN - len(lost))
    fewer = max(half, TASKS_SHOWN - len(gained))
    return [*gained[:some], *lost[:fewer], *gained[some:], *lost[fewer:]]


def _solvers(task: TaskValues) -> str:
    words = {(True, True): "both", (True, False): "only A", (False, True): "only B", (False, False): "neither"}
    return words[task.baseline >= SOLVED_FROM, task.candidate >= SOLVED_FROM]
