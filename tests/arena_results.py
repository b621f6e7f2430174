"""One of each answer that the arena's verbs give, made from the samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from model_arenas import as_if_tested, fill
from steelyard import workflow
from steelyard.arena import Arena
from steelyard.results import Result
from steelyard.workflow.token import create_token, list_tokens

SAMPLES = Path(__file__).parent / "samples" / "arena"


def filled(folder: Path) -> Arena:
    """An arena with the tasks and the submissions of the samples."""
    arena = workflow.init_arena(f"sqlite:///{folder}/arena.db")
    workflow.add_tasks(arena, [SAMPLES / "tasks.toml"])
    workflow.submit_files(arena, [SAMPLES / "submissions.jsonl"])
    return arena


def submitted(folder: Path) -> Result:
    (folder / "more.jsonl").write_text('{"id": "x", "task_id": "nowhere", "total_tokens": 1, "tool_calls": 1}\n')
    return workflow.submit_files(filled(folder), [SAMPLES / "submissions.jsonl", folder / "more.jsonl"])


def tokens(folder: Path) -> Result:
    create_token("ci", scopes=["submit", "review"], store=filled(folder))
    return list_tokens(store=f"sqlite:///{folder}/arena.db")


def registered(folder: Path) -> Result:
    arena = filled(folder)
    workflow.add_user(arena, "team", "blue")
    workflow.add_user(arena, "person", "ada", name="Ada Lovelace", team="blue")
    return workflow.list_users(arena)


def rated_arena(folder: Path) -> workflow.LocalArena:
    arena = filled(folder)
    workflow.rescore(arena, profile="arena-community")
    names = ["xia", "yan", "zoe"]
    workflow.assign_reviewers(arena, "fix-race", reviewers=names)
    for place, submission in enumerate(["ant-1", "ant-2", "bee-1", "bee-2", "cat-1", "odd-1"]):
        for off, reviewer in enumerate(names):
            workflow.add_rating(
                arena, submission, reviewer=reviewer, score=40 + 7 * place - 3 * off + (place * off) % 3
            )
    return arena


def frozen(folder: Path) -> workflow.LocalArena:
    arena = workflow.LocalArena(filled(folder).store, rules=filled(folder).rules, policy="current")
    if not arena.seasons().seasons:
        arena.create_season("2026-11")
    return arena


def frozen_file(folder: Path) -> Path:
    frozen(folder).season("2026-11").save(folder / "manifest.json")
    return folder / "manifest.json"


def measured(arena: Arena, folder: Path) -> Arena:
    """The arena under a profile with the same scores that names metrics of a tool, and submissions that bring them."""
    named = 'name = "measured"\nextends = "arena-1"\n[constants.tool_metrics]\nant = ["pr_revert_rate"]\n'
    (folder / "measured.toml").write_text(named, encoding="utf-8")
    workflow.rescore(arena, profile=str(folder / "measured.toml"))
    for reverted in (1, 3):
        told = {"id": f"ant-reverted-{reverted}", "task_id": "fix-race", "total_tokens": 17_000, "tool_calls": 11}
        arena.submit([{**told, "agent": "ant", "inputs": {"total_changes": 8, "reverted_changes": reverted}}])
    return arena


def learning(folder: Path) -> Arena:
    """An arena that has learned."""
    arena = workflow.init_arena(f"sqlite:///{folder}/learning.db", profile="arena-models-1")
    fill(arena, submissions=400)
    as_if_tested(arena)
    workflow.fit_models(arena)
    return arena


ARENA_RESULTS: dict[str, Callable[[Path], Result]] = {
    "ArenaSettings": lambda folder: workflow.arena_settings(filled(folder)),
    "AddedTasks": lambda folder: workflow.add_tasks(filled(folder), [SAMPLES / "tasks.toml"]),
    "TaskList": lambda folder: workflow.list_tasks(filled(folder)),
    "TaskDetails": lambda folder: workflow.show_task(filled(folder), "fix-race"),
    "Submitted": submitted,
    "Reviewed": lambda folder: workflow.review_submission(filled(folder), "odd-1", "exclude", by="ada", reason="odd"),
    "Rescored": lambda folder: workflow.rescore(filled(folder)),
    "TaskLeaderboard": lambda folder: workflow.task_leaderboard(filled(folder), "fix-race"),
    "TaskLeaderboard by cost": lambda folder: workflow.task_leaderboard(filled(folder), "fix-race", sort="cost", top=2),
    "AllLeaderboards": lambda folder: workflow.all_leaderboards(filled(folder), confidence=0.9),
    "Leaderboard": lambda folder: workflow.leaderboard(filled(folder)),
    "Evaluation": lambda folder: workflow.show_submission(filled(folder), "ant-1"),
    "ReviewDesk": lambda folder: workflow.review_desk(filled(folder)),
    "Outliers": lambda folder: workflow.outliers(filled(folder)),
    "NewToken": lambda folder: create_token("ci", store=filled(folder)),
    "Tokens": tokens,
    "Registry": registered,
    "Season": lambda folder: workflow.create_season(filled(folder), "2026-11"),
    "Seasons": lambda folder: workflow.seasons(frozen(folder)),
    "Verification": lambda folder: frozen(folder).verify_season(frozen_file(folder)),
    "WeightVersions": lambda folder: workflow.weights(rated_arena(folder), fit=True),
    "ToolMetrics": lambda folder: workflow.tool_metrics(measured(filled(folder), folder), "ant"),
    "Assignments": lambda folder: workflow.pending_ratings(rated_arena(folder)),
    "Rated": lambda folder: workflow.add_rating(
        rated_arena(folder), "ant-1", reviewer="xia", score=77.5, comment="better"
    ),
    "PeerReview": lambda folder: workflow.ratings(rated_arena(folder), "fix-race"),
    "ReviewLog": lambda folder: workflow.review_log(filled(folder)),
    "ScoreHistory": lambda folder: workflow.score_history(filled(folder), task="fix-race"),
    "LeaderboardChanges": lambda folder: workflow.leaderboard_changes(filled(folder), since="2026-01-01"),
    "ToolBias": lambda folder: workflow.tool_bias(filled(folder)),
    "FittedModels": lambda folder: workflow.fit_models(learning(folder)),
    "AbilityRanking": lambda folder: workflow.abilities(learning(folder)),
    "PredictedScores": lambda folder: workflow.predict(learning(folder), "task-1"),
    "CorrectnessEstimates": lambda folder: workflow.correctness(learning(folder)),
    "CorrectnessEstimates of a task": lambda folder: workflow.correctness(learning(folder), "task-0"),
    "ProfileComparison": lambda folder: workflow.compare_profiles(filled(folder), "arena-1", "arena-1"),
}
