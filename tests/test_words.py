"""The words of formulas give the same on numbers, on numpy arrays and on columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from steelyard.metrics import clip, exp, log, missing, ratio, when
from steelyard.records import Missing

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
    assert in_arrays == pytest.approx(alone, rel=1e-15, nan_ok=True)
    assert in_columns == pytest.approx(alone, rel=1e-15, nan_ok=True)


def test_an_unknown_condition_gives_neither_branch() -> None:
    unknown = missing("nobody says")
    assert when(unknown, 1.0, 2.0) is unknown
    column = pl.DataFrame({"flag": [True, None, False]}).select(when(pl.col("flag"), 1.0, 2.0).alias("chosen"))
    assert column["chosen"].to_list() == [1.0, None, 2.0]


def test_clip_holds_both_ends() -> None:
    assert [clip(value, 1.0, 2.0) for value in (0.0, 1.5, 3.0)] == [1.0, 1.5, 2.0]
