"""Texts that tables of several results share."""

from __future__ import annotations

from steelyard.metrics import catalog
from steelyard.pages import key_cell, weighting

__all__ = ["ARROWS", "heading", "key_cell", "weighting"]

ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def heading(name: str, statistic: str | None = None) -> str:
    """Return a metric's title with its unit and the direction that is better."""
    return catalog()[name].heading(statistic)
