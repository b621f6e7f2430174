"""One of each answer that the arena's verbs give, made from the samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from model_arenas import as_if_tested, fill
from steelyard import questions
from steelyard.arena import Arena
from steelyard.questions import Answer
from steelyard.questions.arena.agent import arena_agent
from steelyard.questions.arena.all_leaderboards import arena_all_leaderboards
from steelyard.questions.arena.bias import arena_bias
from steelyard.questions.arena.changes import arena_changes
from steelyard.questions.arena.compare_profiles import arena_compare_profiles
from steelyard.questions.arena.history import arena_history
from steelyard.questions.arena.init import arena_init
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.model_abilities import arena_model_abilities
from steelyard.questions.arena.model_correctness import arena_model_correctness
from steelyard.questions.arena.model_fit import arena_model_fit
from steelyard.questions.arena.model_predict import arena_model_predict
from steelyard.questions.arena.model_weights import arena_model_weights
from steelyard.questions.arena.notify import arena_notify
from steelyard.questions.arena.rating_add import arena_rating_add
from steelyard.questions.arena.rating_assign import arena_rating_assign
from steelyard.questions.arena.rating_list import arena_rating_list
from steelyard.questions.arena.rating_pending import arena_rating_pending
from steelyard.questions.arena.rescore import arena_rescore
from steelyard.questions.arena.review_exclude import arena_review_exclude
from steelyard.questions.arena.review_list import arena_review_list
from steelyard.questions.arena.review_log import arena_review_log
from steelyard.questions.arena.season_create import arena_season_create
from steelyard.questions.arena.show import arena_show
from steelyard.questions.arena.submit_files import arena_submit_files
from steelyard.questions.arena.task_add import arena_task_add
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.questions.arena.task_list import arena_task_list
from steelyard.questions.arena.task_show import arena_task_show
from steelyard.questions.arena.upgrade import arena_upgrade
from steelyard.questions.arena.user_add import arena_user_add
from steelyard.questions.arena.user_list import arena_user_list
from steelyard.questions.arena.watch import arena_watch
from steelyard.questions.token import create_token, list_tokens

SAMPLES = Path(__file__).parents[1] / "samples" / "arena"


def filled(folder: Path) -> Arena:
    """An arena with the tasks and the submissions of the samples."""
    arena = questions.init_arena(f"sqlite:///{folder}/arena.db")
    arena_task_add(arena, [SAMPLES / "tasks.toml"])
    arena_submit_files(arena, [SAMPLES / "submissions.jsonl"])
    return arena


def submitted(folder: Path) -> Answer:
    (folder / "more.jsonl").write_text('{"id": "x", "task_id": "nowhere", "total_tokens": 1, "tool_calls": 1}\n')
    return arena_submit_files(filled(folder), [SAMPLES / "submissions.jsonl", folder / "more.jsonl"])


def tokens(folder: Path) -> Answer:
    create_token("ci", scopes=["submit", "review"], store=filled(folder))
    return list_tokens(store=f"sqlite:///{folder}/arena.db")


def registered(folder: Path) -> Answer:
    arena = filled(folder)
    arena_user_add(arena, "team", "blue")
    arena_user_add(arena, "person", "ada", name="Ada Lovelace", team="blue")
    return arena_user_list(arena)


def rated_arena(folder: Path) -> questions.Arena:
    arena = filled(folder)
    arena_rescore(arena, profile="arena-community")
    names = ["xia", "yan", "zoe"]
    arena_rating_assign(arena, "fix-race", reviewers=names)
    for place, submission in enumerate(["ant-1", "ant-2", "bee-1", "bee-2", "cat-1", "odd-1"]):
        for off, reviewer in enumerate(names):
            arena_rating_add(arena, submission, reviewer=reviewer, score=40 + 7 * place - 3 * off + (place * off) % 3)
    return arena


def frozen(folder: Path) -> questions.Arena:
    arena = questions.Arena(filled(folder).store, rules=filled(folder).rules, policy="current")
    if not arena.season_list().seasons:
        arena.season_create("2026-11")
    return arena


def frozen_file(folder: Path) -> Path:
    frozen(folder).season_show("2026-11").save(folder / "manifest.json")
    return folder / "manifest.json"


def measured(arena: Arena, folder: Path) -> Arena:
    """The arena under a profile with the same scores that names metrics of a tool, and submissions that bring them."""
    named = 'name = "measured"\nextends = "arena-1"\n[constants.tool_metrics]\nant = ["pr_revert_rate"]\n'
    (folder / "measured.toml").write_text(named, encoding="utf-8")
    arena_rescore(arena, profile=str(folder / "measured.toml"))
    for reverted in (1, 3):
        told = {"id": f"ant-reverted-{reverted}", "task_id": "fix-race", "total_tokens": 17_000, "tool_calls": 11}
        arena.submit([{**told, "agent": "ant", "inputs": {"total_changes": 8, "reverted_changes": reverted}}])
    return arena


def learning(folder: Path) -> Arena:
    """An arena that has learned."""
    arena = questions.init_arena(f"sqlite:///{folder}/learning.db", profile="arena-models-1")
    fill(arena, submissions=400)
    as_if_tested(arena)
    arena_model_fit(arena)
    return arena


def weighted(folder: Path) -> Answer:
    arena = rated_arena(folder)
    arena_model_fit(arena)
    return arena_model_weights(arena)


def notified(folder: Path) -> Answer:
    """A round whose target does not respond."""
    target = '[[targets]]\nname = "a"\nurl = "http://127.0.0.1:9/"\nnetwork = "loopback"\n'
    (folder / "targets.toml").write_text(target, encoding="utf-8")
    return next(arena_notify(filled(folder), targets=folder / "targets.toml"))


def watched(folder: Path) -> Answer:
    """What a poll finds after a submission."""
    arena = filled(folder)
    polls = arena_watch(arena)
    arena.submit([{"id": "seen", "task_id": "fix-race", "total_tokens": 17_000, "tool_calls": 11}])
    return next(polls)


ARENA_RESULTS: dict[str, Callable[[Path], Answer]] = {
    "ArenaSettings": lambda folder: arena_init(f"sqlite:///{folder}/arena.db"),
    "StoreUpgrade": lambda folder: arena_upgrade(filled(folder).store.address),
    "AddedTasks": lambda folder: arena_task_add(filled(folder), [SAMPLES / "tasks.toml"]),
    "TaskList": lambda folder: arena_task_list(filled(folder)),
    "TaskDetails": lambda folder: arena_task_show(filled(folder), "fix-race"),
    "SubmitResult": submitted,
    "SendingRound": notified,
    "ArenaEvents": watched,
    "ReviewedSubmission": lambda folder: arena_review_exclude(filled(folder), "odd-1", by="ada", reason="odd"),
    "RescoreResult": lambda folder: arena_rescore(filled(folder)),
    "TaskLeaderboard": lambda folder: arena_task_leaderboard(filled(folder), "fix-race"),
    "TaskLeaderboard by cost": lambda folder: arena_task_leaderboard(filled(folder), "fix-race", score="cost", top=2),
    "AllLeaderboards": lambda folder: arena_all_leaderboards(filled(folder), confidence=0.9),
    "Leaderboard": lambda folder: arena_leaderboard(filled(folder)),
    "SubmissionScores": lambda folder: arena_show(filled(folder), "ant-1"),
    "Outliers": lambda folder: arena_review_list(filled(folder)),
    "NewToken": lambda folder: create_token("ci", store=filled(folder)),
    "Tokens": tokens,
    "Registry": registered,
    "Season": lambda folder: arena_season_create(filled(folder), "2026-11"),
    "Seasons": lambda folder: frozen(folder).season_list(),
    "Verification": lambda folder: frozen(folder).season_verify(frozen_file(folder)),
    "WeightVersions": weighted,
    "ToolMetrics": lambda folder: arena_agent(measured(filled(folder), folder), "ant"),
    "Assignments": lambda folder: arena_rating_pending(rated_arena(folder)),
    "AddedRating": lambda folder: arena_rating_add(
        rated_arena(folder), "ant-1", reviewer="xia", score=77.5, comment="better"
    ),
    "PeerReview": lambda folder: arena_rating_list(rated_arena(folder), "fix-race"),
    "ReviewLog": lambda folder: arena_review_log(filled(folder)),
    "ScoreHistory": lambda folder: arena_history(filled(folder), task="fix-race"),
    "LeaderboardChanges": lambda folder: arena_changes(filled(folder), since="2026-01-01"),
    "ToolBias": lambda folder: arena_bias(filled(folder)),
    "FittedModels": lambda folder: arena_model_fit(learning(folder)),
    "AbilityRanking": lambda folder: arena_model_abilities(learning(folder)),
    "PredictedScores": lambda folder: arena_model_predict(learning(folder), "task-1"),
    "CorrectnessEstimates": lambda folder: arena_model_correctness(learning(folder)),
    "CorrectnessEstimates of a task": lambda folder: arena_model_correctness(learning(folder), "task-0"),
    "ProfileComparison": lambda folder: arena_compare_profiles(filled(folder), "arena-1", "arena-1"),
}
