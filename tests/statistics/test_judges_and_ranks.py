"""Agreement of judges, Bradley-Terry, ranked pairs, Pareto fronts and pass@k, each against an outside oracle."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa as their_cohen, fleiss_kappa as their_fleiss

from steelyard.errors import UsageError
from steelyard.statistics import (
    bradley_terry,
    cohens_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    pareto_frequencies,
    pareto_optimal,
    pass_at_k,
    passes_over_tasks,
    rank_intervals,
    ranked_pairs,
    severity,
    significantly_better,
    strengths_by_task,
    total_wins,
)
from steelyard.statistics._agreement import _made_up
from steelyard.statistics._proportions import pass_all_k

NAN = math.nan
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


@pytest.mark.parametrize(("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_own_example(scale, alpha):
    assert round(krippendorff_alpha(PUBLISHED, scale=scale).estimate, 3) == alpha


def _plain_alpha(table):
    """Alpha for interval data as its definition reads: mean squared gap of pairs within units against all pairs."""
    units = [row[~np.isnan(row)] for row in table]
    units = [row for row in units if len(row) >= 2]
    everything = np.concatenate(units)
    n = len(everything)
    seen = sum(sum((a - b) ** 2 for a, b in itertools.permutations(row, 2)) / (len(row) - 1) for row in units) / n
    expected = sum((a - b) ** 2 for a, b in itertools.permutations(everything, 2)) / (n * (n - 1))
    return 1 - seen / expected


ratings = st.lists(
    st.lists(st.one_of(st.integers(0, 4).map(float), st.just(NAN)), min_size=3, max_size=3), min_size=4, max_size=12
).filter(
    lambda rows: (
        len({v for row in rows if sum(not math.isnan(x) for x in row) > 1 for v in row if not math.isnan(v)}) > 1
    )
)


@given(ratings)
def test_alpha_is_what_its_definition_gives(rows):
    table = np.array(rows)
    assert krippendorff_alpha(table).estimate == pytest.approx(_plain_alpha(table), abs=1e-12)


@given(ratings, st.randoms())
def test_alpha_does_not_depend_on_the_order_of_units_or_judges(rows, random):
    table = np.array(rows)
    units, judges = list(range(len(rows))), [0, 1, 2]
    random.shuffle(units)
    random.shuffle(judges)
    for scale in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha(table, scale=scale) == krippendorff_alpha(table[units][:, judges], scale=scale)


@given(ratings)
def test_the_interval_of_alpha_leaves_out_one_unit_at_a_time_after_adding_four(rows):
    table = np.array(rows)
    kept = table[np.count_nonzero(~np.isnan(table), axis=1) >= 2]
    for scale in ("nominal", "ordinal", "interval"):
        interval = krippendorff_alpha(table, scale=scale)
        if interval.low is None:
            # scores without any disagreement leave nothing to make up
            assert len(kept) < 3 or (scale == "interval" and interval.estimate == 1)
            continue
        widened = np.vstack([kept, _made_up(kept, scale)])
        left = [
            krippendorff_alpha(np.delete(widened, unit, axis=0), scale=scale).estimate for unit in range(len(widened))
        ]
        g = len(widened)
        error = np.sqrt((g - 1) / g * np.sum((np.array(left) - np.mean(left)) ** 2))
        center = krippendorff_alpha(widened, scale=scale).estimate
        assert interval.low == pytest.approx(center - stats.t.ppf(0.975, g - 1) * error, abs=1e-9)
        assert interval.low <= interval.estimate <= interval.high <= 1


def test_units_are_made_up_of_the_two_frequent_verdicts():
    # ratings of three judges on average, 1 and 4 the most frequent
    units = _made_up(np.array([[1, 1, 1, NAN], [4, 4, 1, NAN], [4, 2, 1, NAN]]), "nominal")
    assert [row[~np.isnan(row)].tolist() for row in units] == [[1, 1, 1], [4, 4, 4], [1, 4, 4], [4, 1, 1]]


def test_full_agreement_of_few_votes_is_not_certain():
    interval = krippendorff_alpha([[1, 1, 1]] * 8 + [[0, 0, 0]] * 2, scale="nominal")
    assert interval.estimate == interval.high == 1
    assert interval.low < 0.9


@pytest.mark.parametrize("units", [10, 30])
def test_alpha_of_rare_verdicts_is_held_as_often_as_promised(units):
    # a tenth of the units are true, each of three judges errs in a tenth: without made-up units 71% and 88%
    random = np.random.default_rng(units)
    rated = 2 * 0.18 * 0.82  # a verdict is "true" with chance 0.1 x 0.9 + 0.9 x 0.1
    held = []
    for _ in range(300):
        truth = random.random((units, 1)) < 0.1
        interval = krippendorff_alpha(np.where(random.random((units, 3)) < 0.9, truth, ~truth), scale="nominal")
        if interval.estimate is not None:
            held.append(interval.low <= 1 - 0.18 / rated <= interval.high)
    assert np.mean(held) > 0.92


def test_alpha_of_one_verdict_is_missing_with_a_reason():
    interval = krippendorff_alpha(np.ones((5, 3)))
    assert interval.estimate is None
    assert "agreement is undefined" in interval.reason
    assert krippendorff_alpha([[1.0, NAN]]).reason == "no unit has two ratings"


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=40))
def test_cohens_kappa_agrees_with_statsmodels(pairs):
    table = np.zeros((3, 3))
    for a, b in pairs:
        table[a, b] += 1
    ours = cohens_kappa([a for a, _ in pairs], [b for _, b in pairs])
    if ours is None:
        assert len(set(itertools.chain(*pairs))) == 1
    else:
        assert ours == pytest.approx(their_cohen(table, return_results=False), abs=1e-12)


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=2, max_size=20))
def test_fleiss_kappa_agrees_with_statsmodels(rows):
    ours = fleiss_kappa(rows)
    if ours is None:
        assert len(set(itertools.chain(*rows))) == 1
    else:
        assert ours == pytest.approx(their_fleiss(aggregate_raters(np.array(rows))[0]), abs=1e-12)


def test_severity_is_the_distance_from_the_other_judges():
    found = severity([[0.5, 0.7, 0.9], [0.4, 0.6, 0.8]], ["a", "b"])
    # the first is 0.5 - 0.8 and 0.4 - 0.7 from the others, the third 0.9 - 0.6 and 0.8 - 0.5
    assert [one.estimate for one in found] == pytest.approx([-0.3, 0.0, 0.3])


def _games(seed=0, agents=4, tasks=80):
    random = np.random.default_rng(seed)
    return np.linspace(0, 1, agents) + random.normal(0, 1, (tasks, agents))


def test_bradley_terry_agrees_with_a_logistic_regression_of_statsmodels():
    wins = total_wins(_games())
    rows, outcome = [], []
    for i, j in itertools.combinations(range(4), 2):
        row = np.zeros(4)
        row[i], row[j] = 1, -1
        rows.append(row[1:])
        outcome.append([wins[i, j], wins[j, i]])
    fitted = sm.GLM(np.array(outcome), np.array(rows), family=sm.families.Binomial()).fit(tol=1e-12)
    strengths = bradley_terry(wins).values
    assert strengths[1:] - strengths[0] == pytest.approx(fitted.params, abs=1e-6)


def test_of_two_the_one_who_wins_is_the_stronger():
    strong, weak = bradley_terry(np.array([[0.0, 10.0], [0.0, 0.0]]), prior=1.0).values
    # 10.5 points against 0.5 with the tied game: odds 21, so ln 21 apart
    assert (strong, weak) == pytest.approx((math.log(21) / 2, -math.log(21) / 2))


@given(hnp.arrays(float, st.integers(2, 7).map(lambda size: (size, size)), elements=st.integers(0, 200).map(float)))
def test_bradley_terry_expects_for_everybody_the_points_they_have(wins):
    np.fill_diagonal(wins, 0.0)
    strengths = bradley_terry(wins, prior=1.0).values
    played = wins + 0.5 * (1 - np.eye(len(wins)))
    chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    expected = ((played + played.T) * chance).sum(axis=1) - (played + played.T).diagonal() / 2
    assert expected == pytest.approx(played.sum(axis=1), rel=1e-6, abs=1e-6)


def test_bradley_terry_of_agrestis_baseball_table():
    # Agresti (2002), Categorical Data Analysis, table 10.10: American League East 1987, wins of row over column;
    # his estimates against Baltimore (table 10.11's fit): 1.581, 1.436, 1.294, 1.248, 1.108, 0.684
    wins = np.array(
        [
            [0, 7, 9, 7, 7, 9, 11],
            [6, 0, 7, 5, 11, 9, 9],
            [4, 6, 0, 7, 7, 8, 12],
            [6, 8, 6, 0, 6, 7, 10],
            [6, 2, 6, 7, 0, 7, 12],
            [4, 4, 5, 6, 6, 0, 6],
            [2, 4, 1, 3, 1, 7, 0],
        ],
        dtype=float,
    )
    strengths = bradley_terry(wins).values
    expected = [1.581, 1.436, 1.294, 1.248, 1.108, 0.684]
    assert strengths[:6] - strengths[6] == pytest.approx(expected, abs=6e-4)


def test_strengths_without_limit_are_missing_with_a_reason():
    undefeated = bradley_terry(np.array([[0.0, 3.0], [0.0, 0.0]]))
    assert undefeated.values is None
    assert "no upper bound" in undefeated.reason
    assert bradley_terry(np.array([[0.0, 3.0], [0.0, 0.0]]), prior=1.0).values is not None


def test_ranked_pairs_of_the_tennessee_example():
    # the usual textbook election: 42% Memphis > Nashville > Chattanooga > Knoxville, 26% N > C > K > M,
    # 15% C > K > N > M, 17% K > C > N > M; by ranked pairs Nashville, Chattanooga, Knoxville, Memphis
    ballots = {(0, 1, 2, 3): 42, (1, 2, 3, 0): 26, (2, 3, 1, 0): 15, (3, 2, 1, 0): 17}
    wins = np.zeros((4, 4))
    for order, votes in ballots.items():
        for place, city in enumerate(order):
            for lower in order[place + 1 :]:
                wins[city, lower] += votes
    best, worst = ranked_pairs(wins)
    assert best.tolist() == worst.tolist() == [4, 1, 2, 3]


def test_ranked_pairs_leave_a_perfect_circle_open():
    best, worst = ranked_pairs(np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]], dtype=float))
    assert (best.tolist(), worst.tolist()) == ([1, 1, 1], [3, 3, 3])


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.permutations(range(5)))
def test_names_and_order_decide_no_rank(seed, order):
    scores = np.random.default_rng(seed).integers(0, 3, (12, 5)).astype(float)
    wins = total_wins(scores)
    for places, turned in zip(ranked_pairs(wins), ranked_pairs(wins[np.ix_(order, order)]), strict=True):
        assert places[order].tolist() == turned.tolist()
    for columns in (scores, strengths_by_task(scores)):
        shown, turned = (significantly_better(part, level=0.5, resamples=40) for part in (columns, columns[:, order]))
        assert np.array_equal(shown[np.ix_(order, order)], turned)


def test_places_hold_clear_differences_apart():
    scores = np.random.default_rng(1).normal(0, 1, (100, 1)) + np.array([0.0, 5.0, 5.0])
    scores += np.random.default_rng(2).normal(0, 0.5, (100, 3))
    for columns in (scores, strengths_by_task(scores)):
        best, worst = rank_intervals(significantly_better(columns, resamples=200))
        assert (best.tolist(), worst.tolist()) == ([3, 1, 1], [3, 2, 2])
    assert rank_intervals(np.zeros((3, 3), dtype=bool))[1].tolist() == [3, 3, 3]


def _stepped_one_at_a_time(scores, level):
    """Every pattern of signs; the largest statistic is compared with the largest of all that are left, and so on."""
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    gaps = np.column_stack([scores[:, i] - scores[:, j] for i, j in pairs])
    patterns = np.array([(1, *signs) for signs in itertools.product((-1, 1), repeat=len(scores) - 1)])
    sums = np.abs(patterns @ gaps)
    unit = np.sort(sums, axis=0)[math.ceil(0.99 * len(sums)) - 1]
    drawn, seen = sums / unit, np.abs(gaps.sum(axis=0)) / unit
    left, shown = list(range(len(pairs))), []
    while left:
        top = max(left, key=lambda pair: seen[pair])
        if np.mean(drawn[:, left].max(axis=1) >= seen[top] - 1e-9) > 1 - level:
            break
        shown.append(pairs[top] if gaps[:, top].sum() > 0 else pairs[top][::-1])
        left.remove(top)
    return set(shown)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.8, 0.95]))
def test_pairs_are_shown_as_stepping_down_one_at_a_time_shows_them(seed, level):
    random = np.random.default_rng(seed)
    scores = random.normal(0, 1, (9, 4)) + random.normal(0, 1.5, 4)
    assert set(zip(*np.nonzero(significantly_better(scores, level=level)), strict=True)) == _stepped_one_at_a_time(
        scores, level
    )


def test_heavy_tails_hide_no_difference_that_signs_show():
    # costs of five agents are e^2 times those of five others: in units of standard errors some pairs stay open
    random = np.random.default_rng(11)
    logs = random.normal(0, 1.06, (60, 1)) + random.normal(0, 1.06, (60, 10)) + np.repeat([0.0, 2.0], 5)
    assert significantly_better(-np.exp(logs)).tolist() == [[i < 5 <= j for j in range(10)] for i in range(10)]


def test_rounding_is_no_difference():
    scores = np.tile([[0.1 + 0.2, 0.3]], (20, 1))
    assert not significantly_better(scores).any()
    assert significantly_better(scores + np.array([0.0, 1e-6])).tolist() == [[False, False], [True, False]]


def test_what_tasks_add_to_strengths_is_how_far_they_move_them():
    scores = _games(agents=5, tasks=40)
    by_task = strengths_by_task(scores)
    strengths = bradley_terry(total_wins(scores), prior=1.0).values
    assert by_task.mean(axis=0) == pytest.approx(strengths)
    for left_out in range(5):
        without = bradley_terry(total_wins(np.delete(scores, left_out, axis=0)), prior=1.0).values
        expected = np.delete(by_task, left_out, axis=0).mean(axis=0)
        assert without == pytest.approx(expected, abs=0.01)  # a task in 40 moves them by some 0.03 to first order


def test_ten_equal_agents_on_ten_tasks_are_rarely_told_apart():
    # by draws of tasks with a normal quantile, some of them had a place of their own in every fourth data set
    random = np.random.default_rng(5)
    false = sum(
        significantly_better(strengths_by_task(random.binomial(5, random.beta(1, 1, (10, 1)), (10, 10)) / 5)).any()
        for _ in range(200)
    )
    assert false <= 19  # 5% are 10, three standard errors of 3.1 more


points = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(points)
def test_the_front_holds_exactly_those_that_nobody_beats(pairs):
    score, cost = [p[0] for p in pairs], [p[1] for p in pairs]
    slow = [not any(s >= a and c <= b and (s > a or c < b) for s, c in pairs) for a, b in zip(score, cost, strict=True)]
    assert pareto_optimal(score, cost).tolist() == slow


def test_front_shares_are_one_for_the_clear_and_between_for_the_close():
    random = np.random.default_rng(0)
    noise = random.normal(0, 0.1, (50, 3))
    shares = pareto_frequencies(np.array([0.9, 0.5, 0.5]) + noise, np.array([1.0, 1.0, 0.2]) + 0 * noise, resamples=500)
    assert shares[0] == 1.0
    assert shares[1] == 0.0
    assert shares[2] == 1.0


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_what_drawing_every_subset_gives(case):
    n, c, k = case
    outcomes = [1] * c + [0] * (n - c)
    drawn = list(itertools.combinations(outcomes, k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(one) for one in drawn) / len(drawn), abs=1e-15)
    assert pass_all_k(n, c, k) == pytest.approx(sum(all(one) for one in drawn) / len(drawn), abs=1e-15)


def test_pass_at_k_is_exact_where_floats_overflow():
    # 1 - C(1000, 500) / C(2000, 500): the binomials have more than 300 digits
    assert 0.999 < pass_at_k(2000, 1000, 500) <= 1.0
    assert pass_at_k(10**4, 1, 5_000) == 0.5
    assert pass_at_k(3, 1, 4) is None
    with pytest.raises(UsageError):
        pass_at_k(3, 4, 1)


def test_pass_at_one_is_the_mean_over_tasks_and_short_tasks_are_left_out():
    interval = passes_over_tasks([5, 5, 1], [5, 0, 1], 1)
    assert interval.estimate == pytest.approx(2 / 3)
    assert passes_over_tasks([5, 5, 1], [5, 0, 1], 2).n == 2
    assert passes_over_tasks([1], [1], 2).reason == "no task has 2 attempts"


def test_tasks_that_all_pass_leave_their_pass_at_k_open():
    # with Student's bounds nine in ten such data sets had an interval from 1 to 1
    interval = passes_over_tasks([5] * 10, [4] * 10, 5)
    assert interval.estimate == interval.high == 1
    assert interval.low == pytest.approx(0.025 ** (1 / 10), abs=0.002)  # Clopper and Pearson's of 10 in 10


@given(st.lists(st.tuples(st.integers(2, 6), st.integers(0, 6)), min_size=2, max_size=12), st.booleans())
def test_passes_have_an_interval_between_0_and_1_that_holds_them(tasks, all_of_them):
    tries = [n for n, _ in tasks]
    passed = [min(c, n) for n, c in tasks]
    interval = passes_over_tasks(tries, passed, 2, all_of_them=all_of_them)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.high - interval.low > 0.1


def test_pass_at_k_holds_its_truth_where_most_tasks_pass():
    # 30 tasks of which nine in ten pass every attempt: Student's bounds held 1 - 0.1 in 80% of the data sets
    random = np.random.default_rng(3)
    held = [
        interval.low <= 0.9 <= interval.high
        for interval in (passes_over_tasks([2] * 30, (2 * (random.random(30) < 0.9)).tolist(), 2) for _ in range(300))
    ]
    assert np.mean(held) > 0.92
