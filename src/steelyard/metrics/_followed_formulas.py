"""What a formula makes of its inputs, followed with inputs that remember it: a weighed sum, or one sum over another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Form = Mapping[str, float]
"""A weighed sum: the weight of each input, and under `CONSTANT` what is added to them."""
CONSTANT = ""
ONE: Form = {CONSTANT: 1.0}


class Followed:
    """The outcome of the inputs: one weighed sum over another, or something else (`above` is None).

    It equals no number, so that `ratio` divides, and is not a boolean, so that no branch is followed.
    Any: whatever a formula combines with it.
    """

    def __init__(self, above: Form | None, below: Form = ONE) -> None:
        self.above, self.below = above, below

    @classmethod
    def _of(cls, value: Any, below: Form = ONE) -> Followed:
        """Return the value over the denominator; what is neither a number nor followed is lost."""
        if isinstance(value, int | float):
            return cls({name: weight * value for name, weight in below.items()}, below)
        return value if isinstance(value, Followed) else LOST

    def __add__(self, other: Any) -> Followed:
        added = self._of(other, self.below)
        if self.above is None or added.above is None or self.below != added.below:
            return LOST
        names = dict.fromkeys([*self.above, *added.above])
        sums = {name: self.above.get(name, 0.0) + added.above.get(name, 0.0) for name in names}
        return Followed({name: weight for name, weight in sums.items() if weight}, self.below)

    def __mul__(self, other: Any) -> Followed:
        if self.above is None or not isinstance(other, int | float):
            return LOST
        return Followed({name: weight * other for name, weight in self.above.items()}, self.below)

    def __truediv__(self, other: Any) -> Followed:
        if isinstance(other, int | float):
            return self * (1 / other)
        divisor = self._of(other)
        if self.above is None or divisor.above is None or self.below != divisor.below:
            return LOST
        return Followed(self.above, divisor.above)

    def __rtruediv__(self, other: Any) -> Followed:
        return self._of(other) / self

    def __neg__(self) -> Followed:
        return self * -1.0

    def __sub__(self, other: Any) -> Followed:
        return self + -self._of(other, self.below)

    def __rsub__(self, other: Any) -> Followed:
        return self._of(other, self.below) + -self

    def __bool__(self) -> bool:
        raise TypeError("formulas with comparisons are not supported")

    def _lost(self, _other: Any) -> Followed:
        return LOST

    __radd__, __rmul__ = __add__, __mul__
    __lt__ = __le__ = __gt__ = __ge__ = _lost
    __pow__ = __rpow__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __or__ = _lost


LOST = Followed(None)
"""Neither a weighed sum of the inputs nor one over another."""


def weighed(form: Form, inputs: Mapping[str, Any]) -> Any:
    """The weighed sum of these inputs. Any: numbers, or arrays with a number for each run."""
    total: Any = form.get(CONSTANT, 0.0)
    for name, weight in form.items():
        if name != CONSTANT:
            total = total + weight * inputs[name]
    return total
