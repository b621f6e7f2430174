"""Gate rules: how they are written, their status on the data, and the sample size that resolves them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from msgspec import structs

from steelyard.errors import UnknownNameError, UsageError
from steelyard.formatting import (
    bounds_text,
    counted,
    difference_text,
    exact_percent,
    interval_name,
    percent,
    quantity,
    ratio_bounds,
    ratio_text,
)
from steelyard.metrics import Metric, catalog, is_custom_metric
from steelyard.option_names import option
from steelyard.questions.analysis import (
    DEPENDS_ON_UNSCORED,
    EFFECT_OF_INTEREST,
    FEW_DIFFER,
    Mask,
    Samples,
    StatisticsOptions,
    as_ratio,
    difference,
    exponential,
    for_margin,
    linearized,
    over_clusters,
    ratio_part_names,
    scores_of,
    why_no_logarithm,
    with_fills,
)
from steelyard.questions.gate._answer import GateStatus
from steelyard.records import Missing
from steelyard.statistics import (
    MAX_UNSCORED,
    POWER,
    Floats,
    Interval,
    SensitivityBounds,
    bounded_mean,
    clopper_pearson,
    no_interval,
    paired_mean,
    sample_size_from_data,
)
from steelyard.suggestions import nearest

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_RULE = re.compile(r"^\s*(?P<metric>[^<>=!≤≥]*?)\s*(?P<sign>[<>=!≤≥]+)\s*(?P<limit>.*?)\s*$")
_LIMIT = re.compile(
    rf"^(?P<baseline>baseline)?\s*(?:\*\s*(?P<factor>{_NUMBER}))?\s*"
    rf"(?:(?P<move>[+-])?\s*(?P<number>{_NUMBER})\s*(?P<percent>%)?)?$"
)
RULE_FORMS = f'{option("rule")} "pass_rate >= 0.45", "pass_rate >= baseline - 0.02" or "cost_usd <= baseline * 1.1"'
"""Each kind of rule once, for hints."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Limit on a metric: `factor` times the baseline, plus `offset`."""

    text: str
    metric: str
    at_least: bool
    """Whether the limit is a lower bound (>=) or an upper bound (<=)."""
    factor: float
    """Factor of the baseline; 0 if the rule does not refer to it."""
    offset: float
    """Added to the baseline; without a baseline, the limit itself."""

    @property
    def relative(self) -> bool:
        """Whether the rule refers to the baseline."""
        return self.factor != 0


def read_rule(text: str) -> Rule:
    """The rule in `pass_rate >= 0.45`, `pass_rate >= baseline - 0.02` or `cost_usd <= baseline * 1.1`.

    A signed number alone is a move from the baseline, as in 0.1: `pass_rate >= -0.02`, `cost_usd <= +10%`.
    """
    rule = _RULE.match(text)
    if rule is None:
        raise _no_rule(text, "missing >= or <=")
    if rule["sign"] not in (">=", "<="):
        likely = {">": ">=", "≥": ">=", "=>": ">=", "<": "<=", "≤": "<=", "=<": "<="}.get(rule["sign"], ">= or <=")
        raise _no_rule(text, f"write {likely} instead of {rule['sign']}")
    limit = _LIMIT.match(rule["limit"])
    if not rule["limit"]:
        raise _no_rule(text, f"no limit after {rule['sign']}")
    if limit is None or not _is_limit(limit):
        raise _no_rule(text, f"{rule['limit']!r} is neither a number nor a baseline expression")
    if not rule["metric"]:
        raise _no_rule(text, f"no metric before {rule['sign']}")
    declared = _declared(rule)
    factor, offset = _read_limit(text, declared, limit)
    read = Rule(" ".join(text.split()), declared.name, rule["sign"] == ">=", factor=factor, offset=offset)
    (_check_move if factor else _check_level)(read, declared)
    return read


def _no_rule(text: str, reason: str) -> UsageError:
    return UsageError(f"invalid rule {text!r}: {reason}", hint=RULE_FORMS)


