from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from steelyard.metrics import catalog
from steelyard.questions.repeatability._distance import MetricInputs, prompt_intervals, prompt_metrics
from steelyard.records import Missing
from steelyard.statistics import clopper_pearson, modal_mass

METRICS = {one.name: one for one in catalog().at("prompt")}
distances = st.sampled_from([0.0, 0.05, 0.1, 0.5, 1.0]) | st.floats(0, 1)
samples = st.lists(st.tuples(st.sampled_from("abcd"), distances, distances), max_size=12)


def compared(rows: list[tuple[str, float, float]], *, has_canon: bool = True) -> MetricInputs:
    signatures = [row[0] for row in rows]
    return MetricInputs(
        signatures, signatures, [row[1] for row in rows], [row[2] for row in rows], signatures, has_canon
    )


@given(samples, st.booleans())
def test_every_metric_lies_in_its_range_or_says_why_it_is_missing(
    rows: list[tuple[str, float, float]], canon: bool
) -> None:
    for name, value in prompt_metrics(compared(rows, has_canon=canon), tau=0.1).items():
        low, high = METRICS[name].bounds
        assert value.reason if isinstance(value, Missing) else low <= value <= high


@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_outputs_does_not_matter(rows: list[tuple[str, float, float]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    first, second = compared(rows), compared(shuffled)
    metrics = prompt_metrics(first, tau=0.1)
    assert metrics == prompt_metrics(second, tau=0.1)
    assert prompt_intervals(first, metrics) == prompt_intervals(second, metrics)


@given(samples)
def test_other_signatures_with_the_same_pattern_give_the_same_numbers(rows: list[tuple[str, float, float]]) -> None:
    renamed = [(f"{row[0] * 3}", row[1], row[2]) for row in rows]
    without_texts = {"mean_pairwise_distance", "pairs_within_tau"}  # these are about the texts themselves
    first, second = (prompt_metrics(compared(one), tau=0.1) for one in (rows, renamed))
    assert all(first[name] == second[name] for name in first if name not in without_texts)


def test_the_published_vectors_come_out() -> None:
    mixed = prompt_metrics(compared([("s1", 0.5, 0.0), ("s1", 0.5, 0.0), ("s2", 0.8, 0.3), ("s3", 0.2, 0.0)]), tau=0.1)
    expected = {"r_raw": 0.5, "r_anchor": 0.75, "mu_pre": 0.5, "mu_post": 0.075, "rescue_rate": 0.75}
    assert {name: mixed[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    perfect = prompt_metrics(compared([("s1", 0.0, 0.0)] * 3), tau=0.1)
    assert (perfect["r_raw"], perfect["r_anchor"], perfect["p_tau_pre"], perfect["rescue_rate"]) == (1, 1, 1, 0)
    none = prompt_metrics(compared([("s1", 0.8, 0.7), ("s2", 0.9, 0.8)]), tau=0.1)
    assert (none["r_raw"], none["r_anchor"], none["rescue_rate"]) == (0.5, 0, 0)


def test_one_output_repeats_itself_and_none_repeats_nothing() -> None:
    assert prompt_metrics(compared([("a", 0.3, 0.3)]), tau=0.1)["r_raw"] == 1.0
    for has_canon in (True, False):
        empty = prompt_metrics(compared([], has_canon=has_canon), tau=0.1)
        assert (empty.pop("r_raw"), empty.pop("r_anchor")) == (0.0, 0.0)
        assert set(empty.values()) == {Missing("no outputs")}
        assert prompt_intervals(compared([]), empty) == {}


def test_without_a_canon_the_anchor_and_its_gain_are_zero_and_what_repair_did_is_unmeasurable() -> None:
    metrics = prompt_metrics(compared([("a", 1.0, 1.0), ("b", 1.0, 1.0)], has_canon=False), tau=0.1)
    assert (metrics["r_anchor"], metrics["delta_r_anchor"]) == (0.0, 0.0)
    assert (metrics["mu_pre"], metrics["mu_post"]) == (1.0, 1.0)
    unmeasurable = {name for name, value in metrics.items() if isinstance(value, Missing)}
    assert unmeasurable == {
        "rescue_rate",
        "rescue_rate_noncanonical",
        "delta_r_anchor_measured",
        "delta_mu",
        "delta_p_tau",
    }
    assert all("no canon" in str(metrics[name]) for name in unmeasurable)


def test_tau_itself_is_within_tau() -> None:
    found = prompt_metrics(compared([("a", 0.1, 0.1), ("b", 0.1000001, 0.0)]), tau=0.1)
    assert (found["p_tau_pre"], found["p_tau_post"]) == (0.5, 1.0)


def test_shares_and_the_modal_mass_have_exact_intervals() -> None:
    rows = [("a", 0.0, 0.0)] * 9 + [("b", 0.4, 0.4)] * 11
    found = compared(rows)
    intervals = prompt_intervals(found, prompt_metrics(found, tau=0.1))
    assert intervals["r_anchor"] == clopper_pearson(9, 20)
    assert (intervals["r_anchor"].low, intervals["r_anchor"].high) == pytest.approx((0.230578, 0.684722), abs=1e-6)
    assert intervals["r_raw"] == modal_mass([9, 11])
    assert not intervals["r_raw"].excludes(0.55)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8))
def test_the_modal_interval_stays_inside_what_is_possible(counts: list[int]) -> None:
    interval = modal_mass(counts)
    n = sum(counts)
    if n < 2:
        assert interval.low is None
        assert interval.reason
    else:
        assert interval.low is not None
        assert interval.high is not None
        assert 0 <= interval.low < max(counts) / n <= interval.high <= 1
        assert interval.high - interval.low > 0.02  # equal outputs are no proof that all will be


@pytest.mark.parametrize("chances", [[1.0], [0.98, 0.02], [0.5, 0.5], [0.1] * 10, [0.4, *[0.01] * 60]])
@pytest.mark.parametrize("n", [2, 5, 20])
def test_the_modal_interval_holds_the_chance_of_the_likeliest_output(chances: list[float], n: int) -> None:
    drawn = np.random.default_rng(1).multinomial(n, chances, size=400)
    held = [modal_mass(counts).low <= max(chances) <= modal_mass(counts).high for counts in drawn.tolist()]
    assert sum(held) >= 0.92 * 400  # 95%, less three standard errors of 400


def test_only_the_canon_itself_counts_as_the_canon() -> None:
    near = compared([("a", 0.0, 0.0), ("b", 0.5, 0.04), ("c", 0.5, 0.0), ("d", 0.5, 0.5)])
    metrics = prompt_metrics(near, tau=0.1)
    assert metrics["r_anchor"] == 0.5  # 2 of 4 are at distance 0 after repair
    assert metrics["r_anchor_pre"] == 0.25
    assert metrics["rescue_rate"] == 0.25  # the third; the first was the canon before
    assert metrics["p_tau_post"] == 0.75


def test_equal_distances_between_outputs_have_that_mean() -> None:
    # "aaaaaaaaab", "aaaaaaaaac" and "aaaaaaaaad" are 0.1 apart each; 0.1 + 0.1 + 0.1 rounded, over 3, would be more
    texts = ["a" * 9 + last for last in "bcd"]
    given = MetricInputs(texts, texts, [0.1] * 3, [0.1] * 3, texts, has_canon=True)
    metrics = prompt_metrics(given, tau=0.1)
    assert (metrics["mean_pairwise_distance"], metrics["mu_pre"]) == (0.1, 0.1)
