"""Compare configurations on shared tasks, with one sentence per metric."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.questions._figure_options import CompareOptions
from steelyard.questions._measured_tables import open_table, usual_metrics
from steelyard.questions._opening_runs import Measurable
from steelyard.questions._question import question
from steelyard.questions._tiers import compared_schemes
from steelyard.records import Chosen, Finding, set_aside_findings, tier_text
from steelyard.results import ComparedSide, Comparison, Coverage, Pair

if TYPE_CHECKING:
    from steelyard.questions.analysis import Key, Mask, Samples, StatisticsOptions
    from steelyard.results import Difference
    from steelyard.statistics import Ints
    from steelyard.tables import RunTable

FEW_TASKS = 10


@question(CompareOptions)
def compare(runs: Measurable, options: CompareOptions) -> Comparison:
    """Compare candidates with a baseline on the tasks they share.

    `baseline` and `candidate` select runs: `"agent=X,model=Y"`, or a dict of the same.

    >>> import steelyard as sy
    >>> compared = sy.compare(sy.demo_runs(), baseline="tier=T0", candidate="tier=T2", metrics=["pass_rate"])
    >>> compared.pairs[0].metrics[0].verdict
    'better'
    """
    from steelyard.questions.analysis import (  # brings numpy and scipy
        chosen_rows,
        comparable,
        counted_otherwise,
        samples_of,
    )

    profile, judging = options.outcome_profile(), options.statistics(options.interval)
    usual = usual_metrics(runs) or [metric.name for metric in catalog().overview() if metric.is_estimate]
    names = comparable(options.metrics or usual)
    if options.effect_size is not None and not 0 < abs(options.effect_size) < math.inf:
        raise UsageError(
            f"{option('effect_size')} must be finite and not 0 (got {options.effect_size:g})",
            hint=option("effect_size", 0.05),
        )
    filters = _filters(
        options.baseline, [options.candidate] if isinstance(options.candidate, (str, Mapping)) else options.candidate
    )
    table = open_table(runs, names, options, keys=[key for chosen in filters for key in chosen])
    samples = samples_of(table, names, profile=profile, weight_by=options.weight_by)
    masks = [
        chosen_rows(table, chosen, where=option("candidate" if place else "baseline"))
        for place, chosen in enumerate(filters)
    ]
    sides, scheme_findings = _sides(table, samples, filters, masks)
    differences = _differences(samples, masks, [names] * (len(masks) - 1), judging)
    if not options.metrics:  # skip default metrics that no run has
        differences = [[cell for cell in row if cell.tasks] or row for row in differences]
    compared = {cell.metric for row in differences for cell in row}
    otherwise = counted_otherwise(table, samples, names)
    if otherwise is None:
        others = differences
    else:
        others = _differences(otherwise, masks, [[cell.metric for cell in row] for row in differences], judging)
    pairs, tests = _judged(samples, sides, masks, differences, others, options)
    return Comparison(
        baseline=sides[0],
        pairs=pairs,
        level=judging.level,
        seed=judging.seed,
        resamples=judging.resamples,
        correction=options.correction,
        comparisons=tests,
        profile=profile.name,
        findings=(
            *table_findings(table, reduce(or_, masks)),
            *scheme_findings,
            *_pooling(table, sides, masks),
            *_no_verdicts(names, compared),
            *_doubts(sides, masks, pairs, judging),
            *_outlier_dominated_means(table, samples, sides, masks, pairs),
            *_sides_skews(table, samples, sides, masks, names),
        ),
        rejected_count=table.rejected_count,
        weight_by=options.weight_by,
        unscored=profile.unscored,
    )


def _filters(a: Chosen, others: Sequence[Chosen]) -> list[dict[str, str]]:
    """Return the filters of the baseline and each candidate; duplicates would count as two comparisons."""
    from steelyard.questions.analysis import read_filter  # brings numpy and Polars

    if not others:
        raise UsageError("no candidate to compare", hint=option("candidate", "agent=NAME,model=NAME"))
    filters = [read_filter(text, option=option("candidate")) for text in others]
    for place, text in enumerate(others):
        if filters[place] in filters[:place]:
            raise UsageError(f"{option('candidate', text)} is given twice")
    return [read_filter(a, option=option("baseline")), *filters]


def _sides(
    table: RunTable, samples: Samples, filters: Sequence[dict[str, str]], masks: Sequence[Mask]
) -> tuple[list[ComparedSide], list[Finding]]:
    """Return the labeled sides, and findings about their tier schemes."""
    by_side = list(zip(filters, masks, strict=True))
    schemes = [table.tier_schemes(mask) if "tier" in chosen else [] for chosen, mask in by_side]
    findings = compared_schemes(zip(filters, schemes, strict=True))
    labels = _labels([_with_names(chosen, own) for chosen, own in zip(filters, schemes, strict=True)])
    sides = [
        ComparedSide(label, chosen, int(mask.sum()), int(samples.attempted(mask).sum()), next(iter(own), None))
        for label, (chosen, mask), own in zip(labels, by_side, schemes, strict=True)
    ]
    return sides, findings


def _differences(
    samples: Samples, masks: Sequence[Mask], metrics: Sequence[Sequence[str]], judging: StatisticsOptions
) -> list[list[Difference]]:
    """Return the differences of each candidate from the baseline."""
    from steelyard.questions.analysis import difference  # brings numpy and scipy

    return [
        [difference(samples, masks[0], mask, name, options=judging) for name in names]
        for mask, names in zip(masks[1:], metrics, strict=True)
    ]


def _outlier_dominated_means(
    table: RunTable, samples: Samples, sides: Sequence[ComparedSide], masks: Sequence[Mask], pairs: Sequence[Pair]
) -> list[Finding]:
    from steelyard.questions.analysis import outlier_dominated_mean  # brings numpy and Polars

    found = (
        outlier_dominated_mean(
            table, samples, judged.difference, rows=(masks[0], mask), labels=(sides[0].label, pair.candidate.label)
        )
        for mask, pair in zip(masks[1:], pairs, strict=True)
        for judged in pair.metrics
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
    from steelyard.engines import Labeled, engine_of, skewed_groups  # with the next it brings numpy and scipy
    from steelyard.questions.analysis import weights_differ

    def texts(key: Key) -> tuple[str | None, ...]:
        return tuple(None if value is None else str(value) for value in key)

    place_of = {texts(key): place for place, key in enumerate(keys)}
    labeled = Labeled(by, lambda key: place_of.get(texts(key)), labels)
    engine = engine_of(table, samples.profile)
    return [*weights_differ(samples, metrics, groups, labels), *skewed_groups(engine, metrics, labeled)]


def _judged(
    samples: Samples,
    sides: Sequence[ComparedSide],
    masks: Sequence[Mask],
    differences: Sequence[Sequence[Difference]],
    others: Sequence[Sequence[Difference]],
    options: CompareOptions,
) -> tuple[tuple[Pair, ...], int]:
    """The pairs with their verdicts, and how many tests those account for.

    `others` are the differences with runs without a verdict counted the other way.
    """
    from steelyard.questions.analysis import adjusted_p_values, judge, verdict  # brings numpy and scipy

    correction = options.correction
    flat, flat_others = ([difference for row in rows for difference in row] for rows in (differences, others))
    adjusted = iter(adjusted_p_values(flat, correction))
    otherwise = iter(
        (difference, verdict(difference, p_value))
        for difference, p_value in zip(flat_others, adjusted_p_values(flat_others, correction), strict=True)
    )
    tests = max(1, sum(difference.test.p_value is not None for difference in flat))
    counted = 1 if correction == "none" else tests
    label = sides[0].label
    return tuple(
        Pair(
            side,
            _coverage(samples, masks[0], mask),
            tuple(
                judge(
                    difference,
                    a=label,
                    b=side.label,
                    adjusted=next(adjusted),
                    comparisons=counted,
                    alone=_alone(difference.metric, side, metrics=len(row), sides=len(differences)),
                    otherwise=next(otherwise),
                    unscored=samples.profile.unscored,
                    effect_size=options.effect_size,
                )
                for difference in row
            ),
        )
        for side, mask, row in zip(sides[1:], masks[1:], differences, strict=True)
    ), tests


def _alone(metric: str, b: ComparedSide, *, metrics: int, sides: int) -> str:
    """The options that leave this comparison only."""
    chosen = [f"--metrics {metric}"] if metrics > 1 else []
    return " ".join([*chosen, f"--candidate {b.choice}"] if sides > 1 else chosen)


def _pooling(table: RunTable, sides: Sequence[ComparedSide], masks: Sequence[Mask]) -> list[Finding]:
    from steelyard.questions.analysis import pooled  # brings numpy and Polars

    findings = []
    for side, mask in zip(sides, masks, strict=True):
        mixed = pooled(table, mask, side.chosen)
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
        judged.difference.metric: judged.difference.interval.method
        for pair in pairs
        for judged in pair.metrics
        if asked not in ("auto", judged.difference.interval.method)
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
    """Pairs whose tasks are so few that intervals rest on the shape of the data."""
    return [
        Finding(
            code="few_tasks",
            severity="info",
            message=f"{counted(pair.coverage.common, 'shared task')}; intervals are unreliable below {FEW_TASKS}",
            where=pair.candidate.label,
        )
        for pair in pairs
        if pair.coverage.common < FEW_TASKS
    ]


def table_findings(table: RunTable, rows: Mask | None = None) -> list[Finding]:
    """What was found while reading, with the records that were rejected; of costs only what concerns the rows."""
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
