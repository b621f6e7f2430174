"""What an arena answers."""

from __future__ import annotations

from steelyard.questions import ARENA, question_named, question_names
from steelyard.server._question_routes import question_route

TASK = question_route("arena_task_show", page="")
SUBMISSION = question_route("arena_show")

PLACED = (
    question_route("arena_task_list"),
    TASK,
    question_route("arena_task_leaderboard", page="/tasks/{task}"),
    question_route("arena_history"),
    question_route("arena_history", path="/tasks/{task}/history"),
    question_route("arena_changes"),
    SUBMISSION,
    question_route("arena_leaderboard", page="", sentence="Leaderboard across all tasks and within each category."),
    question_route("arena_bias"),
    question_route("arena_model_abilities"),
    question_route("arena_model_predict"),
    question_route("arena_model_correctness"),
    question_route("arena_review_log"),
    question_route("arena_user_list"),
    question_route("arena_rating_pending"),
    question_route("arena_rating_list"),
    question_route("arena_season_list"),
    question_route("arena_season_show"),
    question_route("arena_agent"),
    question_route("arena_model_weights"),
    question_route("arena_review_list", page="/review"),
)
"""Routes in the order of the documentation and of the navigation."""

ARENA_ROUTES = (
    *PLACED,
    *(
        question_route(name)
        for name in question_names()
        if name.startswith(ARENA) and name not in {route.question.name for route in PLACED if route.question}
        if question_named(name).path and question_named(name).scope is None
    ),
)
