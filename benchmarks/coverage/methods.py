"""Coverage of single methods and type I error of single tests in the regime they are for; some computed exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.coverage import arena_means, differences, figures, judges, passes, rank_intervals, repeats, speedups
from benchmarks.coverage._cells import Cell, Count, Simulation
from benchmarks.coverage._scenario import Scenario

EQUAL = (0.0,) * 10
TWO_SORTS = (0.0,) * 5 + (2.0,) * 5

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("wilson", "interval", "20 runs on 20 tasks, averaged over proportions", figures.wilson_enumerated(20), 0),
    Scenario(
        "wilson", "interval", "100 runs on 100 tasks, averaged over proportions", figures.wilson_enumerated(100), 0
    ),
    Scenario("clopper-pearson", "exact interval", "20 runs, worst proportion", figures.clopper_enumerated(20), 0),
    Scenario("clopper-pearson", "exact interval", "100 runs, worst proportion", figures.clopper_enumerated(100), 0),
    Scenario("student", "interval", "10 values, one per task, not skewed", figures.student_normal, 20_000),
    Scenario("clustered", "interval", "30 tasks or more, 3 to 7 attempts", figures.clustered_mean, 20_000),
    Scenario(
        "wilson-clustered",
        "interval",
        "40 tasks or more, 5 attempts, proportions 0.1 to 0.9",
        figures.clustered_proportion,
        20_000,
    ),
    Scenario("percentile", "interval", "100 tasks or more, skewed values", figures.drawn_mean("percentile"), 10_000),
    Scenario("bca", "interval", "100 tasks or more, skewed values", figures.drawn_mean("bca"), 10_000),
    Scenario(
        "median-exact", "exact interval", "6 values or more, one per task, worst n", figures.median_exact_worst, 0
    ),
    Scenario(
        "median-clustered", "conservative interval", "50 tasks or more, 4 attempts", figures.clustered_median, 20_000
    ),
    Scenario("fieller", "interval", "cost of pass, 40 tasks or more", figures.fieller_cost, 20_000),
    Scenario(
        "percentile, ratio", "interval", "cost of pass, 100 tasks or more", figures.drawn_ratio("percentile"), 10_000
    ),
    Scenario("bca, ratio", "interval", "cost of pass, 100 tasks or more", figures.drawn_ratio("bca"), 10_000),
    Scenario("paired-t", "interval", "30 tasks or more, 3 vs. 5 attempts", differences.paired_student, 20_000),
    Scenario(
        "paired-t+2",
        "conservative interval",
        "few of 60 tasks differ, 2 vs. 3 attempts",
        differences.few_differ,
        20_000,
    ),
    Scenario(
        "bonett-price",
        "interval",
        "50 tasks, one attempt per side, averaged over proportions",
        differences.single_attempts,
        20_000,
    ),
    Scenario(
        "percentile, paired",
        "interval",
        "100 tasks or more, 3 vs. 5",
        differences.drawn_difference("percentile"),
        10_000,
    ),
    Scenario("bca, paired", "interval", "100 tasks or more, 3 vs. 5", differences.drawn_difference("bca"), 10_000),
    Scenario(
        "percentile, difference of ratios",
        "interval",
        "cost of pass, 60 tasks or more",
        differences.drawn_ratios,
        10_000,
    ),
    Scenario(
        "pass@2",
        "conservative interval",
        "40 tasks, 5 attempts, uniform pass probabilities",
        passes.passes(40, 5, 2, share=0.5, icc=1 / 3),
        4_000,
    ),
    Scenario(
        "pass^2",
        "conservative interval",
        "40 tasks, 5 attempts, uniform pass probabilities",
        passes.passes(40, 5, 2, share=0.5, icc=1 / 3, all_of_them=True),
        4_000,
    ),
    Scenario("krippendorff-interval", "conservative interval", "60 units, 3 judges", judges.alpha_units, 20_000),
    Scenario(
        "krippendorff-interval",
        "conservative interval",
        "40 tasks, 3 units each, 3 judges",
        judges.alpha_tasks,
        20_000,
    ),
    Scenario("krippendorff-nominal", "conservative interval", "60 units, 3 judges", judges.alpha_votes(60, 0.5), 4_000),
    Scenario("severity", "interval", "30 tasks, 2 units each, 3 judges", judges.severe_judge, 10_000),
    Scenario(
        "rank intervals, strengths",
        "conservative interval",
        "5 agents, 60 tasks, all ranks together",
        rank_intervals.strengths(rank_intervals.normal((0.0, 0.4, 0.8, 1.2, 1.2), 60), (0.0, 0.4, 0.8, 1.2, 1.2)),
        2_000,
    ),
    Scenario(
        "rank intervals, means",
        "conservative interval",
        "4 agents, 40 tasks, all ranks together",
        rank_intervals.places(rank_intervals.normal((0.0, 0.3, 0.6, 0.6), 40), (0.0, 0.3, 0.6, 0.6)),
        4_000,
    ),
    Scenario("paired-t", "test", "30 tasks or more, 3 vs. 5 attempts", differences.student_test, 20_000),
    Scenario("sign-flip", "test", "30 tasks or more, 3 vs. 5 attempts", differences.flipped_mixed, 10_000),
    Scenario(
        "sign-flip", "exact test", "10 tasks, equal attempts, all patterns of signs", differences.flipped_enumerated, 0
    ),
    Scenario(
        "sign-flip", "exact test", "25 tasks, equal attempts, sampled patterns", differences.flipped_drawn, 10_000
    ),
    Scenario("swap", "exact test", "cost of pass, 30 tasks, equal attempts", differences.swapped_sides, 10_000),
    Scenario("mcnemar-exact", "exact test", "up to 100 tasks that disagree, worst n", differences.mcnemar_worst, 0),
    Scenario(
        "holm over sign-flip",
        "exact test",
        "6 comparisons of 20 tasks, family-wise error rate",
        differences.holm_family,
        10_000,
    ),
    Scenario(
        "rank intervals, strengths",
        "conservative interval",
        "10 equal agents, 10 tasks, 5 attempts, pass rate 0.5",
        rank_intervals.strengths(rank_intervals.passes(10, 10, 5, share=0.5), EQUAL),
        4_000,
    ),
    Scenario(
        "rank intervals, strengths",
        "conservative interval",
        "10 equal agents, 30 tasks, 5 attempts, pass rate 0.5",
        rank_intervals.strengths(rank_intervals.passes(10, 30, 5, share=0.5), EQUAL),
        4_000,
    ),
    Scenario(
        "rank intervals, means",
        "conservative interval",
        "10 equal agents, 10 tasks, 5 attempts, pass rate 0.5",
        rank_intervals.places(rank_intervals.passes(10, 10, 5, share=0.5), EQUAL),
        4_000,
    ),
    Scenario(
        "rank intervals, means",
        "conservative interval",
        "10 equal agents, 30 tasks, 5 attempts, pass rate 0.98",
        rank_intervals.places(rank_intervals.passes(10, 30, 5, share=0.98), EQUAL),
        4_000,
    ),
    Scenario(
        "rank intervals, means",
        "conservative interval",
        "10 equal agents, 30 tasks, log-normal costs, sigma 1.5",
        rank_intervals.places(rank_intervals.costs(EQUAL, 30, sigma=1.5), EQUAL),
        4_000,
    ),
    Scenario(
        "rank intervals, means",
        "conservative interval",
        "10 agents of two kinds, 30 tasks, log-normal costs, sigma 1.5",
        rank_intervals.places(rank_intervals.costs(TWO_SORTS, 30, sigma=1.5), TWO_SORTS),
        4_000,
    ),
    Scenario(
        "krippendorff-nominal",
        "conservative interval",
        "10 units, 3 judges, a tenth should pass",
        judges.alpha_votes(10, 0.1),
        4_000,
    ),
    Scenario(
        "krippendorff-nominal",
        "conservative interval",
        "30 units, 3 judges, a tenth should pass",
        judges.alpha_votes(30, 0.1),
        4_000,
    ),
    Scenario(
        "krippendorff-interval",
        "conservative interval",
        "10 units, 3 judges, scores near the upper end",
        judges.alpha_scores,
        4_000,
    ),
    Scenario(
        "pass@5",
        "conservative interval",
        "10 tasks, 5 attempts, pass rate 0.9",
        passes.passes(10, 5, 5, share=0.9, icc=0.3),
        4_000,
    ),
    Scenario(
        "pass@2",
        "conservative interval",
        "30 tasks, 2 attempts, pass rate 0.9",
        passes.passes(30, 2, 2, share=0.9, icc=0.3),
        4_000,
    ),
    Scenario(
        "pass@2",
        "conservative interval",
        "500 tasks, 5 attempts, pass rate 0.98",
        passes.passes(500, 5, 2, share=0.98, icc=0.7),
        2_000,
    ),
    Scenario(
        "pass^3",
        "conservative interval",
        "30 tasks, 5 attempts, pass rate 0.1",
        passes.passes(30, 5, 3, share=0.1, icc=0.3, all_of_them=True),
        4_000,
    ),
    Scenario(
        "arena, mean over tasks",
        "interval",
        "10 tasks, mean score 60",
        arena_means.mean_over_tasks(10, share=0.6, size=12),
        10_000,
    ),
    Scenario(
        "arena, mean over tasks",
        "conservative interval",
        "10 tasks, mean score 98",
        arena_means.mean_over_tasks(10, share=0.98, size=4),
        4_000,
    ),
    Scenario(
        "arena, mean over tasks",
        "conservative interval",
        "30 tasks, mean score 95",
        arena_means.mean_over_tasks(30, share=0.95, size=4),
        4_000,
    ),
    Scenario(
        "rank intervals, means",
        "conservative interval",
        "6 equal agents, 30 tasks, 1 or 5 attempts, pass rate 0.9",
        rank_intervals.unequal((1, 1, 1, 5, 5, 5), 30, share=0.9),
        2_000,
    ),
    Scenario(
        "benchmark",
        "conservative interval",
        "30 independent samples",
        speedups.benchmarks(speedups.independent(30)),
        20_000,
    ),
    Scenario(
        "benchmark",
        "labeled interval",
        "30 samples, neighbors correlate at 0.7",
        speedups.benchmarks(speedups.neighbors(30, 0.7)),
        20_000,
    ),
    Scenario(
        "benchmark",
        "labeled interval",
        "30 samples of 5 hidden processes, nine tenths of the variance between them",
        speedups.benchmarks(speedups.processes(30, 5, 0.9)),
        20_000,
    ),
    Scenario(
        "benchmark",
        "labeled interval",
        "30 samples of 5 hidden processes, half of the variance between them",
        speedups.benchmarks(speedups.processes(30, 5, 0.5)),
        20_000,
        least=0.89,
    ),
    Scenario(
        "mean log advantage",
        "labeled interval",
        "10 tasks, one in twenty is ten times as fast",
        speedups.advantage(10, factor=10),
        4_000,
        least=0.34,
    ),
    Scenario(
        "mean log advantage",
        "labeled interval",
        "30 tasks, one in twenty is ten times as fast",
        speedups.advantage(30, factor=10),
        4_000,
        least=0.71,
    ),
    Scenario(
        "mean log advantage",
        "labeled interval",
        "99 tasks, one in twenty is ten times as fast",
        speedups.advantage(99, factor=10),
        4_000,
    ),
    Scenario(
        "modal-exact",
        "conservative interval",
        "10 outputs, 98% of them equal",
        repeats.most_frequent(10, (0.98, 0.02)),
        10_000,
    ),
    Scenario(
        "modal-exact",
        "conservative interval",
        "20 outputs, five equally frequent",
        repeats.most_frequent(20, (0.2,) * 5),
        10_000,
    ),
)
EXACT = 1_000_000
"""Probabilities that are computed exactly are stored as so many data sets."""


def _simulated(scenario: Scenario) -> Simulation:
    least, most = scenario.promise

    def simulate(random: np.random.Generator, sets: int) -> Iterator[Count]:
        share = scenario.run(random, sets if scenario.trials else 0)
        made = sets if scenario.trials else EXACT
        what = "false rejection" if "test" in scenario.kind else "covers the truth"
        what += "" if scenario.trials else ", computed exactly"
        if least:
            yield Count(what, round(share * made), made, "least", least)
        if most < 1:
            yield Count(f"{what} too often" if least else what, round(share * made), made, "most", most)

    return simulate


def cells() -> Iterator[Cell]:
    """Yield the regimes."""
    for scenario in SCENARIOS:
        name = f"{scenario.method} ({scenario.kind}): {scenario.regime}"
        sets = scenario.trials or 1
        yield Cell("single methods", name, _simulated(scenario), sets=sets)
