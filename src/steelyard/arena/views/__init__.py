"""What people ask of an arena: standings, leaders, history, evaluations, other profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard._doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.views._evaluation import (
        Evaluation as Evaluation,
        evaluation as evaluation,
    )
    from steelyard.arena.views._history import (
        Changes as Changes,
        History as History,
        changes as changes,
        history as history,
    )
    from steelyard.arena.views._leaders import (
        By as By,
        Leader as Leader,
        Leaderboard as Leaderboard,
        bias as bias,
        combination_baselines as combination_baselines,
        leaders as leaders,
    )
    from steelyard.arena.views._profile_comparison import (
        ProfileComparison as ProfileComparison,
        compare_profiles as compare_profiles,
    )
    from steelyard.arena.views._task_standings import (
        Standing as Standing,
        Standings as Standings,
        outliers as outliers,
        task_standings as task_standings,
    )
    from steelyard.arena.views._watching import (
        Watch as Watch,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