def _declared(rule: re.Match[str]) -> Metric:
    """The metric of the rule; for an unknown metric, the error suggests a rule."""
    try:
        known = catalog().named(rule["metric"], geometric=True)
        return catalog()[rule["metric"] if is_custom_metric(known) and nearest(rule["metric"], catalog()) else known]
    except UnknownNameError as unknown:
        if unknown.nearest is not None:
            meant = f"{unknown.nearest} {rule['sign']} {rule['limit']}"
            try:
                read_rule(meant)
                unknown.hint = f'did you mean "{meant}"?'
            except UsageError as wrong:
                unknown.hint = f"{unknown.hint} {wrong.hint}"
        raise


def rule_text(rule: Rule) -> str:
    """The rule as it would be written.

    >>> rule_text(read_rule("pass_rate >= -0.02"))
    'pass_rate >= baseline - 0.02'
    """
    factor = "" if rule.factor in (0, 1) else f" * {rule.factor:g}"
    offset = f" {'-' if rule.offset < 0 else '+'} {abs(rule.offset):g}" if rule.offset else ""
    limit = f"baseline{factor}{offset}" if rule.relative else f"{rule.offset:g}"
    return f"{rule.metric} {'>=' if rule.at_least else '<='} {limit}"


def _is_limit(limit: re.Match[str]) -> bool:
    """Whether the parts fit together: a factor needs the baseline, and what is added to it needs its sign."""
    if limit["baseline"]:
        return limit["number"] is None or limit["move"] is not None
    return limit["factor"] is None and limit["number"] is not None


def _read_limit(text: str, declared: Metric, limit: re.Match[str]) -> tuple[float, float]:
    """What the baseline is multiplied by (0: the rule does not speak of it), and what is added."""
    number = float(limit["number"] or 0) * (-1 if limit["move"] == "-" else 1)
    # what can be negative has limits with a sign; 0.1 had no such metric in a gate
    moves = limit["baseline"] or (limit["move"] and declared.bounds[0] >= 0)
    factor = (float(limit["factor"]) if limit["factor"] else 1.0) if moves else 0.0
    if moves and (factor == 0 or (limit["percent"] and number <= -100)):
        raise UsageError(f"{text!r}: {declared.name} cannot fall by 100% or more")
    if not limit["percent"]:
        return factor, number
    if not moves:
        if not declared.is_fraction:
            hint = f'"{declared.name} <= baseline * {1 + number / 100:g}"'
            raise UsageError(
                f"{text!r}: {declared.name} is not a fraction, so a percentage needs a baseline", hint=hint
            )
        return 0.0, number / 100
    if limit["baseline"] and (declared.is_fraction or limit["factor"]):
        points, share = f'"baseline {limit["move"]} {abs(number) / 100:g}"', f'"baseline * {1 + number / 100:g}"'
        hint = f"{points} for percentage points, {share} for a fraction of the baseline"
        raise UsageError(f"{text!r}: ambiguous percentage", hint=hint)
    return 1 + number / 100, 0.0


def _check_level(rule: Rule, declared: Metric) -> None:
    """Reject a threshold that every value satisfies, or none."""
    low, high = declared.bounds
    always = rule.offset <= low if rule.at_least else rule.offset >= high
    never = rule.offset > high if rule.at_least else rule.offset < low
    if not (always or never):
        return
    message = (
        f"{rule.text!r} is always {'true' if always else 'false'}: {declared.name} is between {low:g} and {high:g}"
    )
    sign = ">=" if rule.at_least else "<="
    hint = f'to compare with the baseline: "{declared.name} {sign} baseline"'
    if never and declared.is_fraction and rule.offset <= 100:
        percentage = exact_percent(rule.offset / 100)
        hint = f'"{declared.name} {sign} {rule.offset / 100:g}" or "{declared.name} {sign} {percentage}"'
    raise UsageError(message, hint=hint)


