"""What people ask of an arena: leaderboard, leaders, history, evaluations, other profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.views._evaluation import (
        evaluation as evaluation,
    )
    from steelyard.arena.views._task_leaderboard import (
        RankedTask as RankedTask,
        asked_metrics as asked_metrics,
        metrics_of as metrics_of,
        outliers as outliers,
        rank_task as rank_task,
        ranked as ranked,
        ranks_under as ranks_under,
        tool_submissions as tool_submissions,
    )
    from steelyard.arena.views._task_view import (
        View as View,
        combination_baselines as combination_baselines,
        scored_views as scored_views,
        submission_table as submission_table,
        view_task as view_task,
        view_tasks as view_tasks,
    )
    from steelyard.arena.views._watch import (
        ArenaVersion as ArenaVersion,
        Watch as Watch,
        arena_version as arena_version,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
