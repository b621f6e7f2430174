"""Freeze the current leaderboard as a season.

The public manifest contains the rules, every included submission with its digest and scores, and every exclusion with
its reason. A season cannot be changed. The JSON output is the manifest that `arena season verify` checks.
"""

from __future__ import annotations

from steelyard.arena import Arena, freeze
from steelyard.questions._question import Texts, arena_action, doc
from steelyard.questions.arena.season_show import Season, SeasonShowOptions, season_of


class SeasonCreateOptions(SeasonShowOptions):
    """Options of `arena season create`."""

    task: Texts = doc("Only this task; repeatable.", default=())


@arena_action(
    SeasonCreateOptions,
    path="/seasons",
    creates="/seasons/{season}",
    examples=({"season": "2026-autumn"},),
)
def arena_season_create(arena: Arena, options: SeasonCreateOptions) -> Season:
    """Freeze the current leaderboard of some or all tasks as a season, and return it."""
    return season_of(freeze(arena, options.season, tasks=tuple(options.task)))