def _check_move(rule: Rule, declared: Metric) -> None:
    """Reject a difference that is out of range: such a rule is always true or always false."""
    if declared.is_geometric and rule.offset:
        sign = ">=" if rule.at_least else "<="
        message = f"{rule.text!r}: geometric means are compared by their ratio"
        raise UsageError(message, hint=f'"{declared.name} {sign} baseline * {1.1 if rule.offset > 0 else 0.9:g}"')
    low, high = declared.bounds
    if rule.factor == 1 and abs(rule.offset) > high - low:
        message = f"{rule.text!r}: {declared.name} is between {low:g} and {high:g}"
        points = f" (1 percentage point is 0.01: {rule.offset / 100:g})" if declared.is_fraction else ""
        hint = f"use a difference from {low - high:g} to {high - low:g}{points}"
        raise UsageError(f"{message}, so it cannot change by {abs(rule.offset):g}", hint=hint)


MAX_SEARCHED_TASKS = 100_000
"""Largest sample size searched if all tasks are equal."""
EASED_BY = 0.02
"""Fraction of the metric's range by which a rule is relaxed if no sample size resolves it."""


@dataclass(frozen=True, slots=True)
class RuleEstimate:
    """The figure or difference that a rule limits, and what it rests on."""

    metric: str
    relative: bool
    """Whether it is a difference from the baseline."""
    sides: tuple[float | None, float | None]
    """The baseline times the rule's factor, and the candidate."""
    interval: Interval
    tasks: int
    gaps: Floats | None
    """Contribution of each task to it; None if unknown."""
    quantum: float
    """Squared step of a task's difference; see `quantum_of`."""
    binary: bool
    """Whether each task has one value a side, 0 or 1."""

    @property
    def constant(self) -> bool:
        """Whether many tasks have exactly the same value: then there is no variance to allow for."""
        same = not catalog()[self.metric].is_ratio or (self.relative and self.interval.estimate == 0)
        return same and not self.varies and not self.interval.known and self.tasks >= FEW_DIFFER

    @property
    def varies(self) -> bool:
        """Whether tasks differ."""
        return self.gaps is not None and len(self.gaps) > 1 and float(np.ptp(self.gaps)) > 0


def status_of(rule: Rule, tested: RuleEstimate) -> GateStatus:
    """Return pass if the whole interval satisfies the rule, fail if all of it violates it, else inconclusive."""
    low, high = tested.interval.low, tested.interval.high
    if tested.constant:
        low = high = tested.interval.estimate
    if rule.relative and is_infinite(tested.sides[0]) != is_infinite(tested.sides[1]):
        # A cost of pass without a pass is infinite: no more tasks are needed to see that it exceeds any limit.
        return "fail" if is_infinite(tested.sides[1]) != rule.at_least else "pass"
    if low is None or high is None:
        return "inconclusive"
    # a limit met to the last bit is met: 0.1 - 0.12 is a little less than -0.02
    slack = 1e-12 * max(1.0, abs(rule.offset))
    if rule.at_least:
        return "pass" if low >= rule.offset - slack else "fail" if high < rule.offset - slack else "inconclusive"
    return "pass" if high <= rule.offset + slack else "fail" if low > rule.offset + slack else "inconclusive"


def is_infinite(value: float | None) -> bool:
    """Whether there is a value and it is infinite."""
    return value is not None and math.isinf(value)


def tasks_to_resolve(rule: Rule, tested: RuleEstimate, *, seed: int) -> tuple[int | None, str | None]:
    """Return the sample size that resolves the rule, and the nearest resolvable rule if none does.

    With 80% power if nothing changed (for a threshold: if the true value is the effect of interest from it); never for
    the difference observed, which would restate the p-value. If all tasks are equal, the smallest sample size that is
    conclusive.
    """
    estimate = tested.interval.estimate
    if estimate is None or not math.isfinite(estimate):
        return None, None
    needed = _needed(rule, tested, estimate, seed)
    if needed is not None:
        return max(needed, tested.tasks + 1), None  # these did not
    low, high = catalog()[rule.metric].bounds
    if not math.isfinite(high - low):
        return None, None
    eased = replace(rule, offset=rule.offset + EASED_BY * (high - low) * (-1 if rule.at_least else 1))
    needed = _needed(eased, tested, estimate, seed)
    return (None, None) if needed is None else (needed, rule_text(eased))


