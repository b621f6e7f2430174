"""The words metric formulas are written in. Each looks at what it is given: plain numbers or column expressions.

`when`, `ratio`, `clip`, `log`, `exp` and `power` take numpy arrays too, in which NaN is missing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from steelyard.records import Missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Value: TypeAlias = Any  # a number, a Missing, a column expression or an array: the words decide at run time which it is

INFINITY = math.inf


def missing(reason: str) -> Missing:
    """Missing value, with a reason that users see."""
    return Missing(reason)


_PLAIN = (float, int, Missing)
_COLUMNS = {"narwhals": "Expr", "polars": "Expr", "numpy": "ndarray"}


def library_of(*values: Value) -> Any | None:
    """The library whose column expressions or arrays are among the values, None if they are plain.

    Narwhals, which every engine understands, or Polars itself, where expressions are used so often that translating
    them counts: both have the words used here under the same names. Or numpy. None is imported to find out. Any: a
    module.
    """
    for value in values:
        if not isinstance(value, _PLAIN):
            for name, column in _COLUMNS.items():
                library = sys.modules.get(name)
                if library is not None and isinstance(value, getattr(library, column)):
                    return library
    return None


def _has_arrays(library: Any) -> bool:  # Any: a module
    return bool(library.__name__ == "numpy")


@cache
def _column_class(library: Any) -> type:  # Any: a module
    """Column expressions that divide by a number as in IEEE 754: Polars takes the reciprocal and rounds twice.

    Operators give the class they were given, so it need only be set where an expression begins.
    """

    class Column(library.Expr):  # type: ignore[misc]
        def __truediv__(self, other: Value) -> Value:
            # a column that holds the number in every row
            divisor = self.is_null().cast(library.Float64) + other if isinstance(other, (int, float)) else other
            return super().__truediv__(divisor)

    return Column


def exactly(column: Value, library: Any) -> Value:  # Any: a module
    """The column expression, made to divide exactly; other values as they are."""
    if library.__name__ != "narwhals" or not isinstance(column, library.Expr):
        return column
    exact = _column_class(library)
    if not isinstance(column, exact):
        # what `then` gives has a class of its own; coalesce makes a plain expression of it
        column = column if type(column) is library.Expr else library.coalesce(column)
        column.__class__ = exact
    return column


def as_column(value: Value, library: Any) -> Value:  # Any: a module
    """The value as something a column of the library can be combined with: Missing becomes null."""
    if _has_arrays(library):
        return math.nan if isinstance(value, Missing) else value
    if isinstance(value, Missing):
        return library.lit(None, dtype=library.Float64)
    return value if isinstance(value, library.Expr) else library.lit(value)


def when(condition: Value, then: Value, otherwise: Value) -> Value:
    """Return `then` if the condition is true, `otherwise` if it is false, and missing if it is unknown.

    On columns both branches are evaluated, so a division in one of them is written with `ratio`.
    """
    if library := library_of(condition):
        if _has_arrays(library):
            return library.where(condition, as_column(then, library), as_column(otherwise, library))
        return exactly(_chosen(library, condition, then, otherwise), library)
    if isinstance(condition, Missing):
        return condition
    if isinstance(condition, FormulaTrace):
        return LOST
    return then if condition else otherwise


def _chosen(library: Any, condition: Value, then: Value, otherwise: Value) -> Value:  # Any: a module
    """`when` on columns. A branch that is missing is left out: null has a type, which need not be the other's."""
    if isinstance(then, Missing):
        condition, then, otherwise = ~condition, otherwise, then
    if isinstance(otherwise, Missing):
        return library.when(condition).then(as_column(then, library))
    chosen = library.when(condition).then(as_column(then, library)).otherwise(as_column(otherwise, library))
    return library.when(~condition.is_null()).then(chosen)


def ratio(numerator: Value, denominator: Value, *, at_zero: Value) -> Value:
    """Return numerator / denominator, or `at_zero` if the denominator is 0.

    >>> ratio(3, 4, at_zero=missing("nothing to divide by"))
    0.75
    """
    if library := library_of(numerator, denominator):
        above, below = (exactly(as_column(value, library), library) for value in (numerator, denominator))
        return when(below == 0, at_zero, above / (below if library_of(denominator) else denominator))
    if isinstance(numerator, Missing) or isinstance(denominator, Missing):
        return numerator if isinstance(numerator, Missing) else denominator
    return at_zero if denominator == 0 else numerator / denominator


def first_known(*values: Value) -> Value:
    """Return the first value that is not missing, else all reasons."""
    if library := library_of(*values):
        known = [as_column(value, library) for value in values if not isinstance(value, Missing)]
        return exactly(library.coalesce(*known), library)
    for value in values:
        if not isinstance(value, Missing):
            return value
    return Missing("; ".join(dict.fromkeys(value.reason for value in values)))


def number(flag: Value) -> Value:
    """Convert true to 1.0, false to 0.0 and numbers to floats."""
    if library := library_of(flag):
        return flag.cast(library.Float64)
    return flag if isinstance(flag, Missing) else float(flag)


