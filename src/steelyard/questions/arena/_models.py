"""Parts that the questions about fitted models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.arena import IntervalEstimate, VersionOf
from steelyard.formatting import decimal_bounds, exact_percent
from steelyard.pages import DASH, Column, Facts
from steelyard.questions._question import Options, doc

MAX_DRAWN = 60
"""Maximum number of rows in a figure."""


class VersionOptions(Options):
    """Model version."""

    version: int | None = doc("Model version (default: the latest).", default=None)


def tool_text(key: Mapping[str, str | None]) -> str:
    """Return the agent's name."""
    return " ".join(part or DASH for part in key.values())


def estimate_of(between: IntervalEstimate | None) -> float | None:
    """Return the estimate without its interval."""
    return None if between is None else between.estimate


def interval_column(values: Sequence[IntervalEstimate]) -> Column:
    """Return the column of the bounds of intervals."""
    texts = [decimal_bounds(value.low, value.high, decimals=2) for value in values]
    return Column(name="interval", title="interval", values=[value.low for value in values], decimals=6, texts=texts)


def version_facts(version: VersionOf | None, confidence: float | None = None) -> Facts:
    """Return when and to what a version was fitted."""
    if version is None:
        return ()
    level = () if confidence is None else (("confidence level", exact_percent(confidence)),)
    return (
        ("version", f"{version.number}"),
        ("fitted", version.made_at),
        ("submissions", f"{version.seen:,}"),
        *level,
        ("inputs", f"sha256 {version.digest}"),
    )
