"""How often each interval holds the truth and each test cries wolf, by simulation or, where possible, by enumeration.

    python -m benchmarks.coverage [--quick] [--write docs/statistics.md]

The nominal 95 % and 5 % are the named alternative that every row is held against. `--write` puts the table, with the
date, between the coverage marks of the page.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import stats

from steelyard.statistics.agreement import krippendorff_alpha, severity
from steelyard.statistics.bootstrap import bootstrap_mean
from steelyard.statistics.means import clustered, median_clustered, median_exact, student, wilson_clustered
from steelyard.statistics.multiplicity import holm
from steelyard.statistics.paired import (
    mcnemar_exact,
    paired_bootstrap,
    paired_plus_two,
    paired_ratios,
    paired_shares,
    paired_t,
    sign_flip,
    sign_flip_many,
)
from steelyard.statistics.pairwise import rank_bands, rank_intervals
from steelyard.statistics.passes import passes_over_tasks
from steelyard.statistics.proportions import clopper_pearson, wilson
from steelyard.statistics.ratios import fieller, ratio_bootstrap
from steelyard.statistics.results import Floats, Interval

Kind = Literal["interval", "exact interval", "cautious interval", "test", "exact test"]
PROMISES: dict[Kind, tuple[float, float]] = {
    "interval": (0.93, 0.97),
    "exact interval": (0.95, 1.0),
    "cautious interval": (0.95, 1.0),
    "test": (0.04, 0.06),
    "exact test": (0.0, 0.05),
}
DRAWS = 1_000
SEED = 7


@dataclass(frozen=True)
class Scenario:
    """One row: a method in its stated regime. `run` gives the share of trials that held (or cried wolf)."""

    method: str
    kind: Kind
    regime: str
    run: Callable[[np.random.Generator, int], float]
    trials: int
    """How many simulated data sets; 0 when the row is worked out exactly."""


@dataclass(frozen=True)
class Row:
    """A scenario's result."""

    scenario: Scenario
    share: float
    trials: int

    @property
    def noise(self) -> float:
        """Three standard errors of the simulation; 0 when the row is exact."""
        if self.trials == 0:
            return 0.0
        nominal = 0.95 if "interval" in self.scenario.kind else 0.05
        return 3 * float(np.sqrt(nominal * (1 - nominal) / self.trials))

    @property
    def holds(self) -> bool:
        """Whether the promise is kept, allowing a one-sided one the noise of its simulation."""
        least, most = PROMISES[self.scenario.kind]
        slack = 0.0 if self.scenario.kind in ("interval", "test") else self.noise
        return least - slack - 1e-12 <= self.share <= most + slack + 1e-12

    @property
    def near(self) -> bool:
        """Whether the promise may be kept for all that so short a simulation can tell."""
        least, most = PROMISES[self.scenario.kind]
        return least - self.noise - 1e-12 <= self.share <= most + self.noise + 1e-12


def _holds(interval: Interval, truth: float) -> bool:
    return interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high


def _share(trials: int, once: Callable[[], bool]) -> float:
    return sum(once() for _ in range(trials)) / trials


def _fresh(random: np.random.Generator) -> int:
    # the same draws in every trial would share one error among all of them
    return int(random.integers(2**32))


def _enumerated(method: Callable[..., Interval], n: int, shares: Floats) -> Floats:
    """Exact coverage for each true share: the probability of the counts whose interval holds it."""
    limits = [method(count, n) for count in range(n + 1)]
    low, high = np.array([one.low for one in limits]), np.array([one.high for one in limits])
    chance = stats.binom.pmf(np.arange(n + 1)[None, :], n, shares[:, None])
    return np.sum(chance * ((low <= shares[:, None]) & (shares[:, None] <= high)), axis=1)


def _wilson(n: int) -> Callable[[np.random.Generator, int], float]:
    return lambda _random, _trials: float(_enumerated(wilson, n, np.linspace(0.005, 0.995, 199)).mean())


def _clopper(n: int) -> Callable[[np.random.Generator, int], float]:
    return lambda _random, _trials: float(_enumerated(clopper_pearson, n, np.linspace(0.001, 0.999, 999)).min())


def _student(random: np.random.Generator, trials: int) -> float:
    return _share(trials, lambda: _holds(student(random.normal(3, 2, 10)), 3))


