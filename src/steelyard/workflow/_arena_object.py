"""The arena as an object: the verbs of `steelyard arena` as its methods.

`sy.connect` gives an object with the same verbs for an arena on a server; a law compares the two. What belongs to
whoever keeps the store (`rescore`, `compare_profiles`, `watch`, `notifier`) is here alone.
"""

from __future__ import annotations

from steelyard import arena
from steelyard.arena import DEFAULT_PROFILE
from steelyard.settings import DEFAULT_STORE
from steelyard.workflow import _arena, _arena_runs, _arena_views


class LocalArena(arena.Arena):
    """An arena in a store that this process opens."""

    # A verb takes the arena first, so that it is a method as it stands.
    settings = _arena.arena_settings
    add_tasks = _arena.add_tasks
    submit_files = _arena.submit_files
    submit_runs = _arena_runs.submit_runs
    notifier = _arena.notifier
    task = _arena_views.show_task
    standings = _arena_views.task_standings
    all_standings = _arena_views.all_standings
    leaderboard = _arena_views.leaderboard
    show = _arena_views.show_submission
    outliers = _arena_views.outliers
    reviews = _arena_views.review_log
    history = _arena_views.score_history
    changes = _arena_views.standing_changes
    bias = _arena_views.tool_bias
    compare_profiles = _arena_views.compare_profiles
    watch = _arena_views.watch_arena


def init_arena(address: str = DEFAULT_STORE, *, profile: str = DEFAULT_PROFILE, policy: str = "current") -> LocalArena:
    """Make an arena in the store, or open the one that is there under the same rules."""
    return _with_verbs(_arena.init_arena(address, profile=profile, policy=policy))


def open_arena(address: str = DEFAULT_STORE) -> LocalArena:
    """The arena in the store; an error when there is none."""
    return _with_verbs(_arena.open_arena(address))


def _with_verbs(opened: arena.Arena) -> LocalArena:
    return LocalArena(opened.store, rules=opened.rules, policy=opened.policy)
