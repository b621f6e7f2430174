"""Arena seasons."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.arena import Arena, freeze
from steelyard.questions._arena import opened
from steelyard.questions.arena.season_show import Season, season_of


def create_season(arena: Arena | str, name: str, *, tasks: Sequence[str] = ()) -> Season:
    """Freeze the current leaderboard as a season."""
    return season_of(freeze(opened(arena), name, tasks=tuple(tasks)))
