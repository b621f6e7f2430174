"""Models fitted to the submissions of an arena, in versions; no score depends on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.models._versions import (
        fit_if_due as fit_if_due,
        fit_models as fit_models,
        model_estimates as model_estimates,
        predict_scores as predict_scores,
        read_abilities as read_abilities,
        read_correctness as read_correctness,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
