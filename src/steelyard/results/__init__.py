"""Records of the arena that several packages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.results._arena_evaluations import (
        ExtraScore as ExtraScore,
        ScoredSubmission as ScoredSubmission,
        ScoreReason as ScoreReason,
    )
    from steelyard.results._arena_events import (
        ArenaEvent as ArenaEvent,
    )
    from steelyard.results._arena_leaderboard import (
        IntervalMethod as IntervalMethod,
        LeaderboardEntry as LeaderboardEntry,
        LeaderKey as LeaderKey,
        Outlier as Outlier,
        Policy as Policy,
        RankedScore as RankedScore,
        ScoredBy as ScoredBy,
        ScoreInterval as ScoreInterval,
    )
    from steelyard.results._arena_models import (
        Abilities as Abilities,
        Anomaly as Anomaly,
        Between as Between,
        CalibrationBin as CalibrationBin,
        Coefficient as Coefficient,
        CorrectnessModel as CorrectnessModel,
        CorrectnessPrediction as CorrectnessPrediction,
        FittedModel as FittedModel,
        ModelEstimates as ModelEstimates,
        PredictedScore as PredictedScore,
        TaskDifficulty as TaskDifficulty,
        ToolAbility as ToolAbility,
        ToolRecord as ToolRecord,
        VersionOf as VersionOf,
        version_text as version_text,
    )
    from steelyard.results._arena_ratings import (
        Assignment as Assignment,
    )
    from steelyard.results._arena_receipts import (
        CriterionResult as CriterionResult,
        Receipt as Receipt,
    )
    from steelyard.results._arena_reviews import (
        Decision as Decision,
        Review as Review,
    )
    from steelyard.results._arena_seasons import (
        FinalRank as FinalRank,
        VerifyCheck as VerifyCheck,
    )
    from steelyard.results._arena_tasks import (
        NO_CRITERIA as NO_CRITERIA,
        CombinationBaseline as CombinationBaseline,
        FilesKept as FilesKept,
        criteria_text as criteria_text,
    )
    from steelyard.results._arena_tools import (
        ToolMetric as ToolMetric,
        ToolSubmission as ToolSubmission,
        ToolValue as ToolValue,
    )
    from steelyard.results._arena_weights import (
        FittedWeights as FittedWeights,
        PartDiagnostic as PartDiagnostic,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
