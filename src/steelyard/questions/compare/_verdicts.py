"""Verdicts of comparisons and the sentences that report them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from steelyard.errors import UsageError
from steelyard.formatting import (
    bounds_text,
    counted,
    decimal,
    decimal_bounds,
    difference_text,
    interval_name,
    p_value,
    p_value_cell,
    percent,
    quantity,
    ratio_bounds,
    ratio_text,
    versus,
)
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.questions.analysis import (
    DEPENDS_ON_CLUSTERS,
    DEPENDS_ON_UNSCORED,
    EFFECT_OF_INTEREST,
    NO_COMMON_TASK,
    Difference,
    StatisticsOptions,
    for_margin,
    reach_of,
)
from steelyard.statistics import (
    POWER,
    SEED,
    DifferenceTest,
    Equivalence,
    Interval,
    SampleSize,
    TippingPoint,
    benjamini_hochberg,
    equivalence_test,
    holm,
    minimum_effect_from_data,
    sample_size_from_data,
    simultaneous_limits,
    tipping_point,
)

if TYPE_CHECKING:
    from steelyard.questions.compare._answer import Correction, Verdict

PHRASES: dict[str, tuple[str, str, str]] = {
    "pass_rate": ("passes {size} more than", "passes {size} less than", "passes exactly as often as"),
    "cost_usd": ("costs {size} more than", "costs {size} less than", "costs exactly as much as"),
    "duration_seconds": ("takes {size} longer than", "takes {size} less than", "takes exactly as long as"),
}
"""Phrases for common metrics: more, less, equal."""


CLAIMS: frozenset[Verdict] = frozenset({"better", "worse", "differs"})
"""Verdicts that claim a difference."""

INCONCLUSIVE: Verdict = "inconclusive"


@dataclass(frozen=True, slots=True)
class VerdictSettings:
    """What the verdicts of a comparison depend on, next to the differences."""

    level: float
    comparisons: int
    """Tests that p-values are corrected for; 1 without correction."""
    correction: Correction
    unscored: str
    """Policy for runs without a verdict."""
    is_typed: bool
    """Whether the user chose that policy, so that a claim needs to hold under it only."""
    effect_size: float | None = None
    """Difference to plan for; None for the effect of interest, if a result is inconclusive."""
    margin: float | None = None
    """Equivalence margin of the first metric."""
    seed: int = SEED
    planned_tasks: int | None = None
    """Tasks planned for a sequential test; None for a fixed sample."""

    @property
    def single_level(self) -> float:
        """Confidence level of one of several comparisons (Bonferroni)."""
        return 1 - (1 - self.level) / max(self.comparisons, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDifference:
    """A difference with its verdict."""

    difference: Difference
    adjusted_p: float | None
    verdict: Verdict
    sentence: str
    simultaneous: Interval | None
    """Interval that holds together with those of the other comparisons; None for a single one."""
    sample_size: SampleSize | None = None
    """Tasks needed to detect the effect asked for, or the effect of interest."""
    minimum_effect: float | None = None
    equivalence: Equivalence | None = None
    tipping: TippingPoint | None = None
    """Unscored runs that undo the claim; None if there is no claim or none of them can."""

    @property
    def printed(self) -> Interval:
        """The interval in the sentence."""
        return self.simultaneous or self.difference.interval


def simultaneous_intervals(differences: Sequence[Difference], judging: VerdictSettings) -> list[Interval | None]:
    """Return the interval of each difference that agrees with its corrected p-value; None where that is its own.

    Holm: `simultaneous_limits`. Benjamini-Hochberg: with R of m found, limits at level 1 - alpha R / m keep the false
    coverage rate of those found at alpha (Benjamini and Yekutieli 2005).
    """
    found: list[Interval | None] = [None] * len(differences)
    places = [place for place, each in enumerate(differences) if each.paired is not None]
    if judging.correction == "none" or len(places) < 2:
        return found
    tests = [test for place in places if (test := differences[place].paired) is not None]
    p_values = [test.p_value for test in tests]
    if judging.correction == "holm":
        limits = simultaneous_limits([test.limits for test in tests], p_values, level=judging.level)
    else:
        alpha = 1 - judging.level
        rejected = benjamini_hochberg(p_values) <= alpha
        limits = [
            test.limits(1 - alpha * max(int(rejected.sum()), 1) / len(tests) if is_found else 1 - alpha / len(tests))
            for test, is_found in zip(tests, rejected, strict=True)
        ]
    for place, (low, high) in zip(places, limits, strict=True):
        own = differences[place].interval
        if own.low is None or own.high is None:
            continue
        span = reach_of(differences[place])
        found[place] = structs.replace(own, low=max(low, -span), high=min(high, span))
    return found


def adjusted_p_values(differences: Sequence[Difference], correction: Correction) -> list[float | None]:
    """Each test's p-value, corrected for how many there are; None where a test has none."""
    known = [
        (place, difference.test.p_value)
        for place, difference in enumerate(differences)
        if difference.test.p_value is not None
    ]
    values = [p_value for _, p_value in known]
    if correction == "holm":
        values = holm(values).tolist()
    elif correction == "bh":
        values = benjamini_hochberg(values).tolist()
    adjusted: list[float | None] = [None] * len(differences)
    for (place, _), corrected in zip(known, values, strict=True):
        adjusted[place] = corrected
    return adjusted


