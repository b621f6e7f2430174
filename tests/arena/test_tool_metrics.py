"""Metrics of a tool: from inputs that submissions bring, ranked within the tool, and in no score."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.arena import Arena, Receipt, create_arena, read_rules
from steelyard.errors import UnknownNameError, UsageError
from steelyard.profiles import load_profile
from steelyard.questions.arena.agent import arena_agent
from steelyard.questions.arena.rescore import arena_rescore
from steelyard.questions.arena.submit_runs import arena_submit_runs
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import Rejected, Run, Usage, encode_run
from steelyard.store import Store

PROFILE = """
name = "mine"
extends = "arena-community"
[constants.tool_metrics]
ant = ["pr_revert_rate", "cost_usd"]
"""


@pytest.fixture
def profile(tmp_path: Path) -> str:
    (tmp_path / "mine.toml").write_text(PROFILE)
    return str(tmp_path / "mine.toml")


def entry(number: int, agent: str = "ant", **more: object) -> dict[str, object]:
    told: dict[str, object] = {"id": f"{agent}{number}", "task_id": "t", "total_tokens": 900 + number}
    return told | {"tool_calls": 3, "agent": agent, **more}


@pytest.fixture
def arena(store: Store, profile: str) -> Arena:
    arena = create_arena(store, load_profile(profile))
    arena.add_task({"id": "t"})
    for number, reverted in enumerate((3, 1, 1)):
        inputs = {"total_changes": 4, "reverted_changes": reverted, "x_edit_failures": 2}
        arena.submit([entry(number, inputs=inputs)])
    arena.submit([entry(8), entry(9, "bee", inputs={"total_changes": 4, "reverted_changes": 0})])
    return arena


def test_submissions_are_ranked_within_their_tool(arena: Arena) -> None:
    told = arena_agent(arena, "ant")
    assert [metric.name for metric in told.metrics] == ["pr_revert_rate", "cost_usd"]
    found = {
        row.submission_id: (row.metrics["pr_revert_rate"].value, row.metrics["pr_revert_rate"].ranking)
        for row in told.submissions
    }
    # 3 of 4 and twice 1 of 4 changes were reverted; fewer is better: 1, 1, 3
    assert found == {"ant0": (0.75, 3), "ant1": (0.25, 1), "ant2": (0.25, 1), "ant8": (None, None)}
    reasons = {row.submission_id: row.metrics["pr_revert_rate"].reason for row in told.submissions}
    assert reasons["ant8"]
    assert arena_agent(arena, "bee").metrics == ()
    with pytest.raises(UnknownNameError, match="bee"):
        arena_agent(arena, "be")


def test_standings_show_them_beside_and_scores_stay(arena: Arena) -> None:
    plain = arena_task_leaderboard(arena, "t")
    shown = arena_task_leaderboard(arena, "t", metrics=["pr_revert_rate"])
    extra = {row.submission_id: row.extra_scores for row in shown.leaderboard}
    assert extra["ant1"] == {"pr_revert_rate": 0.25, "pr_revert_rate_ranking": 1}
    assert extra["bee9"] == {"pr_revert_rate": None, "pr_revert_rate_ranking": None}
    assert [row.overall_score for row in shown.leaderboard] == [row.overall_score for row in plain.leaderboard]
    with pytest.raises(UnknownNameError, match="pr_revert_rate"):
        arena_task_leaderboard(arena, "t", metrics=["pr_revert"])
    arena_rescore(arena, profile="arena-1")
    with pytest.raises(UsageError, match="lists no agent-specific metrics"):
        arena_task_leaderboard(arena, "t", metrics=["pr_revert_rate"])


def test_facts_do_not_make_another_submission(arena: Arena) -> None:
    (outcome,) = arena.submit([entry(0)])
    assert isinstance(outcome, Receipt)
    assert outcome.status == "known"


@pytest.mark.parametrize("inputs", [{"reverted": 1}, {"x_a": float("inf")}, {"total_changes": "x"}])
def test_facts_that_are_none_are_refused(arena: Arena, inputs: dict[str, object]) -> None:
    (outcome,) = arena.submit([entry(20, inputs=inputs)])
    assert isinstance(outcome, Rejected)


def test_a_metric_that_there_is_not_is_refused_with_the_profile(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text(PROFILE.replace("pr_revert_rate", "pr_revert"))
    with pytest.raises(UnknownNameError, match="pr_revert_rate"):
        read_rules(load_profile(str(tmp_path / "odd.toml")))


def test_the_share_of_cache_hits_is_ready_to_be_named(store: Store, tmp_path: Path) -> None:
    (tmp_path / "cache.toml").write_text(PROFILE.replace('"pr_revert_rate", "cost_usd"', '"cache_hit_rate"'))
    arena = create_arena(store, load_profile(str(tmp_path / "cache.toml")))
    arena.add_task({"id": "t"})
    usage = Usage(input_tokens=10, cache_read_tokens=30, output_tokens=5)
    run = Run(id="r1", task="t", agent="ant", usage=usage, tool_calls=2)
    (tmp_path / "runs.jsonl").write_bytes(encode_run(run) + b"\n")
    assert arena_submit_runs(arena, [tmp_path / "runs.jsonl"]).rejected == ()
    (told,) = arena_agent(arena, "ant").submissions
    assert told.metrics["cache_hit_rate"].value == 0.75  # 30 of 40


def test_runs_bring_the_facts_that_their_tool_s_metrics_need(arena: Arena, tmp_path: Path) -> None:
    usage = Usage(input_tokens=10, output_tokens=5)
    run = Run(id="r1", task="t", agent="ant", usage=usage, tool_calls=2, cost_usd=0.25)
    (tmp_path / "runs.jsonl").write_bytes(encode_run(run) + b"\n")
    assert arena_submit_runs(arena, [tmp_path / "runs.jsonl"]).rejected == ()
    told = {row.submission_id: row for row in arena_agent(arena, "ant").submissions}
    assert told["r1"].metrics["cost_usd"].value == 0.25
    assert arena_submit_runs(arena, [tmp_path / "runs.jsonl"]).receipts[0].status == "known"
