"""What an arena learns from its submissions, at versions, beside every score and in none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.models._asking import (
        expected_scores as expected_scores,
        learned_abilities as learned_abilities,
        learned_about as learned_about,
        learned_correctness as learned_correctness,
    )
    from steelyard.arena.models._versions import (
        learn as learn,
        learn_if_due as learn_if_due,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
