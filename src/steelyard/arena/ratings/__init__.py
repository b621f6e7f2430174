"""Peer ratings and seasons of an arena; scores do not depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.ratings._ratings import (
        NewRating as NewRating,
        RatingTable as RatingTable,
        assign as assign,
        assignments_of as assignments_of,
        fit_arena_weights as fit_arena_weights,
        rate as rate,
        rating_table as rating_table,
    )
    from steelyard.arena.ratings._seasons import (
        StoredSeason as StoredSeason,
        final_leaderboard as final_leaderboard,
        find_season as find_season,
        freeze as freeze,
        verify as verify,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
