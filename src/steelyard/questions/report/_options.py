"""Options of `report`."""

from __future__ import annotations

from steelyard.questions._declaration import doc
from steelyard.questions._figure_options import RankOptions
from steelyard.questions._options import Names

SECTIONS = (
    "rank",
    "measure",
    "compare",
    "judges",
    "repeatability",
    "speedup",
    "usage",
    "completeness",
    "findings",
    "runs",
    "outputs",
)
"""Sections of a report, in order."""


class ReportOptions(RankOptions):
    """Options of `report`."""

    title: str | None = doc("Report title.", default=None)
    sections: Names = doc(f"Comma-separated sections (default: all): {', '.join(SECTIONS)}.", default=())
    with_outputs: bool = doc("Include agent outputs, up to 64,000 characters each.", default=False)
    redact: bool = doc("Redact API keys and tokens.", default=True)