def effect_to_resolve(rule: Rule, tested: RuleEstimate) -> float:
    """Return the distance to the limit that sample sizes are for; 0 if there is none."""
    if not rule.relative:
        return EFFECT_OF_INTEREST if catalog()[rule.metric].is_fraction else 0.0
    before = tested.sides[0]
    if before is None or not math.isfinite(before):
        return 0.0
    if catalog()[rule.metric].is_geometric:
        return abs(math.log(rule.factor))
    # sides[0] is the baseline times the factor: without a change the candidate is sides[0] / factor
    return abs(before / rule.factor - before - rule.offset)


def _needed(rule: Rule, tested: RuleEstimate, estimate: float, seed: int) -> int | None:
    if not tested.varies or tested.gaps is None:
        return _min_equal(rule, tested, estimate)
    effect, bounds = effect_to_resolve(rule, tested), catalog()[rule.metric].bounds
    span = bounds[1] - bounds[0]
    if catalog()[rule.metric].is_ratio or not math.isfinite(span):
        span = 1e3 * max(float(np.abs(tested.gaps).max()), effect)
    if not 1e-9 * span < effect < span:
        return None
    level = tested.interval.confidence
    return sample_size_from_data(tested.gaps, effect, quantum=tested.quantum, span=span, level=level, seed=seed).tasks


def _min_equal(rule: Rule, tested: RuleEstimate, estimate: float) -> int | None:
    """Return the smallest conclusive sample size if all tasks equal these; None when there is none."""
    if not all(map(math.isfinite, catalog()[rule.metric].bounds)) or catalog()[rule.metric].is_ratio:
        return FEW_DIFFER if tested.tasks < FEW_DIFFER else None
    few, many = 1, 2
    while status_of(rule, _with_equal_tasks(tested, estimate, many)) == "inconclusive":
        few, many = many, many * 2
        if few >= MAX_SEARCHED_TASKS:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        if status_of(rule, _with_equal_tasks(tested, estimate, middle)) == "inconclusive":
            few = middle
        else:
            many = middle
    return many


def _with_equal_tasks(tested: RuleEstimate, value: float, tasks: int) -> RuleEstimate:
    """Return the same test with this many tasks, all with this value."""
    level, bounds = tested.interval.confidence, catalog()[tested.metric].bounds
    if tested.relative:
        span = bounds[1] - bounds[0]
        interval = paired_mean(np.full(tasks, value), quantum=tested.quantum, span=span, level=level)[0]
    elif tested.binary:
        interval = clopper_pearson(round(value * tasks), tasks, level=level)
    else:
        interval = bounded_mean(np.full(tasks, value), bounds=bounds, level=level)
    return replace(tested, interval=interval, tasks=tasks)


@dataclass(frozen=True, slots=True)
class _PlainValues:
    """Outcome of the metric in plain figures, without the rule's factor."""

    baseline: float | None
    candidate: float | None
    change: float | None
    bounds: SensitivityBounds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCheck:
    """Result of one rule."""

    rule: Rule
    status: GateStatus
    sentence: str
    interval: Interval
    """Tested quantity: the candidate's value, its difference from `factor` times the baseline, or the ratio of
    geometric means."""
    tasks: int
    baseline: float | None
    candidate: float | None
    difference: float | None
    """The candidate's value minus the baseline's, or the ratio of geometric means."""
    tasks_needed: int | None
    """Sample size that resolves the rule at 80% power; None when it is conclusive or the sample size is unknown."""
    resolvable_rule: str | None
    """Nearest rule that `tasks_needed` tasks resolve, if no sample size resolves this one."""
    lower_bounds: tuple[int, int] = (0, 0)
    """Runs of the baseline and of the candidate whose value is a lower bound."""


