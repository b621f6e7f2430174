"""A total has the same bits on every Python that the package supports."""

from __future__ import annotations

import pytest

from steelyard.records import sum_in_order


def test_every_step_is_rounded() -> None:
    assert sum_in_order([1.0, 1e100, 1.0, -1e100]) == 0.0  # compensated, as `sum` is from 3.12 on, it would be 2.0


def test_whole_numbers_stay_whole_and_nothing_is_zero() -> None:
    assert str(sum_in_order([2**60, 1])) == "1152921504606846977"
    assert str(sum_in_order([])) == "0"


def test_the_package_cannot_add_floats_with_sum_unnoticed() -> None:
    caller = {"__name__": "steelyard.somewhere"}
    exec("sum([1, 2])", caller)  # noqa: S102 - our own words
    with pytest.raises(AssertionError, match=r"steelyard\.somewhere adds floats with sum"):
        exec("sum([0.5, 1])", caller)  # noqa: S102 - our own words