def judge(
    difference: Difference,
    *,
    a: str,
    b: str,
    adjusted: float | None,
    simultaneous: Interval | None,
    alone: str,
    otherwise: tuple[Difference, Verdict] | None,
    judging: VerdictSettings,
    is_first: bool,
) -> JudgedDifference:
    """Return the verdict and the sentence of one difference, and what it would take to detect one of a size asked for.

    `otherwise` is the difference and the verdict if runs without a verdict of their own were counted the other way than
    the policy does; where the two disagree, the verdict is inconclusive.
    """
    concluded = verdict(difference, adjusted)
    rests = concluded in CLAIMS and otherwise is not None and not judging.is_typed and concluded != otherwise[1]
    equivalence = None
    if is_first and judging.margin is not None and difference.paired is not None:
        equivalence = _equivalence(difference, judging)
        concluded = _with_margin(concluded, equivalence)
        if otherwise is not None and not judging.is_typed and concluded in ("equivalent", "non-inferior"):
            other = otherwise[0]
            same = other.paired is not None and _with_margin(otherwise[1], _equivalence(other, judging))
            rests = same != concluded
    unfilled = difference.unfilled
    if concluded == INCONCLUSIVE and unfilled is not None:
        rests = unfilled.p_value <= 1 - judging.single_level
    if rests:
        concluded = INCONCLUSIVE
    tipping = _tipping(difference, concluded, judging.level)
    wanted, minimum = _planned(difference, concluded, judging)
    made = JudgedDifference(
        difference=difference,
        adjusted_p=adjusted,
        verdict=concluded,
        sentence="",
        simultaneous=simultaneous,
        sample_size=wanted,
        minimum_effect=minimum,
        equivalence=equivalence,
        tipping=tipping,
    )
    text = sentence(made, a=a, b=b, judging=judging, alone=alone, rests=rests)
    if otherwise is not None:
        text += otherwise_text(difference, otherwise[0], judging.unscored)
    return replace(made, sentence=text)


def _equivalence(difference: Difference, judging: VerdictSettings) -> Equivalence:
    judged = for_margin(difference, StatisticsOptions(level=judging.level)).paired
    assert judged is not None
    assert judging.margin is not None
    better = catalog()[difference.metric].better
    limits, level = judged.limits, judging.level
    margin = _distance(difference.metric, judging.margin)
    both = equivalence_test(limits, margin, level=level)
    if both.verdict == "equivalent" or better == "neither":
        return both
    one = equivalence_test(limits, margin, side="above" if better == "higher" else "below", level=level)
    return one if one.verdict == "non-inferior" else both


def _distance(metric: str, size: float) -> float:
    """Return a difference of this size on the scale of the test: of geometric means, 0.05 is 5%."""
    return math.log1p(size) if catalog()[metric].is_geometric else size


def _with_margin(concluded: Verdict, equivalence: Equivalence) -> Verdict:
    """Return the verdict with a margin: equivalence first, then a difference, then non-inferiority."""
    if equivalence.verdict == "equivalent":
        return "equivalent"
    return "non-inferior" if concluded == INCONCLUSIVE and equivalence.verdict == "non-inferior" else concluded


def _tipping(difference: Difference, concluded: Verdict, level: float) -> TippingPoint | None:
    value, filled = difference.value, difference.filled
    if filled is None or concluded not in CLAIMS or not value:
        return None
    low, high = catalog()[difference.metric].bounds
    return tipping_point(filled, "higher" if value > 0 else "lower", span=high - low, level=level)