def check(
    rule: Rule,
    samples: Samples,
    candidate: Mask,
    baseline: Mask,
    *,
    options: StatisticsOptions,
    otherwise: Samples | None = None,
) -> RuleCheck:
    """Check one rule: pass, fail or inconclusive.

    `otherwise` has runs without a verdict counted the other way: a rule on which the two disagree is inconclusive.
    """
    tested = _tested(rule, samples, candidate, baseline, options)
    plain, unfilled = tested, status_of(rule, tested)
    if otherwise is not None:
        tested = _tested(rule, samples, candidate, baseline, options, fills=True)
    moved = _moved(rule, samples, candidate, baseline, tested, options)
    status, why, either_way = status_of(rule, tested), "", ""
    needed, resolvable = None, None
    if status == "inconclusive":
        needed, resolvable = tasks_to_resolve(rule, tested, seed=options.seed)
        why = _required_sample(rule, tested, needed, resolvable)
        if unfilled != status:
            why = f"; {DEPENDS_ON_UNSCORED}{_worst_case(rule, moved)}."
    if otherwise is not None:
        other = _tested(rule, otherwise, candidate, baseline, options)
        if status_of(rule, other) != unfilled:
            why = f"; {DEPENDS_ON_UNSCORED}{_worst_case(rule, moved)}."
            either_way = _either_way(rule, plain, other, samples.profile.unscored)
            status = "inconclusive"
    tried = samples.attempted(candidate) & (samples.attempted(baseline) if rule.relative else True)
    seen = _sentence(rule, moved, tested, tried=int(tried.sum()))
    sentence = f"{seen}: {status}{why or '.'}{either_way}"
    return RuleCheck(
        rule=rule,
        status=status,
        sentence=sentence,
        interval=_reported(rule, tested),
        tasks=tested.tasks,
        baseline=moved.baseline,
        candidate=moved.candidate,
        difference=moved.change,
        tasks_needed=needed,
        resolvable_rule=resolvable,
    )


def _tested(
    rule: Rule,
    samples: Samples,
    candidate: Mask,
    baseline: Mask,
    options: StatisticsOptions,
    *,
    fills: bool = False,
) -> RuleEstimate:
    """What the rule's offset limits: the candidate's difference from what it makes of the baseline, or its figure.

    `fills`: a status must also hold with the runs without a verdict filled at worst, where they may matter.
    """
    if not rule.relative:
        found = _level(rule, samples, candidate, options)
        return _level_filled(rule, found, samples, candidate, options) if fills else found
    scaled = samples if rule.factor == 1 else samples.scaled(rule.metric, rule.factor, baseline)
    compared = difference(scaled, baseline, candidate, rule.metric, options=options)
    if fills and rule.factor == 1:
        compared = with_fills(compared, options)
    compared = for_margin(compared, options)
    single = compared.runs == (compared.tasks, compared.tasks)
    return RuleEstimate(
        metric=rule.metric,
        relative=True,
        sides=(compared.baseline, compared.candidate),
        interval=compared.interval,
        tasks=compared.tasks,
        gaps=compared.gaps,
        quantum=compared.quantum,
        binary=single and scaled.binary(rule.metric),
    )


def _reported(rule: Rule, tested: RuleEstimate) -> Interval:
    """Return the tested quantity as it is reported: logarithms of geometric means as a ratio to the baseline."""
    if not rule.relative or not catalog()[rule.metric].is_geometric:
        return tested.interval
    ratio = as_ratio(tested.interval)
    ends = {
        name: None if end is None else end * rule.factor
        for name, end in (("estimate", ratio.estimate), ("low", ratio.low), ("high", ratio.high))
    }
    return structs.replace(ratio, **ends)


def _level_filled(
    rule: Rule, found: RuleEstimate, samples: Samples, candidate: Mask, options: StatisticsOptions
) -> RuleEstimate:
    """Return a pass rate with an interval that contains those with all unscored runs passed and failed.

    Only if more than 10% of its runs have no verdict.
    """
    values = samples.known(rule.metric) if not catalog()[rule.metric].is_ratio else None
    if values is None or isinstance(values, Missing) or not catalog()[rule.metric].binary or not found.interval.known:
        return found
    unknown = np.isnan(values) & candidate
    if unknown.sum() <= MAX_UNSCORED * candidate.sum():
        return found
    ends = [found.interval]
    for fill in catalog()[rule.metric].bounds:
        filled = replace(samples, values={**samples.values, rule.metric: np.where(unknown, fill, values)})
        ends.append(_level(rule, filled, candidate, options).interval)
    low = min(end.low for end in ends if end.low is not None)
    high = max(end.high for end in ends if end.high is not None)
    return replace(found, interval=structs.replace(found.interval, low=low, high=high))


