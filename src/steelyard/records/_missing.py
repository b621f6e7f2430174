from __future__ import annotations

from typing import Any


class Missing:
    """A value that could not be had, and why. It is false and never equal to a number.

    Arithmetic and order comparisons with it give it back, as null does in a column, so a formula written once
    behaves the same on plain numbers and on tables.

    >>> Missing("no usage in the log") * 3 + 1
    Missing('no usage in the log')
    """

    __slots__ = ("reason",)
    reason: str

    def __init__(self, reason: str) -> None:
        object.__setattr__(self, "reason", reason)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Missing is frozen; cannot set {name}")

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Missing) and other.reason == self.reason

    def __hash__(self) -> int:
        return hash(("Missing", self.reason))

    def __repr__(self) -> str:
        return f"Missing({self.reason!r})"

    def __str__(self) -> str:
        return f"missing: {self.reason}"

    def _same(self, *_other: Any) -> Missing:  # Any: whatever the other side of an operator is
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __pow__ = __rpow__ = __neg__ = __abs__ = __and__ = __rand__ = __or__ = __ror__ = __invert__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _same
