"""What an arena learns: at versions, the same on every path, beside the scores and in none of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from arena_makers import changed_profile, make_arena
from model_arenas import MODELS, TOOLS, as_if_tested, fill, made_submissions, made_tasks
from steelyard.arena import Arena, create_arena, fit_if_due, open_arena
from steelyard.cli import run
from steelyard.errors import ProfileError, UnknownNameError, UsageError
from steelyard.profiles import load_profile
from steelyard.questions.arena.all_leaderboards import arena_all_leaderboards
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.model_abilities import arena_model_abilities
from steelyard.questions.arena.model_correctness import arena_model_correctness
from steelyard.questions.arena.model_fit import arena_model_fit
from steelyard.questions.arena.model_predict import arena_model_predict
from steelyard.questions.arena.show import arena_show
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store, model_versions
from steelyard.store.schema import submissions

KILL = Path(__file__).parents[1] / "support" / "arena_model_kill.py"
SCORES = ("overall", "efficiency", "speed", "cost", "correctness", "adjusted")


def model_arena(store: Store, *, is_automatic: bool = True, **changed: Any) -> Arena:
    arena = create_arena(store, changed_profile(models={**MODELS, **changed}))
    arena.fitter = fit_if_due if is_automatic else None
    return arena


def kept(store: Store) -> list[tuple[str, int, int, str, str]]:
    """Every version, without the moment at which it was made."""
    with store.read() as connection:
        return [
            (each.kind, each.number, each.seen, each.digest, each.content)
            for kind in ("abilities", "correctness")
            for each in model_versions(connection, kind)
        ]


def scores_of(store: Store) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        wanted = select(submissions.c.id, *(submissions.c[name] for name in SCORES)).order_by(submissions.c.id)
        return [tuple(row) for row in connection.execute(wanted)]


@pytest.fixture
def other_store(tmp_path: Any) -> Any:
    from steelyard.store import open_store

    opened = open_store(f"sqlite:///{tmp_path}/other.db")
    yield opened
    opened.close()


def test_one_by_one_together_and_after_a_kill_the_same_versions_are_learned(store: Store, other_store: Store) -> None:
    made = made_submissions(150)
    together = model_arena(other_store)
    for task in made_tasks():
        together.add_task(task)
    together.submit(made)
    alone = model_arena(store)
    for task in made_tasks():
        alone.add_task(task)
    for number, submission in enumerate(made):
        # Killed after each third was accepted and before anything was learned: whoever comes next learns it.
        alone.fitter = None if number % 3 == 0 else fit_if_due
        alone.submit([submission])
    alone.fitter = fit_if_due
    alone.submit(made[:1])
    assert [(kind, number, seen) for kind, number, seen, _, _ in kept(store)] == [
        (kind, number + 1, seen)
        for kind in ("abilities", "correctness")
        for number, seen in enumerate((40, 60, 90, 135))
    ]  # 40, and half as many again each time
    assert kept(store) == kept(other_store)


def test_a_process_that_is_killed_again_and_again_learns_the_same_versions(
    store: Store, store_address: str, other_store: Store
) -> None:
    fill(model_arena(other_store), submissions=150)
    arena = model_arena(store)
    for task in made_tasks():
        arena.add_task(task)
    store.close()
    command = [sys.executable, KILL, store_address, "150"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    by_statement, by_moment = map(int, done.stdout.split())
    assert by_statement >= 5
    assert by_moment >= 5
    assert [seen for _, _, seen, _, _ in kept(store)] == 2 * [40, 60, 90, 135]
    assert kept(store) == kept(other_store)
    assert scores_of(store) == scores_of(other_store)


def test_refused_and_known_submissions_do_not_count_toward_a_version(store: Store) -> None:
    arena = model_arena(store)
    for task in made_tasks():
        arena.add_task(task)
    made = made_submissions(45)
    bad = [{**submission, "task_id": "nowhere", "id": f"bad-{number}"} for number, submission in enumerate(made)]
    outcomes = arena.submit([each for pair in zip(made, bad, made, strict=True) for each in pair])
    assert len(outcomes) == 135
    assert [seen for _, _, seen, _, _ in kept(store)] == [40, 40]


def test_on_or_off_every_score_is_the_same_to_the_bit(store: Store, other_store: Store) -> None:
    fill(model_arena(store), submissions=120)
    fill(make_arena(other_store), submissions=120)
    assert kept(store)
    assert scores_of(store) == scores_of(other_store)
    on, off = (arena_all_leaderboards(open_arena(each)).to_dicts() for each in (store, other_store))
    assert all(row.pop("shrunken_score") is not None for row in on)  # fewer than 30 submissions each
    for row in (*on, *off):
        for name in ("profile", "task_profile", "evaluated_at"):
            row.pop(name)
    assert on == off


def test_the_shipped_profile_scores_as_the_first_one_does() -> None:
    learning, plain = load_profile("arena-models-1").constants, load_profile("arena-1").constants
    assert {name: value for name, value in learning.items() if name != "models"} == plain


def test_learning_the_same_again_gives_the_same_version(store: Store) -> None:
    arena = model_arena(store, is_automatic=False)
    fill(arena, submissions=100)
    first, again = arena_model_fit(arena), arena_model_fit(arena)
    assert [(each.number, each.is_new) for each in first.versions] == [(1, True), (1, True)]
    assert [(each.number, each.is_new) for each in again.versions] == [(1, False), (1, False)]
    arena.decide("s-3", "excluded", reason="copied")
    assert [(each.number, each.is_new) for each in arena_model_fit(arena).versions] == [(2, True), (2, True)]


def test_abilities_stand_beside_the_plain_mean(store: Store) -> None:
    arena = model_arena(store, is_automatic=False)
    fill(arena, submissions=400)
    arena_model_fit(arena)
    ranking = arena_model_abilities(arena)
    assert ranking.version is not None
    assert (ranking.version.number, ranking.version.seen) == (1, 400)
    tools = ranking.model.tools
    assert len(tools) == TOOLS
    means = {tuple(leader.key.values()): leader.mean_score for leader in arena_leaderboard(arena).overall}
    assert {tuple(tool.key.values()): tool.mean_score for tool in tools} == means
    assert [tool.rank for tool in tools] == sorted(tool.rank for tool in tools)
    assert all(tool.ability.low < tool.ability.estimate < tool.ability.high for tool in tools)
    assert all(task.difficulty is not None for task in ranking.model.tasks)


def test_a_score_of_a_task_with_few_submissions_leans_and_others_do_not(store: Store) -> None:
    arena = model_arena(store, is_automatic=False, abilities={**MODELS["abilities"], "few_submissions": 10})
    fill(arena, submissions=400)
    arena.add_task({"id": "new"})
    first = {"id": "first", "task_id": "new", "total_tokens": 900, "tool_calls": 1, "iterations": 1}
    arena.submit([{**first, "execution_time": 50, "estimated_cost": 0.005, "agent": "agent-0", "model": "model-0"}])
    arena_model_fit(arena)
    shown = arena_show(arena, "first")
    about = shown.model_estimates
    assert about is not None
    assert shown.receipt.overall_score == 100.0  # all at or below the default baseline's minima
    assert about.shrunken_score is not None
    assert about.shrunken_score < 97
    assert about.prediction is not None
    assert about.abilities_version == 1
    leaderboard = arena_task_leaderboard(arena, "new")
    assert leaderboard.extra_score_versions == {"shrunken_score": 1}
    assert leaderboard.leaderboard[0].extra_scores == {"shrunken_score": about.shrunken_score}
    assert "shrunken score" in leaderboard.text(200)
    other = arena_task_leaderboard(arena, "new", policy="as-submitted")  # what was learned is of the other policy
    assert (other.leaderboard[0].extra_scores, other.extra_score_names) == ({"shrunken_score": None}, [])
    many = arena_show(arena, "s-0").model_estimates
    assert many is not None
    assert many.shrunken_score is None
    crowded = arena_task_leaderboard(arena, made_submissions(1)[0]["task_id"])
    assert {row.extra_scores["shrunken_score"] for row in crowded.leaderboard} == {None}


def test_expected_scores_hold_tools_that_have_not_tried_the_task(store: Store) -> None:
    arena = model_arena(store, is_automatic=False)
    for task in made_tasks():
        arena.add_task(task)
    made = made_submissions(400)
    absent = [
        each for each in made if (each["agent"], each["model"], each["task_id"]) != ("agent-2", "model-1", "task-5")
    ]
    arena.submit(absent)
    arena_model_fit(arena)
    scores = arena_model_predict(arena, "task-5")
    untried = [score for score in scores.scores if score.submissions == 0]
    assert ("agent-2", "model-1") in [tuple(score.key.values()) for score in untried]
    assert sum(score.submissions for score in scores.scores) == sum(each["task_id"] == "task-5" for each in absent)
    for score in scores.scores:
        assert 0 <= score.prediction.low <= score.prediction.estimate <= score.prediction.high <= 100
    with pytest.raises(UnknownNameError):
        arena_model_predict(arena, "task-99")


def test_a_surprise_is_a_finding_for_review(store: Store) -> None:
    arena = model_arena(store, is_automatic=False, abilities={**MODELS["abilities"], "anomaly_threshold": 2.5})
    fill(arena, submissions=300)
    learned = arena_model_fit(arena)
    anomalies = arena_model_abilities(arena).model.anomalies
    assert anomalies
    assert {finding.code for finding in learned.findings} == {"anomalous_score"}
    about = arena_show(arena, anomalies[0].submission_id).model_estimates
    assert about is not None
    assert about.standardized_residual == anomalies[0].standardized_residual


def test_correctness_is_learned_from_tests_and_told_for_tasks_without(store: Store) -> None:
    arena = model_arena(store, is_automatic=False)
    fill(arena, submissions=600)
    as_if_tested(arena)
    arena_model_fit(arena)
    learned = arena_model_correctness(arena, "task-0")
    model = learned.model
    assert model.reason is None
    assert model.brier < model.brier_baseline
    assert {each.feature for each in model.coefficients} >= {"says_success", "tokens", "tool_record", "other_criteria"}
    assert learned.predictions
    assert all(0 <= each.p_correct <= 1 for each in learned.predictions)
    told = learned.predictions[0]
    about = arena_show(arena, told.submission_id).model_estimates
    assert about is not None
    assert about.correctness == told
    tested = next(each["id"] for each in made_submissions(600) if each["task_id"] == "task-9")
    of_tested = arena_show(arena, tested).model_estimates
    assert of_tested is not None
    assert (of_tested.correctness, of_tested.reason) == (None, "the task has tests, which determine correctness")
    with pytest.raises(UsageError, match="the task has tests"):
        arena_model_correctness(arena, "task-9")


@pytest.mark.parametrize("count", [20, 90])
def test_with_few_examples_it_says_that_it_cannot(store: Store, count: int) -> None:
    arena = model_arena(store, is_automatic=False)
    fill(arena, submissions=count)
    as_if_tested(arena)
    arena_model_fit(arena)
    model = arena_model_correctness(arena).model
    assert model.reason == f"not enough submissions with test results: {model.examples} of 100"
    assert model.coefficients == ()
    about = arena_show(arena, "s-0").model_estimates
    assert about is not None
    assert about.correctness is None


def test_tests_that_were_never_run_are_no_examples(store: Store) -> None:
    arena = model_arena(store, is_automatic=False)
    fill(arena, submissions=300)  # without artifacts tests count as not met, which says nothing of the code
    arena_model_fit(arena)
    assert arena_model_correctness(arena).model.examples == 0


def test_an_arena_that_learns_nothing_says_so(store: Store) -> None:
    arena = make_arena(store)
    fill(arena, submissions=60)
    assert kept(store) == []
    with pytest.raises(UsageError, match="does not enable models"):
        arena_model_fit(arena)
    assert "does not enable models" in (arena_model_abilities(arena).model.reason or "")
    assert arena_model_abilities(arena).version is None
    assert arena_model_predict(arena, "task-1").scores == ()
    assert arena_model_correctness(arena).model.reason is not None
    assert arena_show(arena, "s-0").model_estimates is None


def test_too_few_tools_are_told(store: Store) -> None:
    arena = model_arena(store, is_automatic=False)
    for task in made_tasks():
        arena.add_task(task)
    arena.submit([{**each, "agent": "one", "model": "m"} for each in made_submissions(60)])
    arena_model_fit(arena)
    assert arena_model_abilities(arena).model.reason == "not enough agents to fit abilities: 1 of 3"


def test_submissions_without_a_tool_are_left_out_and_counted(store: Store) -> None:
    arena = model_arena(store, is_automatic=False)
    for task in made_tasks():
        arena.add_task(task)
    made = made_submissions(200)
    nameless = [{key: value for key, value in each.items() if key not in ("agent", "model")} for each in made[:30]]
    arena.submit(nameless + made[30:])
    arena_model_fit(arena)
    told = arena_model_abilities(arena).model
    assert (told.submissions, told.unnamed) == (170, 30)


def test_earlier_versions_stay_and_can_be_asked_for(store: Store) -> None:
    arena = model_arena(store)
    fill(arena, submissions=100)
    assert arena_model_abilities(arena, version=1).version is not None
    latest = arena_model_abilities(arena).version
    assert latest is not None
    assert latest.number == 3  # at 40, 60 and 90
    with pytest.raises(UnknownNameError, match="abilities version"):
        arena_model_abilities(arena, version=7)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"growth": 1.0}, "growth"),
        ({"first": 0}, "first"),
        ({"by": ["submitter"]}, "by"),
        ({"correctness": {"min_examples": 5, "min_tasks": 2, "min_per_class": 1}}, "min_examples"),
        ({"often": 3}, "often"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused(store: Store, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        model_arena(store, **changed)


def test_the_commands_tell_what_was_learned(
    store: Store, store_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arena = create_arena(store, load_profile("arena-models-1"))
    fill(arena, submissions=500)
    as_if_tested(arena)
    at = ["--store", store_address]
    assert run(["arena", "model", "fit", *at]) == 0
    out = capsys.readouterr().out
    assert "2 new versions of 2 models" in out
    assert re.search(r"^abilities +1  new  500", out, re.MULTILINE)
    assert run(["arena", "model", "abilities", *at]) == 0
    told = capsys.readouterr().out
    assert "Agents by predicted score on an average task" in told
    assert "version 1: 500 submissions, 8 agents, 24 tasks" in told
    assert run(["arena", "model", "predict", "task-1", *at]) == 0
    assert "Predicted overall score" in capsys.readouterr().out
    assert run(["arena", "model", "correctness", *at]) == 0
    assert "Brier score" in capsys.readouterr().out
    assert run(["arena", "model", "correctness", "task-0", *at, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"]["number"] == 1
    assert run(["arena", "show", "s-0", *at]) == 0
    assert "abilities version 1" in capsys.readouterr().out
