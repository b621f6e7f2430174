"""Terminal sentences and tables for the models of an arena."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import counted
from steelyard.results import FittedModels


def fit_lines(fitted: FittedModels) -> Iterator[str]:
    """Return one line per model."""
    for each in fitted.versions:
        is_new = "new" if each.is_new else "unchanged (same data)"
        why = f"; {each.reason}" if each.reason else ""
        seen = counted(each.seen, "rating" if each.kind == "weights" else "submission")
        yield f"{each.kind}: version {each.number}, {is_new}, {seen}{why}"
