"""Figures of completeness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.figures import Axis, Figure, StackedRow, stacked

if TYPE_CHECKING:
    from steelyard.results._completeness import CompletenessSummary

WAYS = ("reported", "counted", "priced", "lower bound", "unknown")


def completeness_fields(result: CompletenessSummary, width: int) -> Figure:
    """Of each field that some run has, how it came; unknown is hatched."""
    rows = [
        StackedRow(
            name,
            {way: getattr(counts, way.replace(" ", "_")) for way in WAYS},
            text=f"{counts.known:,} of {result.total.n:,}",
        )
        for name, counts in result.total.fields.items()
        if counts.known
    ]
    return stacked(
        rows,
        kinds=WAYS,
        hatched="unknown",
        title="Completeness of the runs",
        axis=Axis(title="Runs", unit="count", high=result.total.n),
        note=result.sentence,
        width=width,
    )
