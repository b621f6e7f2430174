"""The words metric formulas are written in. Each looks at what it is given: plain numbers or column expressions."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from steelyard.records.missing import Missing

if TYPE_CHECKING:
    from collections.abc import Callable

Value: TypeAlias = Any  # a number, a Missing or a Narwhals expression: the words decide at run time which it is

INFINITY = math.inf


def missing(reason: str) -> Missing:
    """The answer where there is none; the reason is shown to the user."""
    return Missing(reason)


def is_column(value: Value) -> bool:
    """Whether the value is a column expression. Narwhals is not imported to find out."""
    narwhals = sys.modules.get("narwhals")
    return narwhals is not None and isinstance(value, narwhals.Expr)


def as_column(value: Value) -> Value:
    """The value as something a column expression can be combined with: Missing becomes null."""
    import narwhals as nw  # heavy: only needed once columns are in play

    if isinstance(value, Missing):
        return nw.lit(None, dtype=nw.Float64)
    return value if is_column(value) else nw.lit(value)


def when(condition: Value, then: Value, otherwise: Value) -> Value:
    """`then` where the condition holds, `otherwise` where it does not, missing where it is unknown.

    On columns both branches are evaluated, so a division in one of them is written with `ratio`.
    """
    if is_column(condition):
        import narwhals as nw  # heavy: only needed once columns are in play

        chosen = nw.when(condition).then(as_column(then)).otherwise(as_column(otherwise))
        return nw.when(~condition.is_null()).then(chosen)
    if isinstance(condition, Missing):
        return condition
    return then if condition else otherwise


def ratio(numerator: Value, denominator: Value, *, at_zero: Value) -> Value:
    """Numerator over denominator, and `at_zero` where the denominator is 0.

    >>> ratio(3, 4, at_zero=missing("nothing to divide by"))
    0.75
    """
    if is_column(numerator) or is_column(denominator):
        zero = as_column(denominator) == 0
        return when(zero, at_zero, as_column(numerator) / as_column(denominator))
    if isinstance(numerator, Missing) or isinstance(denominator, Missing):
        return numerator if isinstance(numerator, Missing) else denominator
    return at_zero if denominator == 0 else numerator / denominator


def first_known(*values: Value) -> Value:
    """The first value that is not missing; the reasons of all when none is known."""
    if any(is_column(value) for value in values):
        import narwhals as nw  # heavy: only needed once columns are in play

        return nw.coalesce(*[as_column(value) for value in values])
    for value in values:
        if not isinstance(value, Missing):
            return value
    return Missing("; ".join(dict.fromkeys(value.reason for value in values)))


def number(flag: Value) -> Value:
    """1.0 for true, 0.0 for false; numbers as floats."""
    if is_column(flag):
        import narwhals as nw  # heavy: only needed once columns are in play

        return flag.cast(nw.Float64)
    return flag if isinstance(flag, Missing) else float(flag)


def clip(value: Value, low: float, high: float) -> Value:
    """The value, held between `low` and `high`."""
    if is_column(value):
        return value.clip(low, high)
    return value if isinstance(value, Missing) else min(max(value, low), high)


def _apply(value: Value, scalar: Callable[[float], float], column: str) -> Value:
    if is_column(value):
        return getattr(value, column)()
    return value if isinstance(value, Missing) else scalar(value)


def log(value: Value) -> Value:
    """Natural logarithm of a positive value."""
    return _apply(value, math.log, "log")


def exp(value: Value) -> Value:
    """The exponential function."""
    return _apply(value, math.exp, "exp")
