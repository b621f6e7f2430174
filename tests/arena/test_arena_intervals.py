"""An interval in any of the arena's views is of the figure beside it, weighted as that is."""

from __future__ import annotations

import random
import statistics
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

from arena_makers import make_arena, random_submission
from steelyard.arena import Arena, LeaderKey, Policy, read_rules, score_interval
from steelyard.profiles import load_profile
from steelyard.questions.arena.bias import arena_bias
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store

RULES = read_rules(load_profile("arena-1"))


def scores_by_task(arena: Arena, key: str, policy: Policy) -> dict[str | None, dict[str, list[Fraction]]]:
    """By tool (model, submitter) and task the overall scores, exactly."""
    scores: dict[str | None, dict[str, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
    for task in arena.tasks():
        for entry in arena_task_leaderboard(arena, task.id, policy=policy).leaderboard:
            scores[getattr(entry, key)][task.id].append(Fraction(str(entry.overall_score)))
    return scores


def uneven(store: Store, seed: int) -> Arena:
    """Tools with many submissions to one task and few to others, and some tasks without them."""
    rng = random.Random(seed)
    arena = make_arena(store)
    submissions = []
    for task in range(rng.choice((1, 2, 3, 7))):
        arena.add_task({"id": f"t{task}", "category": rng.choice(("debugging", "refactoring"))})
        count = rng.choice((1, 3, 12))
        submissions += [random_submission(rng, f"{task}-{number}", f"t{task}", number) for number in range(count)]
    rng.shuffle(submissions)
    arena.submit(submissions)
    return arena


@pytest.mark.parametrize("confidence", [None, 0.8])
@pytest.mark.parametrize("seed", range(6))
def test_every_interval_holds_the_figure_beside_it(store: Store, seed: int, confidence: float | None) -> None:
    arena = uneven(store, seed)
    policies: tuple[Policy, ...] = ("current", "as-submitted")
    keys: tuple[LeaderKey, ...] = ("agent", "model", "submitter")
    for policy in policies:
        for task in arena.tasks():
            shown = arena_task_leaderboard(arena, task.id, policy=policy, confidence=confidence).confidence_interval
            assert shown.estimate is not None
            assert 0 <= shown.low <= shown.estimate <= shown.high <= 100
        for key in keys:
            exact = scores_by_task(arena, key, policy)
            board = arena_leaderboard(arena, by=[key], policy=policy, confidence=confidence)
            for leader in (*board.overall, *(leader for each in board.categories for leader in each.leaders)):
                interval = leader.confidence_interval
                assert interval.estimate == leader.mean_score
                assert 0 <= interval.low <= leader.mean_score <= interval.high <= 100
                assert interval.n == leader.tasks
            for leader in board.overall:
                means = [statistics.mean(scores) for scores in exact[leader.key[key]].values()]
                assert leader.mean_score == round(float(statistics.mean(means)), 2)
        for tool in arena_bias(arena, policy=policy, confidence=confidence or 0.95).advantages:
            if tool.low is not None and tool.high is not None:
                assert tool.mean_difference is not None
                assert tool.low <= tool.mean_difference <= tool.high


def test_the_interval_across_tasks_is_by_task_as_its_mean_is(store: Store) -> None:
    arena = make_arena(store)
    said = {"tool_calls": 1, "iterations": 1, "agent": "ant", "success": True}
    # Under the defaults tokens 1,000 score 100 and 200,000 score 0; a time or cost that is unknown scores 50.
    # efficiency 100 or 50: overall .35 * 100 + .25 * 50 + .2 * 50 + .2 * 100 = 77.5 or 60.
    for task, sizes in (("a", (1_000,)), ("b", (200_000,) * 4), ("c", (1_000,)), ("d", (1_000, 200_000))):
        arena.add_task({"id": task})
        arena.submit(
            [
                {"id": f"{task}{place}", "task_id": task, "total_tokens": tokens, **said}
                for place, tokens in enumerate(sizes)
            ]
        )
    (leader,) = arena_leaderboard(arena, by=["agent"]).overall
    # By task 77.5, 60, 77.5, 68.75: mean 70.9375, deviation 8.3750...; over the eight submissions it would be 66.5625.
    assert leader.mean_score == 70.94
    # t with 3 degrees of freedom: 3.1824463053; the specification's 2.776 is for the scores of a task
    margin = 3.1824463053 * statistics.stdev([77.5, 60, 77.5, 68.75]) / 2
    interval = leader.confidence_interval
    assert (interval.low, interval.high) == (round(70.9375 - margin, 2), round(70.9375 + margin, 2))
    assert (interval.method, interval.n, interval.level) == ("student", 4, 0.95)
    (at_90,) = arena_leaderboard(arena, by=["agent"], confidence=0.9).overall
    # t with 3 degrees of freedom at 90%: 2.3533634348
    margin = 2.3533634348 * statistics.stdev([77.5, 60, 77.5, 68.75]) / 2
    interval = at_90.confidence_interval
    assert (interval.low, interval.high) == (round(70.9375 - margin, 2), round(70.9375 + margin, 2))
    assert interval.method == "student"


def test_a_mean_over_tasks_near_its_bound_is_not_certain() -> None:
    perfect = score_interval(Counter({10_000: 12}), RULES.interval, over_tasks=True)
    assert (perfect.estimate, perfect.high, perfect.method) == (100, 100, "gaffke")
    assert perfect.low == pytest.approx(100 * 0.025 ** (1 / 12), abs=0.3)  # as Clopper and Pearson's of 12 in 12
    nearly = score_interval(Counter({9_990: 11, 4_000: 1}), RULES.interval, over_tasks=True)
    assert nearly.method == "gaffke"
    assert nearly.low < nearly.estimate < nearly.high <= 100


def test_a_mean_over_tasks_is_held_as_often_as_promised() -> None:
    # easier tasks have more submissions, which moves neither the mean over tasks nor its interval
    random = np.random.default_rng(8)
    held = []
    for _ in range(300):
        means = np.round(100 * random.beta(8, 4, 10), 2)
        interval = score_interval(Counter((100 * means).round().astype(int).tolist()), RULES.interval, over_tasks=True)
        held.append(interval.low <= 100 * 8 / 12 <= interval.high)
    assert 0.915 < np.mean(held) < 0.99


def test_the_same_difference_on_a_few_tasks_is_not_systematic(store: Store) -> None:
    arena = make_arena(store)
    said = {"tool_calls": 1, "iterations": 1, "success": True}
    for task in ("a", "b"):
        arena.add_task({"id": task})
        arena.submit(
            [
                {"id": f"{task}-{agent}", "task_id": task, "total_tokens": tokens, "agent": agent, **said}
                for agent, tokens in (("ant", 1_000), ("bee", 200_000))
            ]
        )
    for advantage in arena_bias(arena).advantages:
        assert advantage.mean_difference in (17.5, -17.5)
        assert advantage.low < 0 < advantage.high
        assert not advantage.systematic