def _median_exact(_random: np.random.Generator, _trials: int) -> float:
    # the coverage does not depend on the distribution: the chance that the median lies between two order statistics
    worst = 1.0
    for n in range(6, 200):
        interval = median_exact(np.arange(1.0, n + 1))
        assert interval.low is not None
        worst = min(worst, 1 - 2 * float(stats.binom.cdf(int(interval.low) - 1, n, 0.5)))
    return worst


def _attempts(random: np.random.Generator, tasks: int) -> tuple[np.ndarray, np.ndarray]:
    """Task of each attempt, 3 to 7 attempts a task."""
    counts = random.integers(3, 8, tasks)
    return np.repeat(np.arange(tasks), counts), counts


def _clustered(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        labels, _ = _attempts(random, 30)
        values = random.normal(0, 1, 30)[labels] + random.normal(0, 1, len(labels))
        return _holds(clustered(values, labels), 0.0)

    return _share(trials, once)


def _passes(random: np.random.Generator, mean: float, tasks: int) -> Floats:
    """Pass chances of tasks: some easy, some hard, `mean` on average."""
    return random.beta(2 * mean, 2 * (1 - mean), tasks)


def _wilson_clustered(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        mean = random.uniform(0.1, 0.9)
        labels = np.repeat(np.arange(40), 5)
        passed = random.random(len(labels)) < _passes(random, mean, 40)[labels]
        return _holds(wilson_clustered(passed, labels), mean)

    return _share(trials, once)


def _bootstrap_mean(method: str) -> Callable[[np.random.Generator, int], float]:
    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            labels = np.repeat(np.arange(100), 3)
            values = random.gamma(2, 1, 100)[labels] * random.gamma(4, 0.25, len(labels))
            return _holds(bootstrap_mean(values, labels, method=method, resamples=DRAWS, seed=_fresh(random)), 2.0)

        return _share(trials, once)

    return run


def _median_clustered(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        labels = np.repeat(np.arange(50), 4)
        values = random.normal(0, 1, 50)[labels] + random.normal(0, 1, len(labels))
        return _holds(median_clustered(np.exp(values), labels), 1.0)

    return _share(trials, once)


def _costs(random: np.random.Generator, tasks: int) -> tuple[Floats, Floats, np.ndarray, float]:
    """Cost and pass of three attempts a task; hard tasks cost more. True ratio: E cost / E pass."""
    labels = np.repeat(np.arange(tasks), 3)
    ease = random.beta(2, 2, tasks)
    cost = (1.5 - ease)[labels] * random.gamma(4, 0.25, len(labels))
    passed = (random.random(len(labels)) < ease[labels]).astype(float)
    return cost, passed, labels, 1.0 / 0.5


def _fieller(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        cost, passed, labels, truth = _costs(random, 40)
        return _holds(fieller(cost, passed, labels), truth)

    return _share(trials, once)


def _ratio_bootstrap(method: str) -> Callable[[np.random.Generator, int], float]:
    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            cost, passed, labels, truth = _costs(random, 100)
            interval = ratio_bootstrap(cost, passed, labels, method=method, resamples=DRAWS, seed=_fresh(random))
            return _holds(interval, truth)

        return _share(trials, once)

    return run


def _differences(random: np.random.Generator, tasks: int, attempts: tuple[int, int], shift: float = 0.0) -> Floats:
    """Differences of pass shares by task: the same tasks, B's chance higher by about `shift`."""
    ease = _passes(random, 0.5, tasks)
    a = random.binomial(attempts[0], ease) / attempts[0]
    b = random.binomial(attempts[1], ease * (1 - shift) + shift) / attempts[1]
    return b - a


def _paired_t(random: np.random.Generator, trials: int) -> float:
    # the true difference: mean of shift x (1 - ease) = 0.2 x 0.5
    return _share(trials, lambda: _holds(paired_t(_differences(random, 30, (3, 5), 0.2))[0], 0.1))


def _plus_two(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        # one task in eight is open, the others always pass or always fail
        chance = np.where(random.random(60) < 0.125, 0.5, np.round(random.random(60)))
        a, b = random.binomial(2, chance) / 2, random.binomial(3, chance) / 3
        return _holds(paired_plus_two(b - a, span=1.0), 0.0)

    return _share(trials, once)


def _paired_shares(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        a, b = random.uniform(0.03, 0.3, 2)
        only_a, only_b, _ = random.multinomial(50, [a, b, 1 - a - b])
        return _holds(paired_shares(int(only_a), int(only_b), 50), b - a)

    return _share(trials, once)


def _paired_bootstrap(method: str) -> Callable[[np.random.Generator, int], float]:
    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            gaps = _differences(random, 100, (3, 5), 0.2)
            return _holds(paired_bootstrap(gaps, method=method, resamples=DRAWS, seed=_fresh(random)), 0.1)

        return _share(trials, once)

    return run


def _two_costs(random: np.random.Generator, tasks: int) -> list[tuple[Floats, Floats]]:
    """Mean cost and share of passes by task for two equal agents, three attempts each."""
    ease = random.beta(2, 2, tasks)
    sides = []
    for _ in range(2):
        cost = (1.5 - ease) * random.gamma(12, 1 / 12, tasks)
        sides.append((cost, random.binomial(3, ease) / 3))
    return sides


def _paired_ratio(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        a, b = _two_costs(random, 60)
        return _holds(paired_ratios(a, b, resamples=DRAWS, seed=_fresh(random))[0], 0.0)

    return _share(trials, once)


def _swap(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        a, b = _two_costs(random, 30)
        return _rejects(paired_ratios(a, b, resamples=999, seed=_fresh(random))[1].p_value)

    return _share(trials, once)


def _pass_at(*, all_of_them: bool) -> Callable[[np.random.Generator, int], float]:
    # for a uniform pass chance E[p²] = 1/3, so pass^2 = 1/3 and pass@2 = 1 - E[(1 - p)²] = 2/3
    truth = 1 / 3 if all_of_them else 2 / 3

    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            passed = random.binomial(5, random.random(40)).tolist()
            return _holds(passes_over_tasks([5] * 40, passed, 2, all_of_them=all_of_them), truth)

        return _share(trials, once)

    return run


def _alpha(random: np.random.Generator, trials: int) -> float:
    # units with variance 1 and judges' errors with variance 1: alpha is 1 / (1 + 1)
    def once() -> bool:
        return _holds(krippendorff_alpha(random.normal(0, 1, (60, 1)) + random.normal(0, 1, (60, 3))), 0.5)

    return _share(trials, once)


def _alpha_clustered(random: np.random.Generator, trials: int) -> float:
    # tasks and units within them with variance 1/2 each, judges' errors with variance 1: alpha is 1 / (1 + 1)
    def once() -> bool:
        tasks = np.repeat(np.arange(40), 3)
        truth = random.normal(0, np.sqrt(0.5), 40)[tasks] + random.normal(0, np.sqrt(0.5), 120)
        return _holds(krippendorff_alpha(truth[:, None] + random.normal(0, 1, (120, 3)), tasks), 0.5)

    return _share(trials, once)


def _alpha_nominal(random: np.random.Generator, trials: int) -> float:
    # a unit's true verdict is even, each judge reports it with chance 0.9: agreement 0.82 against 0.5 by chance
    def once() -> bool:
        truth = random.random((60, 1)) < 0.5
        votes = np.where(random.random((60, 3)) < 0.9, truth, ~truth)
        return _holds(krippendorff_alpha(votes, scale="nominal"), 0.64)

    return _share(trials, once)


def _severity(random: np.random.Generator, trials: int) -> float:
    # judges 0, +0.3 and -0.3: the second lies 0.3 - (-0.15) = 0.45 above the mean of the others
    def once() -> bool:
        labels = np.repeat(np.arange(30), 2)
        bias = random.normal(0, 0.2, (30, 3))[labels]
        leaning = np.array([0.0, 0.3, -0.3])
        scores = random.normal(0, 1, (60, 1)) + leaning + bias + random.normal(0, 0.3, (60, 3))
        return _holds(severity(scores, labels)[1], 0.45)

    return _share(trials, once)


def _rank_intervals(random: np.random.Generator, trials: int) -> float:
    strengths = np.array([0.0, 0.4, 0.8, 1.2, 1.2])  # two are equal: places 1 to 2 for both

    def once() -> bool:
        scores = random.normal(0, 1, (60, 1)) + strengths + random.normal(0, 1, (60, 5))
        best, worst = rank_intervals(scores, resamples=200, seed=_fresh(random))
        first, last = np.array([5, 4, 3, 1, 1]), np.array([5, 4, 3, 2, 2])
        return bool(np.all(best <= first) and np.all(worst >= last))

    return _share(trials, once)


def _bands(random: np.random.Generator, trials: int) -> float:
    strengths = np.array([0.0, 0.3, 0.6, 0.6])

    def once() -> bool:
        scores = random.normal(0, 1, (40, 1)) + strengths + random.normal(0, 1, (40, 4))
        pairs = list(itertools.combinations(range(4), 2))
        gaps = np.column_stack([scores[:, j] - scores[:, i] for i, j in pairs])
        adjusted = holm(sign_flip_many(gaps, resamples=499, seed=_fresh(random))[0])
        sure = np.zeros((4, 4), dtype=bool)
        for (i, j), gap, p_value in zip(pairs, gaps.mean(axis=0), adjusted, strict=True):
            if p_value <= 0.05:
                sure[(j, i) if gap > 0 else (i, j)] = True
        best, worst = rank_bands(sure)
        return bool(np.all(best <= [4, 3, 1, 1]) and np.all(worst >= [4, 3, 2, 2]))

    return _share(trials, once)


def _rejects(p_value: float | None) -> bool:
    return p_value is not None and p_value <= 0.05


def _t_test(random: np.random.Generator, trials: int) -> float:
    return _share(trials, lambda: _rejects(paired_t(_differences(random, 30, (3, 5)))[1].p_value))


def _flip_mixed(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        gaps = _differences(random, 30, (3, 5))
        return _rejects(sign_flip(gaps, resamples=999, seed=_fresh(random)).p_value)

    return _share(trials, once)


def _flip_drawn(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        return _rejects(sign_flip(random.normal(0, 1, 25), resamples=999, seed=_fresh(random)).p_value)

    return _share(trials, once)


def _flip_enumerated(random: np.random.Generator, _trials: int) -> float:
    # given the sizes of the differences every pattern of signs is equally likely: try them all
    gaps = np.abs(random.normal(0, 1, 10))
    return float(
        np.mean([_rejects(sign_flip(gaps * signs).p_value) for signs in itertools.product((-1, 1), repeat=10)])
    )


def _mcnemar(_random: np.random.Generator, _trials: int) -> float:
    # worst size over how many tasks disagree
    worst = 0.0
    for n in range(1, 101):
        rejected = [_rejects(mcnemar_exact(count, n - count).p_value) for count in range(n + 1)]
        worst = max(worst, float(stats.binom.pmf(np.arange(n + 1), n, 0.5)[rejected].sum()))
    return worst


def _holm(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        gaps = random.normal(0, 1, (20, 1)) * 0.5 + random.normal(0, 1, (20, 6))
        p_values, _ = sign_flip_many(gaps, resamples=499, seed=_fresh(random))
        return bool(np.any(holm(p_values) <= 0.05))

    return _share(trials, once)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("wilson", "interval", "20 runs of as many tasks, averaged over the share", _wilson(20), 0),
    Scenario("wilson", "interval", "100 runs of as many tasks, averaged over the share", _wilson(100), 0),
    Scenario("clopper-pearson", "exact interval", "20 runs, the worst share", _clopper(20), 0),
    Scenario("clopper-pearson", "exact interval", "100 runs, the worst share", _clopper(100), 0),
    Scenario("student", "interval", "10 values, one a task, not skewed", _student, 20_000),
    Scenario("clustered", "interval", "30 tasks or more, 3 to 7 attempts", _clustered, 20_000),
    Scenario(
        "wilson-clustered", "interval", "40 tasks or more, 5 attempts, shares 0.1 to 0.9", _wilson_clustered, 20_000
    ),
    Scenario("percentile", "interval", "100 tasks or more, skewed values", _bootstrap_mean("percentile"), 10_000),
    Scenario("bca", "interval", "100 tasks or more, skewed values", _bootstrap_mean("bca"), 10_000),
    Scenario("median-exact", "exact interval", "6 values or more, one a task, the worst n", _median_exact, 0),
    Scenario("median-clustered", "interval", "50 tasks or more, 4 attempts", _median_clustered, 20_000),
    Scenario("fieller", "interval", "cost of a pass, 40 tasks or more", _fieller, 20_000),
    Scenario(
        "percentile, ratio", "interval", "cost of a pass, 100 tasks or more", _ratio_bootstrap("percentile"), 10_000
    ),
    Scenario("bca, ratio", "interval", "cost of a pass, 100 tasks or more", _ratio_bootstrap("bca"), 10_000),
    Scenario("paired-t", "interval", "30 tasks or more, 3 against 5 attempts", _paired_t, 20_000),
    Scenario("paired-t+2", "cautious interval", "few of 60 tasks differ, 2 against 3 attempts", _plus_two, 20_000),
    Scenario(
        "bonett-price", "interval", "50 tasks tried once by each, averaged over the shares", _paired_shares, 20_000
    ),
    Scenario(
        "percentile, paired", "interval", "100 tasks or more, 3 against 5", _paired_bootstrap("percentile"), 10_000
    ),
    Scenario("bca, paired", "interval", "100 tasks or more, 3 against 5", _paired_bootstrap("bca"), 10_000),
    Scenario("percentile, difference of ratios", "interval", "cost of a pass, 60 tasks or more", _paired_ratio, 10_000),
    Scenario("pass@2", "interval", "40 tasks or more, 5 attempts", _pass_at(all_of_them=False), 20_000),
    Scenario("pass^2", "interval", "40 tasks or more, 5 attempts", _pass_at(all_of_them=True), 20_000),
    Scenario("krippendorff-interval", "interval", "60 units, 3 judges", _alpha, 20_000),
    Scenario("krippendorff-interval", "interval", "40 tasks, 3 units each, 3 judges", _alpha_clustered, 20_000),
    Scenario("krippendorff-nominal", "interval", "60 units, 3 judges", _alpha_nominal, 4_000),
    Scenario("severity", "interval", "30 tasks, 2 units each, 3 judges", _severity, 10_000),
    Scenario("rank intervals", "cautious interval", "5 agents, 60 tasks, all places together", _rank_intervals, 1_000),
    Scenario("rank bands", "cautious interval", "4 agents, 40 tasks, all places together", _bands, 4_000),
    Scenario("paired-t", "test", "30 tasks or more, 3 against 5 attempts", _t_test, 20_000),
    Scenario("sign-flip", "test", "30 tasks or more, 3 against 5 attempts", _flip_mixed, 10_000),
    Scenario("sign-flip", "exact test", "10 tasks, equal attempts, all patterns of signs", _flip_enumerated, 0),
    Scenario("sign-flip", "exact test", "25 tasks, equal attempts, drawn patterns", _flip_drawn, 10_000),
    Scenario("swap", "exact test", "cost of a pass, 30 tasks, equal attempts", _swap, 10_000),
    Scenario("mcnemar-exact", "exact test", "up to 100 tasks that disagree, the worst n", _mcnemar, 0),
    Scenario("holm over sign-flip", "exact test", "6 comparisons of 20 tasks, any false finding", _holm, 10_000),
)


def run(scenario: Scenario, *, quick: bool = False) -> Row:
    """One row; quick makes a tenth of the trials."""
    trials = scenario.trials // 10 if quick else scenario.trials
    random = np.random.default_rng([SEED, SCENARIOS.index(scenario)])
    return Row(scenario, scenario.run(random, trials), trials)


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| method | what | regime | promised | seen | data sets |", "|---|---|---|---|---|---|"]
    for row in rows:
        least, most = PROMISES[row.scenario.kind]
        if row.scenario.kind in ("interval", "test"):
            promised = f"{least:.0%} to {most:.0%}".replace("%", " %")
        else:
            promised = "at least 95 %" if least else "at most 5 %"
        counted = f"{row.trials:,}" if row.trials else "worked out"
        lines.append(
            f"| {row.scenario.method} | {row.scenario.kind} | {row.scenario.regime} | {promised} "
            f"| {row.share * 100:.2f} % | {counted} |"
        )
    return "\n".join(lines)


def write(page: Path, rows: list[Row], *, day: str) -> None:
    """Put the table between the page's coverage marks."""
    begin, end = "<!-- coverage: begin -->", "<!-- coverage: end -->"
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    made = f"Made on {day} by `python -m benchmarks.coverage`.\n\n{table(rows)}\n"
    page.write_text(f"{head}{begin}\n{made}{end}{tail}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Coverage of every interval and size of every test.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    parser.add_argument("--write", type=Path, help="the page that keeps the table")
    parser.add_argument("--only", help="rows whose method contains this")
    options = parser.parse_args()
    rows = []
    for scenario in SCENARIOS:
        if options.only and options.only not in scenario.method:
            continue
        started = time.perf_counter()
        row = run(scenario, quick=options.quick)
        rows.append(row)
        mark = "ok  " if row.holds or (options.quick and row.near) else "FAIL"
        print(
            f"{mark} {row.share * 100:6.2f} %  {scenario.kind:17} {scenario.method:22} {scenario.regime}"
            f"  ({time.perf_counter() - started:.1f} s)",
            flush=True,
        )
    if options.write:
        write(options.write, rows, day=datetime.now(UTC).date().isoformat())
    return 0 if all(row.holds or (options.quick and row.near) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