def _planned(
    difference: Difference, concluded: Verdict, judging: VerdictSettings
) -> tuple[SampleSize | None, float | None]:
    """Return the sample size and the minimum detectable effect; only if asked for, or for an inconclusive result."""
    if judging.planned_tasks is not None:
        return None, None
    gaps, metric = difference.gaps, catalog()[difference.metric]
    effect = None if judging.effect_size is None else abs(judging.effect_size)
    if effect is None:
        if concluded != INCONCLUSIVE or not metric.is_fraction:
            return None, None
        effect = EFFECT_OF_INTEREST
    effect = _distance(metric.name, effect)
    span = metric.bounds[1] - metric.bounds[0]
    if gaps is None or not np.isfinite(gaps).all() or difference.clustered is not None:
        return None, None  # over clusters, tasks alone do not decide
    if not math.isfinite(span):
        span = 1e3 * max(float(np.abs(gaps).max(initial=0.0)), effect)
    if effect >= span:
        raise UsageError(
            f"{option('effect_size')} must be below {span:g}, the range of {metric.name} (got {effect:g})",
            hint=option("effect_size", 0.05),
        )
    quantum, level, seed = difference.quantum, judging.single_level, judging.seed
    minimum = minimum_effect_from_data(gaps, quantum=quantum, span=span, level=level, seed=seed)
    if minimum is not None and difference.baseline is not None:
        largest = max(abs(bound - difference.baseline) for bound in metric.bounds)
        minimum = minimum if minimum <= largest else None
    return sample_size_from_data(gaps, effect, quantum=quantum, span=span, level=level, seed=seed), minimum


def verdict(difference: Difference, adjusted: float | None) -> Verdict:
    """Return the verdict: better or worse if the corrected p-value, which inverts the interval, excludes 0."""
    value = difference.value
    if value is None or (adjusted is None and value != 0):
        return "unknown"
    if value == 0:
        return "no difference"
    if not difference.interval.known:
        return "unknown"
    if adjusted is None or adjusted > 1 - difference.interval.confidence:
        return INCONCLUSIVE
    better = catalog()[difference.metric].better
    if better == "neither":
        return "differs"
    return "better" if (value > 0) == (better == "higher") else "worse"


def sentence(
    judged: JudgedDifference, *, a: str, b: str, judging: VerdictSettings, alone: str, rests: bool = False
) -> str:
    """Return the sentence for one metric: estimate, interval, verdict and required sample size.

    `alone`: what to compare to make this comparison only. `rests`: the verdict depends on how runs without a verdict
    are counted.
    """
    difference, interval = judged.difference, judged.printed
    declared, value = catalog()[difference.metric], difference.value
    if value is None or difference.baseline is None or difference.candidate is None:
        reason = difference.interval.reason or difference.test.reason or "no value"
        if reason == NO_COMMON_TASK:
            return f"Cannot compare {b} with {a}: {reason}."
        return f"{declared.title}: cannot compare {b} with {a}: {reason}."
    details = []
    if value != 0:
        is_mean = not declared.is_ratio and not declared.is_geometric and math.isinf(declared.bounds[1])
        mean = "mean " if is_mean else ""
        details.append(f"{mean}{versus(difference.candidate, difference.baseline, declared.unit)}")
    is_known = interval.low is not None and interval.high is not None
    if is_known:
        ends = _bounds(difference.metric, interval.low, interval.high, excludes_0=judged.verdict in CLAIMS)
        limits = f"{interval_name(interval.confidence)} {ends}"
        limits = f"simultaneous {limits}" if judged.simultaneous is not None else limits
        details.append(f"{limits}, {interval.label}" if interval.label else limits)
    head = f"{_head(difference, a, b)} on {counted(difference.tasks, 'shared task')}"
    head += f" ({'; '.join(details)})" if details else ""
    if not is_known:
        return f"{head}: {_no_range(difference)}."
    ending = _ending(judged, a=a, b=b)
    if rests:
        ending = f"{INCONCLUSIVE}; {DEPENDS_ON_UNSCORED}"
    elif judged.verdict == INCONCLUSIVE and difference.unclustered is not None:
        ending = _cluster_ending(difference, difference.unclustered, judging, ending)
    text = f"{head}: {ending}."
    text += _margin_text(judged, judging)
    text += _sequential_text(difference, judging.planned_tasks)
    text += _remedy(judged, judging=judging, alone=alone)
    return f"{text}{_typical(difference)}{_about_missing(judged, a=a, b=b)}"


