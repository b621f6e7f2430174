"""Tasks that come in clusters, such as the repositories of SWE-bench."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.errors import UsageError
from steelyard.records import Run


def runs_of(
    seed: int, *, repositories: int = 12, effect: float = 0.8, instance: str = "{repo}__{repo}-{n}"
) -> list[Run]:
    """Equal agents on 8 tasks of each repository, whose pass probabilities differ by repository and agent."""
    random = np.random.default_rng(seed)
    runs = []
    for repo in range(repositories):
        shifts = {agent: random.normal(0, 0.8) for agent in "xy"}
        for n in range(8):
            level = random.normal(0, 0.5)
            for agent in "xy":
                passed = random.random() < stats.norm.cdf(0.25 + level + shifts[agent])
                name = f"repo{repo:02}"
                task = instance.format(repo=name, n=n)
                runs.append(
                    Run(id=f"{agent}-{name}-{n}", task=task, agent=agent, passed=bool(passed), extra={"x_repo": name})
                )
    return runs


def judged(runs: list[Run], **options):
    result = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"], **options)
    return result.pairs[0].metrics["pass_rate"], {finding.code: finding.message for finding in result.findings}


def test_repositories_must_confirm_a_claim_by_default():
    claims = {"default": 0, "x_repo": 0, "none": 0}
    for seed in range(30):
        runs = runs_of(seed)
        for cluster in claims:
            options = {} if cluster == "default" else {"cluster": cluster}
            claims[cluster] += judged(runs, **options)[0].is_significant
    # 10% of 30: the test over repositories errs in 5%; over tasks it errs in a quarter
    assert claims["default"] <= claims["x_repo"] <= 5
    assert claims["none"] > 5


def test_a_claim_that_only_tasks_support_names_both_intervals():
    runs = next(runs for seed in range(30) if judged(runs := runs_of(seed), cluster="none")[0].is_significant)
    found, codes = judged(runs)
    assert found.verdict == "inconclusive"
    assert "inconclusive; depends on clusters of tasks (95% CI over tasks" in found.sentence
    assert "95% CI over clusters" in found.sentence
    assert (
        "12 clusters (effective number: 12.0); a claim must be significant over tasks and over clusters"
        in codes["clusters"]
    )
    assert found.test.p_value > 0.05
    assert not found.difference.excludes(0.0)


def test_few_clusters_known_from_ids_are_a_finding_only():
    found, codes = judged(runs_of(1, repositories=6))
    assert found.difference.method == "paired-t"
    assert "6 clusters (effective number: 6.0), too few to test (at least 8)" in codes["clusters"]
    named, codes = judged(runs_of(1, repositories=5), cluster="x_repo")
    assert named.difference.method == "sign-flip-clusters"
    assert (named.difference.low, named.difference.high) == (-1.0, 1.0)
    assert "with 5 or fewer a sign-flip test cannot reach p < 0.05" in codes["clusters"]


def test_other_task_ids_have_no_clusters():
    _, codes = judged(runs_of(1, instance="{repo}-{n}"))
    assert "clusters" not in codes


def test_gate_uses_clusters_too(tmp_path):
    runs = runs_of(3)
    sides = [[run for run in runs if run.agent == agent] for agent in "xy"]
    paths = [str(write(tmp_path / f"{name}.jsonl", side)) for name, side in zip("xy", sides, strict=True)]
    rules = ["pass_rate >= baseline - 0.02", "pass_rate >= 0.2"]
    by_cluster = sy.gate(paths[1], baseline=paths[0], rule=rules, cluster="x_repo").rules
    by_task = sy.gate(paths[1], baseline=paths[0], rule=rules, cluster="none").rules
    for clustered, plain in zip(by_cluster, by_task, strict=True):
        assert (clustered.method, clustered.clusters, plain.clusters) == ("sign-flip-clusters", 12, 96)
        assert clustered.high - clustered.low > 1.3 * (plain.high - plain.low)
    shown = steelyard("gate", paths[1], "-a", paths[0], "--rule", rules[0], "--cluster", "x_repo", "--json")
    assert '"method":"sign-flip-clusters"' in shown.stdout.replace(" ", "")


def test_a_task_in_two_clusters_is_rejected():
    runs = runs_of(1)
    twice = Run(id="twice", task=runs[0].task, agent="x", passed=True, extra={"x_repo": "other"})
    with pytest.raises(UsageError, match="is in two clusters: 'other' and 'repo00'"):
        judged([*runs, twice], cluster="x_repo")
    with pytest.raises(UsageError, match="has no value of x_repo"):
        judged([*runs, Run(id="none", task="new", agent="x", passed=True)], cluster="x_repo")


def ranked(runs: list[Run], **options):
    return sy.rank(runs, by=["agent"], metrics=["pass_rate"], **options)


def test_rank_separates_groups_only_if_repositories_agree() -> None:
    leaders = {"default": 0, "x_repo": 0, "none": 0}
    for seed in range(30):
        for cluster in leaders:
            ranking = ranked(runs_of(seed), **({} if cluster == "default" else {"cluster": cluster}), resamples=1000)
            leaders[cluster] += tuple(ranking.groups[0].rank_interval) == (1, 1)
    # 10% of 30: the test over repositories errs in 5%; over tasks it errs in a quarter
    assert leaders["default"] <= leaders["x_repo"] <= 5
    assert leaders["none"] > 5


@pytest.mark.parametrize("metric", ["pass_rate", "cost_of_pass"])
def test_rank_by_cluster_agrees_with_compare(metric: str) -> None:
    runs = [msgspec.structs.replace(run, cost_usd=0.1 if run.agent == "x" else 0.3) for run in runs_of(3)]
    ranking = sy.rank(runs, by=["agent"], metrics=[metric], cluster="x_repo")
    margin = ranking.groups[0].margin
    assert margin is not None
    assert margin.difference.method == "sign-flip-clusters"
    assert margin.difference.clusters == 12
    assert (tuple(ranking.groups[0].rank_interval) == (1, 1)) is (margin.verdict == "better")
    assert ranking.test.endswith(" over clusters")
    codes = {finding.code: finding.message for finding in ranking.findings}
    assert "12 clusters (effective number: 12.0), the unit of analysis" in codes["clusters"]


def test_rank_scores_have_intervals_over_clusters() -> None:
    runs = runs_of(2)
    by_task, known, chosen = (
        {group.key["agent"]: group.score for group in ranked(runs, **options).groups}
        for options in ({"cluster": "none"}, {}, {"cluster": "x_repo"})
    )
    for agent in "xy":
        assert by_task[agent].estimate == chosen[agent].estimate
        assert (chosen[agent].method, chosen[agent].clusters) == ("sign-flip-clusters", 12)
        assert known[agent].low == min(by_task[agent].low, chosen[agent].low)
        assert known[agent].high == max(by_task[agent].high, chosen[agent].high)


def test_five_clusters_separate_no_groups() -> None:
    runs = [msgspec.structs.replace(run, passed=run.agent == "x") for run in runs_of(1, repositories=5)]
    assert [tuple(group.rank_interval) for group in ranked(runs, cluster="x_repo").groups] == [(1, 2), (1, 2)]
    assert [tuple(group.rank_interval) for group in ranked(runs).groups] == [(1, 1), (2, 2)]
    groups = ranked(runs, cluster="x_repo").groups
    assert groups[0].pareto_frequency is None
