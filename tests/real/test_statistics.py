"""Real results with five attempts a task: our pass@k is what the benchmark itself published."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.statistics import passes_over_tasks

SAMPLE = (
    Path(__file__).parents[3] / "shared" / "samples" / "terminal-bench" / "orchestrator-qwen-3-coder" / "results.json"
)

pytestmark = pytest.mark.skipif(not SAMPLE.exists(), reason="the real samples are not beside this checkout")


@pytest.fixture(scope="module")
def published() -> dict:
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


def test_pass_at_k_is_as_published(published: dict) -> None:
    attempts = Counter(trial["task_id"] for trial in published["results"])
    passed = Counter(trial["task_id"] for trial in published["results"] if trial["is_resolved"])
    tries, wins = list(attempts.values()), [passed[task] for task in attempts]
    for k in ("2", "4", "5"):
        found = passes_over_tasks(tries, wins, int(k))
        assert found.estimate == pytest.approx(published["pass_at_k"][k], abs=1e-9)
        assert found.clusters == 80
    assert passes_over_tasks(tries, wins, 1).estimate == pytest.approx(published["accuracy"], abs=1e-9)


def test_the_ranking_shows_the_same_pass_at_k(published: dict) -> None:
    """The benchmark counts a trial without a verdict as failed."""
    place = sy.rank(SAMPLE.parent, by=["agent"], metrics=["pass_rate"], unscored="fail").groups[0]
    for k, value in published["pass_at_k"].items():
        assert place.pass_at_k[k].estimate == pytest.approx(value, abs=1e-12)
    assert place.score.estimate == published["accuracy"]
    assert (place.score.method, place.score.n, place.score.clusters) == ("gaffke", 400, 80)
    measured = sy.measure(SAMPLE.parent, unscored="fail").groups[0].metrics["pass_rate"]
    assert (measured.mean, measured.count) == (published["accuracy"], 400)


def test_trials_without_a_verdict_are_missing_unless_the_policy_fails_them(published: dict) -> None:
    statistics = sy.measure(SAMPLE.parent, interval="auto").groups[0].metrics["pass_rate"]
    unscored = sum(trial["is_resolved"] is None for trial in published["results"])
    assert (statistics.count, statistics.missing) == (400 - unscored, unscored)
    assert statistics.mean > published["accuracy"]
