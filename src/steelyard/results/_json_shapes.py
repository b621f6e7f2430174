"""Small shapes that results share on their way to JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def number(value: float | None) -> float | str | None:
    """A number as strict JSON holds it: infinity is a string."""
    if value is None or math.isfinite(value):
        return value
    return "Infinity" if value > 0 else "-Infinity"


def numbers(shape: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON values
    """The mapping with each number as strict JSON holds it."""
    return {name: number(value) if isinstance(value, float) else value for name, value in shape.items()}
