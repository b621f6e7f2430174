"""The published validation: its page, and a few cells simulated again with fewer data sets."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.coverage import CELLS
from benchmarks.coverage._cells import Cell, Count, misses
from benchmarks.coverage._page import PAGE, page, read_results, write_results

pytestmark = pytest.mark.checkout

QUICK = [cell for cell in CELLS if cell.is_quick]
METHODS = [cell for cell in CELLS if cell.group == "single methods"]


def _name(cell: Cell) -> str:
    return f"{cell.group}: {cell.name}"


def test_the_page_shows_the_stored_results():
    assert PAGE.read_text(encoding="utf-8") == page(read_results())


def test_every_cell_is_in_the_results():
    assert {(each.group, each.cell) for each in read_results()} == {(cell.group, cell.name) for cell in CELLS}


def test_results_are_within_their_limits():
    results = read_results()
    beyond = [result for result, miss in zip(results, misses([each.count for each in results]), strict=True) if miss]
    assert not beyond


@pytest.mark.parametrize("cell", QUICK, ids=_name)
def test_quick_cells_are_within_their_limits(cell):
    counts = cell.counts(share=400 / cell.sets)
    assert not [count for count, miss in zip(counts, misses(counts), strict=True) if miss]


@pytest.mark.parametrize("cell", METHODS, ids=_name)
def test_single_methods_are_within_their_limits(cell):
    counts = cell.counts(share=0.1)
    assert not [count for count, miss in zip(counts, misses(counts), strict=True) if miss]


def test_a_cell_beyond_its_limit_is_found():
    assert misses([Count("covers", 900, 1_000, "least", 0.93)]) == [True]
    assert misses([Count("covers", 925, 1_000, "least", 0.93)]) == [False]  # may be chance
    assert misses([Count("claims", 90, 1_000, "most", 0.055)]) == [True]
    assert misses([Count("claims", 90, 1_000, "none", 0.0)]) == [False]
    # 905 of 1,000 has p = 0.003 alone, which is nothing among 100 cells
    many = [Count("covers", 905, 1_000, "least", 0.93), *[Count("covers", 940, 1_000, "least", 0.93)] * 99]
    assert misses(many[:1]) == [True]
    assert not any(misses(many))


def test_a_worse_interval_misses_the_quick_limits(monkeypatch):
    # without the added steps, a side with one attempt that passes all tasks looks certain
    monkeypatch.setattr("steelyard.questions.gate._rules.for_margin", lambda found, _options: found)
    monkeypatch.setattr("steelyard.statistics._paired.unequal_attempts", lambda _a, _b: False)
    start = "pass_rate >= -0.05, 30 tasks, 5 vs. 1 attempts, pass rate 0.98"
    cell = next(cell for cell in CELLS if cell.name.startswith(start))
    assert any(misses(cell.counts(share=400 / cell.sets)))


def test_results_are_read_as_they_were_written(tmp_path):
    results = read_results()[:50]
    write_results(results, tmp_path / "results.csv")
    assert read_results(tmp_path / "results.csv") == results


def test_random_numbers_depend_on_the_cell_only():
    def simulate(random: np.random.Generator, sets: int):
        yield Count("drawn", int(random.integers(1_000)), sets, "none", 0.0)

    assert Cell("group", "one", simulate).counts() == Cell("group", "one", simulate).counts()
    assert Cell("group", "one", simulate).counts() != Cell("group", "two", simulate).counts()
