"""The words of formulas give the same on numbers, on numpy arrays and on columns."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from steelyard.metrics import ExpressionError, clip, exp, log, missing, power, ratio, when
from steelyard.records import Missing, exact_mean

NONE = missing("none")
ROWS = [(4.0, 2.0), (1.0, 0.0), (0.5, 8.0), (3.0, 3.0)]
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "when": lambda a, b: when(a > b, a, b),
    "when, else missing": lambda a, b: when(a > b, a - b, NONE),
    "ratio": lambda a, b: ratio(a, b, at_zero=NONE),
    "ratio, at zero a number": lambda a, b: ratio(a, b, at_zero=7.0),
    "ratio of a number": lambda _, b: ratio(1.0, b, at_zero=NONE),
    "clip": lambda a, _: clip(a, 0.75, 3.5),
    "log": lambda a, _: log(a),
    "exp": lambda _, b: exp(b),
    "power": lambda a, _: power(a, 0.7),
    "power, of two columns": power,
}


def plain(value: Any) -> float:
    """The number; NaN stands for missing."""
    return math.nan if value is None or isinstance(value, Missing) else float(value)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", FORMULAS)
def test_a_word_gives_the_same_on_numbers_arrays_and_columns(name: str) -> None:
    formula = FORMULAS[name]
    alone = [plain(formula(a, b)) for a, b in ROWS]
    first, second = np.array(ROWS).T
    frame = pl.DataFrame({"a": first, "b": second})
    in_arrays = [plain(value) for value in formula(first, second).tolist()]
    in_columns = [plain(value) for value in frame.select(x=formula(pl.col("a"), pl.col("b")))["x"].to_list()]
    assert in_arrays == pytest.approx(alone, rel=0, abs=0, nan_ok=True)
    assert in_columns == pytest.approx(alone, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("word", [log, exp, lambda column: power(column, 0.7)])
def test_what_libraries_round_differently_is_computed_by_python(word: Callable[[Any], Any]) -> None:
    values = np.random.default_rng(2).random(20_000) + 1e-9
    alone = [word(value) for value in values.tolist()]
    frame = pl.DataFrame({"a": values}).lazy()
    assert word(values).tolist() == alone
    assert frame.select(x=word(pl.col("a"))).collect()["x"].to_list() == alone
    with pytest.raises(ExpressionError):
        word(nw.col("a"))


def test_a_branch_that_has_no_value_does_not_stop_the_other() -> None:
    frame = pl.DataFrame({"a": [-1.0, 4.0, None]})
    chosen = frame.select(x=when(pl.col("a") > 0, log(pl.col("a")), 0.0))["x"].to_list()
    assert chosen == [0.0, math.log(4.0), None]


def test_an_unknown_condition_gives_neither_branch() -> None:
    unknown = missing("nobody says")
    assert when(unknown, 1.0, 2.0) is unknown
    column = pl.DataFrame({"flag": [True, None, False]}).select(when(pl.col("flag"), 1.0, 2.0).alias("chosen"))
    assert column["chosen"].to_list() == [1.0, None, 2.0]


def test_clip_holds_both_ends() -> None:
    assert [clip(value, 1.0, 2.0) for value in (0.0, 1.5, 3.0)] == [1.0, 1.5, 2.0]


def test_a_metric_of_ones_own_with_a_logarithm_is_measured_with_pythons_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        """
from math import inf
from steelyard.metrics import Example, Required, log, metric

@metric(level="run", title="Log cost", unit="ratio", better="lower", bounds=(-inf, inf), spec="mine",
        formula="ln cost_usd", example=Example({"cost_usd": 1.0}, 0.0))
def log_cost(*, cost_usd: Required):
    "Cost by magnitude."
    return log(cost_usd)
""",
        encoding="utf-8",
    )
    monkeypatch.setenv("STEELYARD_METRICS", str(tmp_path))
    costs = (np.random.default_rng(4).random(500) + 0.01).tolist()
    code = f"""
import steelyard as sy
runs = [sy.Run(id=str(i), task="t", cost_usd=cost) for i, cost in enumerate({costs!r})]
found = sy.measure(runs, metrics=["log_cost"]).groups[0].metrics["log_cost"]
print(repr(found.mean), repr(found.max))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    logs = [math.log(cost) for cost in costs]
    assert done.stdout.split() == [repr(exact_mean(logs)), repr(max(logs))]
