"""Intervals and verdicts in hard cases: what the page tells is as promised, and a few settings are tried again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.coverage.grid import MIN_COVERAGE, SWEEPS, Cell, Coverage, tried
from benchmarks.coverage.hard_cases import ALLOWED, BEGIN, DIFFERENCES, END, MIN_POWER, noise
from benchmarks.coverage.verdicts import LIMITS, NULLS, Setting, claims, difference_of

pytestmark = pytest.mark.checkout

PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"


def _tables() -> list[list[dict[str, str]]]:
    """The rows of each table between the marks, by heading."""
    made = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    assert re.search(r"Generated on 20\d\d-\d\d-\d\d by", made)
    tables = []
    for block in made.split("\n\n"):
        lines = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines() if line[:1] == "|"
        ]
        if lines:
            tables.append([dict(zip(lines[0], row, strict=True)) for row in lines[2:]])
    return tables


def _share(text: str) -> float:
    return float(text.removesuffix("%")) / 100


def _trials(row: dict[str, str]) -> int:
    return int(row["data sets"].replace(",", ""))


def test_no_figure_of_the_page_falls_under_its_label() -> None:
    rows = _tables()[0]
    assert [row["estimate"] for row in rows] == [
        *(figure for sweep in SWEEPS for figure in sweep.figures),
        *DIFFERENCES.values(),
    ]
    for row in rows:
        promised = _share(row["required"])
        assert _share(row["observed"]) >= promised - noise(promised, _trials(row)) - 0.005, (
            row
        )  # shown without decimals


def test_no_verdict_of_the_page_is_claimed_too_often() -> None:
    rows = _tables()[1]
    assert {row["verdict"] for row in rows} == set(ALLOWED)
    for row in rows:
        allowed = ALLOWED[row["verdict"]]
        assert _share(row["observed"]) <= allowed + noise(allowed, _trials(row)), row


def test_the_page_shows_that_no_power_was_lost() -> None:
    for row in _tables()[2]:
        power = _share(row["now"])
        assert power + noise(power, _trials(row)) >= MIN_POWER * _share(row["earlier method"]), row


@pytest.mark.parametrize(
    ("sweep", "cell"),
    [
        (0, Cell(10, "5", 0.7, share=0.98)),  # Student's interval of the composite held in 37%
        (0, Cell(30, "uneven", 0.3, share=0.1)),  # of the pass rate in 77%
        (0, Cell(2, "1", 0.0, share=0.5)),
        (1, Cell(30, "1", 0.3, sigma=1.5)),  # of the mean cost in 79%
        (2, Cell(10, "1", 0.3, share=0.98, sigma=1.5)),
    ],
    ids=str,
)
def test_hard_settings_hold_what_they_promise(sweep: int, cell: Cell) -> None:
    for figure, seen in tried(SWEEPS[sweep], cell, share=0.3).items():
        assert seen.coverage.holds, (figure, seen)


def test_unequal_attempts_at_skewed_costs_make_no_false_claim_too_often() -> None:
    setting = next(null for null in NULLS if (null.metric, null.tasks, null.attempts) == ("cost_usd", 10, ("1", "20")))
    told = claims(setting, trials=100)
    assert told.share("better", "worse") <= 0.055 + noise(0.055, 100)


def test_a_side_that_passes_few_attempts_by_chance_does_not_keep_a_rule() -> None:
    at_limit = (setting for setting in LIMITS if setting.metric == "pass_rate" and setting.level == 0.98)
    setting = next(case for case in at_limit if (case.tasks, case.attempts, case.icc) == (10, ("5", "1"), 0.0))
    # every task passes once in half of the data sets; "pass" was said of 34%
    assert claims(setting, trials=60).share("pass") <= 0.03 + noise(0.03, 60)


def test_the_interval_of_a_difference_of_skewed_costs_reaches_what_it_says() -> None:
    setting = Setting("cost_usd", 10, ("5", "5"), 1.5, effect=float(np.log(2)))
    random, truth = np.random.default_rng(5), float(np.exp(1.5**2 / 2))  # B costs twice as much
    found = [difference_of(random, setting).interval for _ in range(400)]
    promised = (
        sum(MIN_COVERAGE if interval.approx_coverage is None else interval.approx_coverage for interval in found) / 400
    )
    covered = sum(interval.low <= truth <= interval.high for interval in found) / 400
    assert covered >= promised - noise(promised, 400)


def test_the_check_can_fail() -> None:
    assert not Coverage(0.90, 0.93, 1_000).holds
    assert not Coverage(0.95, 0.93, 1_000, points=1).holds  # an interval without width
    assert Coverage(0.92, 0.93, 1_000).holds  # may be chance
