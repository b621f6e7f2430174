"""Rules that a change must keep, and whether the data show that it does."""

from __future__ import annotations

import math
import re

from steelyard.errors import UsageError
from steelyard.metrics import Metric, catalog
from steelyard.results import Difference, GateVerdict, Rule, RuleCheck, amount, level_of, tasks_text
from steelyard.standings._differences import FEW_DIFFER, StatisticsOptions, difference
from steelyard.standings._samples import Mask, Samples
from steelyard.standings._verdicts import RESTS_ON_UNSCORED
from steelyard.statistics import tasks_for_margin

_RULE = re.compile(r"^\s*(?P<metric>\w+)\s*(?P<sign>>=|<=)\s*(?P<limit>[+-]?\d+(?:\.\d+)?)\s*(?P<percent>%?)\s*$")


def read_rule(text: str) -> Rule:
    """The rule in `pass_rate >= -0.02` or `cost_usd <= +10%`."""
    match = _RULE.match(text)
    if match is None:
        raise UsageError(f"{text!r} is not a rule", hint='--rule "pass_rate >= -0.02" or --rule "cost_usd <= +10%"')
    declared = catalog()[match["metric"]]  # an unknown metric is answered with the nearest
    relative = bool(match["percent"])
    limit = float(match["limit"]) / (100 if relative else 1)
    _check_reach(text, declared, limit, relative=relative)
    return Rule(" ".join(text.split()), declared.name, match["sign"] == ">=", limit, relative)


def _check_reach(text: str, declared: Metric, limit: float, *, relative: bool) -> None:
    """Refuse a limit that no difference can reach: such a rule always holds or always fails."""
    low, high = declared.bounds
    if relative and low >= 0 and limit < -1:
        raise UsageError(f"{text!r}: {declared.name} cannot fall by more than 100 %")
    if not relative and abs(limit) > high - low:
        message = f"{text!r}: {declared.name} lies between {low:g} and {high:g}, so it cannot move by {abs(limit):g}"
        points = f" (points are hundredths: {limit / 100:g})" if declared.is_share else ""
        raise UsageError(message, hint=f"give a limit from {low - high:g} to {high - low:g}{points}")


def check(
    rule: Rule,
    samples: Samples,
    baseline: Mask,
    candidate: Mask,
    *,
    options: StatisticsOptions,
    otherwise: Samples | None = None,
) -> RuleCheck:
    """Whether the data show that the candidate keeps the rule, that it breaks it, or neither.

    `otherwise` has runs without a verdict counted the other way: what only one of the two says cannot be told.
    """
    plain = difference(samples, baseline, candidate, rule.metric, options=options)
    tested = _tested(rule, samples, baseline, candidate, options)
    limit = 0.0 if rule.relative else rule.limit
    result, needed = _result(rule, tested, limit), None
    if otherwise is not None and result != "cannot be told":
        other = _result(rule, _tested(rule, otherwise, baseline, candidate, options), limit)
        if other != result:
            sentence = _sentence(rule, plain, tested, "cannot be told", None).removesuffix(".")
            sentence = f"{sentence}: it {RESTS_ON_UNSCORED}{_worst_case(plain)}."
            return RuleCheck(rule, "cannot be told", sentence, tested, plain.a, plain.b, None)
    if result == "cannot be told":
        needed = _fewest(tested, limit)
    return RuleCheck(rule, result, _sentence(rule, plain, tested, result, needed), tested, plain.a, plain.b, needed)


def _fewest(tested: Difference, limit: float) -> int | None:
    """The fewest tasks that would tell: those at the end of the interval that lies farther from the limit.

    There is no largest number, since the limit itself lies within the interval.
    """
    ends = [end for end in (tested.interval.low, tested.interval.high) if end is not None and math.isfinite(end)]
    if not ends or not tested.spread:
        return None
    farthest = max(ends, key=lambda end: abs(end - limit))
    fewest = tasks_for_margin(farthest, limit, tested.spread, level=tested.interval.level)
    return None if fewest is None else max(fewest, tested.tasks + 1)  # these did not tell


