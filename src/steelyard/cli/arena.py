"""Manage a leaderboard: tasks, submissions, reviews."""

from __future__ import annotations

from cyclopts import App, Group

from steelyard.cli import add_question
from steelyard.questions import unplaced_arena_questions

SET_UP, SUBMIT, LEADERBOARD, MODERATE, PEER_REVIEW, MODELS, SEASONS, NOTIFY = (
    Group(title, sort_key=position)
    for position, title in enumerate(
        ("Set up", "Submit", "Leaderboard", "Moderate", "Peer review", "Models", "Seasons", "Notify")
    )
)
"""Groups of `steelyard arena --help`."""

arena = App(
    name="arena",
    help=__doc__,
    help_format="plaintext",
)
task = App(name="task", help="Add, list or show tasks.", help_format="plaintext")
user = App(name="user", help="Register or list people, teams and tools.", help_format="plaintext")
review = App(name="review", help="Accept, exclude or reinstate submissions.", help_format="plaintext")
rating = App(name="rating", help="Assign reviewers, and add or list ratings.", help_format="plaintext")
model = App(name="model", help="Fit models and show their results.", help_format="plaintext")
season = App(name="season", help="Create, list, show or verify seasons.", help_format="plaintext")
_placed = set()
for _app, _names in (
    (task, ("add", "list", "show")),
    (user, ("add", "list")),
    (review, ("list", "accept", "exclude", "reinstate", "log")),
    (rating, ("assign", "pending", "add", "list")),
    (model, ("fit", "abilities", "predict", "correctness", "weights")),
    (season, ("create", "list", "show", "verify")),
):
    for _name in _names:
        _placed.add(f"arena_{_app.name[0]}_{_name}")
        add_question(_app, f"arena_{_app.name[0]}_{_name}")

for _command, _group in (
    ("arena_init", SET_UP),
    ("arena_upgrade", SET_UP),
    (task, SET_UP),
    (user, SET_UP),
    ("arena_submit_files", SUBMIT),
    ("arena_withdraw", SUBMIT),
    ("arena_show", SUBMIT),
    ("arena_watch", SUBMIT),
    ("arena_leaderboard", LEADERBOARD),
    ("arena_history", LEADERBOARD),
    ("arena_changes", LEADERBOARD),
    ("arena_rescore", LEADERBOARD),
    ("arena_compare_profiles", LEADERBOARD),
    ("arena_bias", LEADERBOARD),
    (review, MODERATE),
    (rating, PEER_REVIEW),
    (model, MODELS),
    (season, SEASONS),
    ("arena_notify", NOTIFY),
):
    if isinstance(_command, str):
        _placed.add(_command)
        add_question(arena, _command, word="submit" if _command == "arena_submit_files" else "", group=_group)
    else:
        _command.group = _group
        arena.command(_command)

for _question in unplaced_arena_questions(_placed):
    add_question(arena, _question)
