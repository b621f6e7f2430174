"""A score of its day is labeled and explained by the profile that was in force when it was made."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from arena_makers import changed_profile, make_arena, random_submission, random_task
from steelyard.arena import Arena, Policy, ScoredBy, evaluation
from steelyard.cli import run
from steelyard.profiles import Profile, load_profile
from steelyard.questions.arena.history import arena_history
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import iso
from steelyard.store import Store

WEIGHTS = {"efficiency_weight": 0.05, "correctness_weight": 0.5}


def mine(name: str = "mine", **constants: object) -> Profile:
    return Profile(name=name, spec="arena", constants=changed_profile(**WEIGHTS, **constants).constants)


def give(arena: Arena, *numbers: int) -> None:
    arena.submit(
        [
            {"id": f"s{n}", "task_id": "task", "total_tokens": 900 * n, "tool_calls": n, "submitter": "ada"}
            | {"execution_time": 100 * n, "estimated_cost": n / 7, "submitted_at": f"2026-01-0{n}T00:00:00Z"}
            for n in numbers
        ]
    )


@pytest.fixture
def arena(store: Store, clock: list[int]) -> Arena:
    """Six submissions by arena-1, then another profile, then two by that."""
    made = make_arena(store, policy="as-submitted")
    made.add_task({"id": "task"})
    give(made, 1, 2, 3, 4, 5, 6)
    clock[0] += 1_000_000
    made.rescore_tasks(profile=mine())
    clock[0] += 1_000_000
    give(made, 7, 8)
    return made


def check_agreement(arena: Arena, ruled: dict[str, Profile]) -> None:
    """Leaderboards, evaluations and history say the same of every submission, by the profile of its day."""
    for task in {one.id for one in arena.tasks()}:
        asked: tuple[Policy, ...] = ("current", "as-submitted")
        for policy in asked:
            for one in arena_task_leaderboard(arena, task, policy=policy).leaderboard:
                profile = ruled[one.submission_id] if policy == "as-submitted" else None
                assert one.profile == (profile.name if profile else arena.rules.name)
                if policy == arena.policy:
                    found = evaluation(arena, one.submission_id)
                    scores = {score.name: score for score in found.scores}
                    assert found.profile == one.profile
                    assert found.receipt.overall_ranking == one.overall_ranking
                    for name in ("overall", "efficiency", "speed", "cost", "correctness", "adjusted"):
                        value = getattr(one, f"{name}_score")
                        assert getattr(found.receipt, f"{name}_score") == scores[f"{name}_score"].value == value
                    assert scores["overall_score"].constants == one.breakdown
        for moment in arena_history(arena, task=task).moments:
            assert moment.profile == ruled[moment.submission_id].name


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("seed", range(3))
def test_every_view_tells_one_score_by_the_profile_that_made_it(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    arena = make_arena(store, policy=rng.choice(("current", "as-submitted")))
    force, ruled = load_profile("arena-1"), dict[str, Profile]()
    for step in range(6):
        if step in (0, 2):
            arena.add_task(random_task(rng, f"t{step}"))
        names = [one.id for one in arena.tasks()]
        for number in range(rng.choice((0, 1, 7))):
            one = random_submission(rng, f"{step}-{number}", rng.choice(names), number)
            arena.submit([one])
            ruled[one["id"]] = force
        if rng.random() < 0.6:
            floor = rng.choice((3, 5, 9))
            baseline = {**load_profile("arena-1").constants["baseline"], "submissions": floor}
            force = mine(f"mine-{step}", speed_exponent=rng.uniform(0.1, 2), baseline=baseline)
            arena.rescore_tasks(profile=force)
        else:
            arena.rescore_tasks(policy=rng.choice(("current", "as-submitted")))
        check_agreement(arena, ruled)


def test_standings_name_the_profiles_that_made_their_scores(arena: Arena) -> None:
    found = arena_task_leaderboard(arena, "task", top=2)
    made = (
        ScoredBy(profile="arena-1", since="1970-01-01T00:00:01+00:00", submissions=6),
        ScoredBy(profile="mine", since="1970-01-01T00:00:02+00:00", submissions=2),
    )
    assert (found.profile, found.scored_by) == ("mine", made)
    assert arena_leaderboard(arena).scored_by == made
    (now,) = arena_task_leaderboard(arena, "task", policy="current").scored_by
    assert (now.profile, now.submissions) == ("mine", 8)
    assert arena_leaderboard(arena, policy="current").scored_by == (now,)
    (then,) = arena_task_leaderboard(arena, "task", policy="current", until=iso(1_500_001)).scored_by
    assert (then.profile, then.submissions) == ("arena-1", 6)


def test_an_arena_of_the_policy_current_tells_scores_of_their_day_by_their_profile(store: Store) -> None:
    arena = make_arena(store)
    arena.add_task({"id": "task"})
    give(arena, 1, 2)
    arena.rescore_tasks(profile=mine())
    rows = arena_task_leaderboard(arena, "task", policy="as-submitted").to_dicts()
    assert {row["profile"] for row in rows} == {"arena-1"}
    assert {row["answer_profile"] for row in rows} == {"mine"}
    assert all(row["efficiency_weight"] == 0.35 for row in rows)
    assert {row["profile"] for row in arena_task_leaderboard(arena, "task").to_dicts()} == {"mine"}


def test_a_bound_is_a_default_by_the_rules_of_the_day(store: Store) -> None:
    arena = make_arena(store, policy="as-submitted")
    arena.add_task({"id": "task"})
    give(arena, 1, 2, 3, 4, 5, 6, 7)
    baseline = {**load_profile("arena-1").constants["baseline"], "submissions": 7}
    arena.rescore_tasks(profile=mine(baseline=baseline))
    give(arena, 8)
    assert evaluation(arena, "s5").sources["max_tokens"] == "default of the profile"  # 4 before it, of 5
    assert evaluation(arena, "s6").sources["max_tokens"] == "baseline version 2, 5 submissions"  # 5 of 5
    assert evaluation(arena, "s8").sources["max_tokens"] == "baseline version 4, 7 submissions"  # 7 of 7


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    text = "".join(f"{name} = {value}\n" for name, value in WEIGHTS.items())
    (tmp_path / "mine.toml").write_text(f'name = "mine"\nspec = "arena"\nextends = "arena-1"\n[constants]\n{text}')
    return {"profile": str(tmp_path / "mine.toml")}


def at(store: Store) -> tuple[str, str]:
    address = store.url.set(drivername=store.url.get_backend_name()).render_as_string(hide_password=False)
    return ("--store", address)


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> Any:  # Any: JSON values
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_one_answer_does_not_contradict_itself(arena: Arena, capsys: pytest.CaptureFixture[str]) -> None:
    for name, profile in (("s3", "arena-1"), ("s8", "mine")):
        found = asked(capsys, "arena", "show", name, "overall_score", *at(arena.store))
        assert found["receipt"]["overall_score"] == found["scores"][0]["value"]
        assert found["profile"] == profile
        same = asked(capsys, "explain", at(arena.store)[1], "overall_score", "--run", name)
        assert (same["explanation"]["value"], same["profile"]) == (found["scores"][0]["value"], profile)
    listed = asked(capsys, "arena", "leaderboard", "task", *at(arena.store))["leaderboard"]
    rows = {row["submission_id"]: row for row in listed}
    assert (rows["s3"]["profile"], rows["s8"]["profile"]) == ("arena-1", "mine")
    assert rows["s3"]["breakdown"]["efficiency_weight"] == 0.35
    assert rows["s8"]["breakdown"]["efficiency_weight"] == 0.05


def test_the_table_names_profiles_where_they_differ(arena: Arena, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["arena", "leaderboard", "task", *at(arena.store)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert any("profile" in line and "rank" in line for line in shown)
    assert "scored by arena-1 (6 submissions), mine (2 submissions); current mine, policy" in " ".join(shown)
    assert run(["arena", "leaderboard", "task", "--policy", "current", *at(arena.store)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert not any("profile" in line and "rank" in line for line in shown)
    assert "task, mine, policy current, baseline version" in "\n".join(shown)
    assert run(["arena", "history", "--task", "task", *at(arena.store)]) == 0
    shown = capsys.readouterr().out.splitlines()
    profiles = [line.split()[-1] for line in shown if line.endswith(("arena-1", "mine"))]
    assert profiles == ["arena-1"] * 6 + ["mine"] * 2


def test_profiles_of_one_name_are_told_apart_by_their_time(
    arena: Arena, clock: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    clock[0] += 1_000_000
    arena.rescore_tasks(profile=mine(speed_exponent=0.1))
    give(arena, 9)
    assert run(["arena", "leaderboard", "task", *at(arena.store)]) == 0
    told = capsys.readouterr().out
    told = " ".join(told.split())
    assert "mine of 1970-01-01T00:00:02+00:00 (2 submissions), mine of 1970-01-01T00:00:04+00:00 (1 submission)" in told


def test_a_rescore_says_that_scores_of_their_day_stay(
    store: Store, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    arena = make_arena(store, policy="as-submitted")
    arena.add_task({"id": "task"})
    give(arena, 1, 2, 3, 4, 5, 6)
    before = [one.overall_score for one in arena_task_leaderboard(arena, "task").leaderboard]
    assert run(["arena", "rescore", "--profile", files["profile"], *at(store)]) == 0
    shown = capsys.readouterr().out
    assert "rescored with profile mine, policy" not in shown
    assert "6 submissions ranked by their original scores; new submissions are scored by mine" in shown
    assert [one.overall_score for one in arena_task_leaderboard(arena, "task").leaderboard] == before
    found = asked(capsys, "arena", "rescore", *at(store))
    assert (found["submissions"], found["rescored"], found["profile"]) == (6, 0, "mine")
    found = asked(capsys, "arena", "rescore", "--policy", "current", *at(store))
    assert (found["submissions"], found["rescored"], found["profile"]) == (6, 6, "mine")