def _level(rule: Rule, samples: Samples, candidate: Mask, options: StatisticsOptions) -> RuleEstimate:
    """The candidate's own figure over all its tasks, with the interval that `measure` gives it."""
    declared, groups = catalog()[rule.metric], np.where(candidate, 0, -1)
    name = ratio_part_names(rule.metric)[0] if declared.is_ratio else rule.metric
    values = samples.known(name)
    reason = values.reason if isinstance(values, Missing) else None
    if declared.is_geometric and not isinstance(values, Missing):
        reason = why_no_logarithm(values[candidate])
    if reason is not None or isinstance(values, Missing):
        interval = no_interval(reason or "", method=options.method, n=0, clusters=0, level=options.level)
        return RuleEstimate(rule.metric, False, (None, None), interval, 0, None, 0.0, binary=False)
    figures = samples.figures(rule.metric, groups, 1)
    method = options.method
    if method == "paired-t":  # Student's, of one side
        method = "fieller" if declared.is_ratio else "clustered"
    interval = scores_of(samples, groups, rule.metric, figures, level=options.level, method=method)[0]
    by_task = samples.by_task(name, candidate)
    means = by_task.mean[by_task.usable]
    if declared.is_ratio:
        bottoms = samples.by_task(ratio_part_names(rule.metric)[1], candidate)
        ratio_parts = [part.weighted(samples.weight_by)[by_task.usable] for part in (by_task, bottoms)]
        contributions = linearized(*ratio_parts) if ratio_parts[1].any() else None
    else:
        contributions = means
    finite = contributions is not None and np.isfinite(contributions).all()
    if declared.is_geometric:
        declared = replace(declared, bounds=(-math.inf, math.inf))
    if finite and contributions is not None and samples.clusters is not None:
        interval = over_clusters(samples, interval, contributions, np.flatnonzero(by_task.usable), options, declared)
    if declared.is_geometric:
        interval = exponential(interval, "student-log" if method == "auto" else f"{interval.method}-log")
    return RuleEstimate(
        metric=rule.metric,
        relative=False,
        sides=(None, None if np.isnan(figures[0]) else float(figures[0])),
        interval=interval,
        tasks=len(means),
        gaps=contributions if finite else None,
        quantum=0.0,
        binary=samples.binary(rule.metric) and int(by_task.known.sum()) == len(means),
    )


def _moved(
    rule: Rule, samples: Samples, candidate: Mask, baseline: Mask, tested: RuleEstimate, options: StatisticsOptions
) -> _PlainValues:
    if not rule.relative:
        return _PlainValues(None, tested.sides[1], None)
    plain = difference(samples, baseline, candidate, rule.metric, options=options)
    change = plain.value
    if catalog()[rule.metric].is_geometric and change is not None:
        change = math.exp(change)
    return _PlainValues(plain.baseline, plain.candidate, change, plain.bounds)


def _worst_case(rule: Rule, moved: _PlainValues) -> str:
    if moved.bounds is None:
        return ""
    unit = catalog()[rule.metric].unit
    ends = bounds_text(moved.bounds.low, moved.bounds.high, unit, of_difference=True)
    return f" (worst-case bounds of the difference: {ends})"


def _either_way(rule: Rule, tested: RuleEstimate, other: RuleEstimate, unscored: str) -> str:
    """Return the result of both ways of counting runs without a verdict, and what to do."""
    excluded, failed = (tested, other) if unscored == "exclude" else (other, tested)
    return (
        f" Runs without a verdict excluded: {_figure(rule, excluded)}; counted as failed: {_figure(rule, failed)}."
        " Score or re-run them."
    )


def _figure(rule: Rule, tested: RuleEstimate) -> str:
    unit = catalog()[rule.metric].unit
    before, now = ("unknown" if side is None else quantity(side, unit) for side in tested.sides)
    scaled = f"{rule.factor:g} times the baseline, " if rule.factor not in (0, 1) else ""
    against = f" vs. {scaled}{before}" if rule.relative else ""
    return f"{now}{against} ({status_of(rule, tested)})"