def clip(value: Value, low: float, high: float) -> Value:
    """Return the value, clamped to `low` and `high`."""
    if library_of(value):
        return value.clip(low, high)
    return value if isinstance(value, Missing) else min(max(value, low), high)


def log(value: Value) -> Value:
    """Return the natural logarithm of a positive value."""
    return _by_python(math.log, value)


def exp(value: Value) -> Value:
    """Return the exponential of a value."""
    return _by_python(math.exp, value)


def power(base: Value, exponent: Value) -> Value:
    """Return the base raised to the exponent; the base must not be negative.

    >>> power(0.25, 0.5)
    0.5
    """
    return _by_python(math.pow, base, exponent)


class ExpressionError(Exception):
    """A formula that engines would round differently: Python computes it from the facts of each run."""


def _by_python(function: Callable[..., float], *values: Value) -> Value:
    """The function of plain values, or row by row of columns: the libraries of engines differ in the last bit."""
    for value in values:
        if isinstance(value, Missing):
            return value
    library = library_of(*values)
    if library is None:
        return function(*values)
    if _has_arrays(library):
        rows = zip(*(column.tolist() for column in library.broadcast_arrays(*values)), strict=True)
        return library.array([_total(function, *row) for row in rows])
    if library.__name__ == "narwhals":
        raise ExpressionError
    columns = [value for value in values if library_of(value)]

    def over(series: Sequence[Any]) -> Any:  # Any: series of Polars, in the order of `columns`
        given = iter(series)
        parts = [next(given).to_list() if library_of(value) else repeat(value) for value in values]
        numbers = [_total(function, *row) for row in zip(*parts)]  # noqa: B905 - a number is repeated without end
        return library.Series(numbers, dtype=library.Float64)

    return library.map_batches(columns, over, library.Float64)


def _total(function: Callable[..., float], *values: float | None) -> float | None:
    """The function where it has a value: both branches of `when` are evaluated, and one may be given anything."""
    if None in values:
        return None
    try:
        return function(*values)
    except OverflowError:
        return INFINITY
    except ValueError:
        return math.nan


Form = Mapping[str, float]
"""A weighed sum: the weight of each input, and under `CONSTANT` what is added to them."""
CONSTANT = ""
ONE: Form = {CONSTANT: 1.0}


class FormulaTrace:
    """The outcome of the inputs: one weighed sum over another, or something else (`above` is None).

    It equals no number, so that `ratio` divides, and is not a boolean, so that no branch is followed.
    Any: whatever a formula combines with it.
    """

    def __init__(self, above: Form | None, below: Form = ONE) -> None:
        self.above, self.below = above, below

    @classmethod
    def _of(cls, value: Any, below: Form = ONE) -> FormulaTrace:
        """Return the value over the denominator; what is neither a number nor followed is lost."""
        if isinstance(value, int | float):
            return cls({name: weight * value for name, weight in below.items()}, below)
        return value if isinstance(value, FormulaTrace) else LOST

    def __add__(self, other: Any) -> FormulaTrace:
        added = self._of(other, self.below)
        if self.above is None or added.above is None or self.below != added.below:
            return LOST
        names = dict.fromkeys([*self.above, *added.above])
        sums = {name: self.above.get(name, 0.0) + added.above.get(name, 0.0) for name in names}
        return FormulaTrace({name: weight for name, weight in sums.items() if weight}, self.below)

    def __mul__(self, other: Any) -> FormulaTrace:
        if self.above is None or not isinstance(other, int | float):
            return LOST
        return FormulaTrace({name: weight * other for name, weight in self.above.items()}, self.below)

    def __truediv__(self, other: Any) -> FormulaTrace:
        if isinstance(other, int | float):
            return self * (1 / other)
        divisor = self._of(other)
        if self.above is None or divisor.above is None or self.below != divisor.below:
            return LOST
        return FormulaTrace(self.above, divisor.above)

    def __rtruediv__(self, other: Any) -> FormulaTrace:
        return self._of(other) / self

    def __neg__(self) -> FormulaTrace:
        return self * -1.0

    def __sub__(self, other: Any) -> FormulaTrace:
        return self + -self._of(other, self.below)

    def __rsub__(self, other: Any) -> FormulaTrace:
        return self._of(other, self.below) + -self

    def __bool__(self) -> bool:
        raise TypeError("formulas with comparisons are not supported")

    def _lost(self, _other: Any) -> FormulaTrace:
        return LOST

    __radd__, __rmul__ = __add__, __mul__
    __lt__ = __le__ = __gt__ = __ge__ = _lost
    __pow__ = __rpow__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __or__ = _lost


LOST = FormulaTrace(None)
"""Neither a weighed sum of the inputs nor one over another."""


def weighed(form: Form, inputs: Mapping[str, Any]) -> Any:
    """The weighed sum of these inputs. Any: numbers, or arrays with a number for each run."""
    total: Any = form.get(CONSTANT, 0.0)
    for name, weight in form.items():
        if name != CONSTANT:
            total = total + weight * inputs[name]
    return total