def _tested(rule: Rule, samples: Samples, baseline: Mask, candidate: Mask, options: StatisticsOptions) -> Difference:
    """The difference that the rule limits; of a relative rule, from the baseline moved by what it allows."""
    scaled = samples.scaled(rule.metric, 1 + rule.limit, baseline) if rule.relative else samples
    return difference(scaled, baseline, candidate, rule.metric, options=options)


def _worst_case(plain: Difference) -> str:
    if plain.bounds is None:
        return ""
    unit = catalog()[plain.metric].unit
    low, high = (amount(end, unit, bare=True) for end in (plain.bounds.low, plain.bounds.high))
    return f", whose verdicts could make the difference {low} to {high}"


def _result(rule: Rule, tested: Difference, limit: float) -> GateVerdict:
    low, high = tested.interval.low, tested.interval.high
    if _constant(tested):
        low = high = tested.value
    if _infinite(tested.a) != _infinite(tested.b):
        # A cost of pass without a pass is infinite: no more tasks are needed to see that it is past any limit.
        return "fails" if _infinite(tested.b) != rule.at_least else "holds"
    if low is None or high is None:
        return "cannot be told"
    # a limit met to the last bit is met: 0.1 - 0.12 is a little less than -0.02
    slack = 1e-12 * max(1.0, abs(limit))
    if rule.at_least:
        return "holds" if low >= limit - slack else "fails" if high < limit - slack else "cannot be told"
    return "holds" if high <= limit + slack else "fails" if low > limit + slack else "cannot be told"


def _infinite(value: float | None) -> bool:
    return value is not None and math.isinf(value)


def _constant(tested: Difference) -> bool:
    """Whether the metric moved by exactly the same on many tasks: then there is no chance in it to allow for."""
    same = tested.spread is None and not catalog()[tested.metric].is_ratio and not tested.interval.known
    return same and tested.tasks >= FEW_DIFFER


def _sentence(rule: Rule, plain: Difference, tested: Difference, result: GateVerdict, needed: int | None) -> str:
    unit = catalog()[rule.metric].unit
    title = catalog()[rule.metric].title
    if _infinite(plain.a) != _infinite(plain.b) and plain.a is not None and plain.b is not None:
        moved = f"{title} went from {level_of(plain.a, unit)} to {level_of(plain.b, unit)}"
        return f"{moved} on the same {tasks_text(plain.tasks)}: the rule {_told(result)}."
    if plain.value is None or plain.a is None or plain.b is None:
        return f"{title} cannot be told: {plain.interval.reason or 'no task in common'}."
    moved = f"{title} went from {level_of(plain.a, unit)} to {level_of(plain.b, unit)}"
    size = amount(plain.value, unit, signed=True)
    text = f"{moved} ({size}) on the same {tasks_text(plain.tasks)}"
    low, high = tested.interval.low, tested.interval.high
    if _constant(tested):
        return f"{text}, by the same on every one: the rule {_told(result)}."
    if low is None or high is None:
        return f"{text}; whether the rule holds cannot be told: {tested.interval.reason}."
    level = f"{tested.interval.level * 100:g} % interval"
    limits = f"{amount(low, unit, bare=True)} to {amount(high, unit, bare=True)}"
    limits += f", {tested.interval.label}" if tested.interval.label else ""
    if rule.relative:
        text += f"; against the baseline {rule.limit * 100:+g} % it is {amount(tested.value or 0.0, unit, signed=True)}"
        text += f", {level} {limits}"
    else:
        allowed = "at least" if rule.at_least else "at most"
        text += f", {level} {limits}; allowed is {allowed} {amount(rule.limit, unit, signed=True)}"
    more = f"; at least {tasks_text(needed)} would be needed to tell" if needed is not None else ""
    return f"{text}: the rule {_told(result)}{more}."


def _told(result: GateVerdict) -> str:
    return "cannot be told to hold or to fail" if result == "cannot be told" else result