def _required_sample(rule: Rule, tested: RuleEstimate, needed: int | None, resolvable: str | None) -> str:
    power = f"{percent(POWER, decimals=0)} power"
    if tested.varies:
        unit = catalog()[rule.metric].unit
        distance = difference_text(effect_to_resolve(rule, tested), unit)
        power += " if nothing changed" if rule.relative else f" at {distance} from the limit"
    if needed is not None and resolvable is None:
        return f". About {counted(needed, 'task')} needed ({power})."
    if needed is not None:
        tasks = counted(needed, "task")
        return f". No sample size makes this rule conclusive; {resolvable} needs about {tasks} ({power})."
    return ""


def _sentence(rule: Rule, moved: _PlainValues, tested: RuleEstimate, *, tried: int) -> str:
    """Return the estimate, its interval and the limit, without the verdict."""
    declared = catalog()[rule.metric]
    unit, title = declared.unit, declared.title
    if moved.candidate is None or (rule.relative and moved.baseline is None):
        return f"{title} is unknown ({tested.interval.reason or 'no task in common'})"
    now = quantity(moved.candidate, unit)
    noun = "task" if moved.baseline is None else "shared task"
    tasks = f"{tested.tasks:,} of {counted(tried, noun)}" if tested.tasks < tried else counted(tested.tasks, noun)
    details: list[str] = []
    if moved.baseline is None:
        text = f"{title} is {now} on {tasks}"
    else:
        before = quantity(moved.baseline, unit)
        is_same = moved.change == (1 if declared.is_geometric else 0)
        moves = f"is unchanged at {now}" if is_same else f"changed from {before} to {now}"
        text = f"{title} {moves} on {tasks}"
        if moved.change is not None and not is_same:
            as_text = ratio_text if declared.is_geometric else partial(difference_text, unit=unit, signed=True)
            details = [as_text(moved.change)]
        if is_infinite(moved.baseline) != is_infinite(moved.candidate):
            return text
    details += ["equal on every task"] if tested.constant else _interval_details(rule, tested, unit)
    return f"{text} ({'; '.join(details)}){_limit(rule, moved, unit)}"


def _interval_details(rule: Rule, tested: RuleEstimate, unit: str) -> list[str]:
    interval = tested.interval
    if interval.low is None or interval.high is None:
        return [interval.reason or "no interval"]
    if rule.relative and catalog()[rule.metric].is_geometric:
        ratio = _reported(rule, tested)
        return [f"{interval_name(ratio.confidence)} {ratio_bounds(ratio.low, ratio.high)}"]
    limits = bounds_text(interval.low, interval.high, unit, bare=rule.relative, of_difference=rule.relative)
    scaled = []
    if rule.relative and rule.factor != 1 and interval.estimate is not None:
        side = "below" if interval.estimate < 0 else "above"
        scaled = [f"{difference_text(abs(interval.estimate), unit)} {side} {rule.factor:g} times the baseline"]
    label = f", {interval.label}" if interval.label else ""
    return [*scaled, f"{interval_name(interval.confidence)} {limits}{label}"]


def _limit(rule: Rule, moved: _PlainValues, unit: str) -> str:
    """Return the limit in the unit of the metric."""
    word = "at least" if rule.at_least else "at most"
    if not rule.relative:
        return f"; limit: {word} {quantity(rule.offset, unit)}"
    if rule.factor == 1 and rule.offset == 0:
        return f"; limit: {word} the baseline"
    if rule.factor != 1 and moved.baseline is not None:
        limit = quantity(rule.factor * moved.baseline + rule.offset, unit)
        offset = f" {difference_text(rule.offset, unit, signed=True)}" if rule.offset else ""
        return f"; limit: {word} {limit} ({rule.factor:g} times the baseline{offset})"
    change = "a decrease" if rule.offset < 0 else "an increase"
    bound = "at most" if rule.at_least == (rule.offset < 0) else "at least"
    return f"; limit: {change} of {bound} {difference_text(abs(rule.offset), unit)}"
