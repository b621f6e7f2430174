"""Costs of many runs at once are the costs of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.prices import open_book, price_run
from steelyard.records.missing import Missing
from steelyard.sources._base import Entry
from steelyard.sources._gather import gather
from steelyard.workflow._costs import Costs

SAMPLES = Path(__file__).parent / "samples" / "sources"


def test_runs_priced_in_columns_cost_what_each_costs_alone() -> None:
    runs = [item.run for item in gather([SAMPLES]) if isinstance(item, Entry)]
    book = open_book("maintained")
    together = Costs("maintained").of(runs)
    assert sum(cost is not None for cost in together) > 10
    for run, cost in zip(runs, together, strict=True):
        alone = price_run(run, book)
        assert cost == (None if isinstance(alone, Missing) else pytest.approx(alone, rel=1e-12))
