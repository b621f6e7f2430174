"""The rules of a gate as people write them: `pass_rate >= 0.45`, `pass_rate >= baseline - 0.02`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from steelyard.errors import UnknownNameError, UsageError
from steelyard.formatting import exact_percent
from steelyard.metrics import Metric, catalog
from steelyard.option_names import option

GateStatus = Literal["pass", "fail", "inconclusive"]
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
    """The metric of the rule; an unknown one is answered with the rule that may be meant, and what else is wrong."""
    try:
        return catalog()[rule["metric"]]
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
    low, high = declared.bounds
    if rule.factor == 1 and abs(rule.offset) > high - low:
        message = f"{rule.text!r}: {declared.name} is between {low:g} and {high:g}"
        points = f" (1 percentage point is 0.01: {rule.offset / 100:g})" if declared.is_fraction else ""
        hint = f"use a difference from {low - high:g} to {high - low:g}{points}"
        raise UsageError(f"{message}, so it cannot change by {abs(rule.offset):g}", hint=hint)