def _bounds(metric: str, low: float | None, high: float | None, *, bare: bool = True, excludes_0: bool = False) -> str:
    """Return the bounds of a difference, or of a ratio of geometric means."""
    declared = catalog()[metric]
    if declared.is_geometric and low is not None and high is not None:
        return ratio_bounds(math.exp(low), math.exp(high))
    return bounds_text(low, high, declared.unit, bare=bare, of_difference=True, excludes_0=excludes_0)


def _size(metric: str, size: float) -> str:
    """Return the size of a difference; of geometric means, on the scale of logarithms, a percentage."""
    declared = catalog()[metric]
    return percent(math.expm1(size)) if declared.is_geometric else difference_text(size, declared.unit)


def _cluster_ending(difference: Difference, over_tasks: DifferenceTest, judging: VerdictSettings, ending: str) -> str:
    """Return what decides if tasks alone show a difference and clusters do not: both intervals."""
    if over_tasks.p_value > 1 - judging.single_level or difference.clustered is None:
        return ending
    parts = []
    for name, test in (("tasks", over_tasks), ("clusters", difference.clustered)):
        low, high = test.limits(judging.level)
        reach = reach_of(difference)
        limits = _bounds(difference.metric, max(low, -reach), min(high, reach), bare=False)
        parts.append(f"{interval_name(judging.level)} over {name} {limits}")
    return f"{INCONCLUSIVE}; {DEPENDS_ON_CLUSTERS} ({'; '.join(parts)})"


def _margin_text(judged: JudgedDifference, judging: VerdictSettings) -> str:
    """Return the interval that equivalence is judged by."""
    found = judged.equivalence
    if found is None or judging.margin is None:
        return ""
    metric = judged.difference.metric
    ends = f"{interval_name(found.confidence)} {_bounds(metric, found.low, found.high)}"
    margin = _size(metric, _distance(metric, judging.margin))
    return f" Margin {margin}: {found.verdict} ({ends}, {p_value(found.p_value)})."


def _sequential_text(difference: Difference, planned: int | None) -> str:
    """Return how far a sequential test is, and whether it has decided."""
    if planned is None or difference.paired is None:
        return ""
    decided = difference.paired.decided_at
    if decided is not None:
        return f" Decided after {counted(decided, 'task')} of {planned:,} planned; you can stop."
    if difference.tasks < planned:
        return f" {difference.tasks:,} of {counted(planned, 'planned task')} completed; not decided yet."
    return f" All {counted(planned, 'planned task')} completed without a decision."


def _typical(difference: Difference) -> str:
    """The ratio of geometric means, where the interval for the difference falls short of its level."""
    ratio = difference.geometric_ratio
    if not difference.interval.label or ratio is None or ratio.low is None or ratio.high is None:
        return ""
    bounds = f"{interval_name(ratio.confidence)} {decimal_bounds(ratio.low, ratio.high)}"
    return f" Ratio of geometric means: {decimal(ratio.estimate)} ({bounds})."


def _head(difference: Difference, a: str, b: str) -> str:
    declared = catalog()[difference.metric]
    value = difference.value or 0.0
    size = difference_text(abs(value), declared.unit)
    if difference.metric in PHRASES:
        more, less, same = PHRASES[difference.metric]
        words = same if value == 0 else (more if value > 0 else less).format(size=size)
        return f"{b} {words} {a}"
    title = declared.title[0].lower() + declared.title[1:]
    if value == 0:
        return f"{b} has exactly the same {title} as {a}"
    if declared.is_geometric:
        return f"{b} has a {title} {ratio_text(math.exp(value))} that of {a}"
    article = "an" if title[0] in "aeiou" else "a"
    return f"{b} has {article} {title} {size} {'higher' if value > 0 else 'lower'} than {a}"


def _no_range(difference: Difference) -> str:
    if difference.value == 0:
        return "no difference"
    return f"significance unknown ({difference.interval.reason})"


CLAIM_WORDS: dict[str, tuple[str, str]] = {"USD": ("cheaper", "more expensive"), "s": ("faster", "slower")}
"""Words for better and worse by unit."""


def _ending(judged: JudgedDifference, *, a: str, b: str) -> str:
    difference, concluded = judged.difference, judged.verdict
    words = CLAIM_WORDS.get(catalog()[difference.metric].unit, ("better", "worse"))
    match concluded:
        case "better" | "worse":
            return f"{b} is {words[concluded == 'worse']}"
        case "differs":
            return "the difference is significant"
        case "equivalent":
            return f"{b} and {a} are equivalent"
        case "non-inferior":
            return f"{b} is non-inferior"
        case "no difference":
            return "no difference"
        case _ if judged.adjusted_p is not None and _is_corrected_away(judged):
            test = difference.test.p_value or 0
            return f"{INCONCLUSIVE} ({p_value(test)}, corrected {p_value_cell(judged.adjusted_p)})"
        case _:
            return INCONCLUSIVE


def _remedy(judged: JudgedDifference, *, judging: VerdictSettings, alone: str) -> str:
    """The sample size for an effect, and the effect that this sample size can detect."""
    text = ""
    if judged.sample_size is not None:
        text = sample_size_text(judged.difference, judged.sample_size)
    if judged.minimum_effect is not None:
        effect = _size(judged.difference.metric, judged.minimum_effect)
        text += f" Minimum detectable effect: {effect} ({percent(POWER, decimals=0)} power)."
    if judged.verdict == INCONCLUSIVE and _is_corrected_away(judged):
        text += (
            f" Corrected for {judging.comparisons} comparisons; if only this one was planned, compare {alone} alone."
        )
    return text


def _is_corrected_away(judged: JudgedDifference) -> bool:
    """Whether the difference is significant before the multiple-comparison correction only."""
    p_value, interval = judged.difference.test.p_value, judged.difference.interval
    corrected = judged.adjusted_p != p_value
    return corrected and p_value is not None and p_value <= 1 - interval.confidence and interval.excludes(0.0)


def _range_text(needed: SampleSize) -> str:
    assert needed.low is not None
    if needed.high is None:
        return f"at least {counted(needed.low, 'task')}"
    if needed.high == needed.low:
        return counted(needed.low, "task")
    return f"{needed.low:,} to {counted(needed.high, 'task')}"


def sample_size_text(difference: Difference, needed: SampleSize) -> str:
    """Return the sentence with the sample size for an effect size."""
    effect = _size(difference.metric, needed.effect)
    if needed.tasks is None:
        return f" The sample size needed to detect {effect} is unknown ({needed.reason})."
    return f" {_range_text(needed).capitalize()} needed to detect {effect} ({percent(POWER, decimals=0)} power)."


def _about_missing(judged: JudgedDifference, *, a: str, b: str) -> str:
    difference = judged.difference
    if difference.bounds is None:
        return ""
    unit = catalog()[difference.metric].unit
    ends = bounds_text(difference.bounds.low, difference.bounds.high, unit, of_difference=True)
    sides = ", ".join(f"{name} {count:,}" for count, name in zip(difference.missing, (a, b), strict=True) if count)
    total = sum(difference.missing)
    runs = "1 run has" if total == 1 else f"{total:,} runs have"
    is_verdict = difference.metric == "pass_rate"
    what = "verdict" if is_verdict else "value"
    text = f" {runs} no {what} ({sides}); worst-case bounds of the difference: {ends}."
    if judged.verdict not in CLAIMS or not is_verdict:
        return text
    if judged.tipping is None:
        return f"{text} The verdict does not depend on them."
    return f"{text} {_tipping_text(judged, judged.tipping, a=a, b=b)}"


def _tipping_text(judged: JudgedDifference, tipping: TippingPoint, *, a: str, b: str) -> str:
    """Return what verdicts of the unscored runs would undo the claim."""
    is_higher = (judged.difference.value or 0) > 0
    words = ("passed", "failed") if is_higher else ("failed", "passed")
    parts = [
        f"{count:,} of {missing:,} unscored runs of {name} {word}"
        for name, count, missing, word in zip(
            (a, b), (tipping.a, tipping.b), judged.difference.missing, words, strict=True
        )
        if count
    ]
    if not parts:
        return "The verdict depends on excluding them."
    return f"Inconclusive if {' and '.join(parts)}."


def otherwise_text(difference: Difference, other: Difference, unscored: str) -> str:
    """Return both values with runs without a verdict counted the other way, if they differ."""
    unit = catalog()[difference.metric].unit
    sides, others = (
        ["unknown" if side is None else quantity(side, unit) for side in (each.candidate, each.baseline)]
        for each in (difference, other)
    )
    if sides == others:
        return ""
    way = "counted as failed" if unscored == "exclude" else "excluded"
    return f" With runs without a verdict {way}: {others[0]} vs. {others[1]}."
