"""Records of the arena that several packages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.results._answer_parts import (
        NO_CRITERIA as NO_CRITERIA,
        Abilities as Abilities,
        Anomaly as Anomaly,
        ArenaEvent as ArenaEvent,
        Assignment as Assignment,
        Between as Between,
        CalibrationBin as CalibrationBin,
        Coefficient as Coefficient,
        CombinationBaseline as CombinationBaseline,
        CorrectnessModel as CorrectnessModel,
        CorrectnessPrediction as CorrectnessPrediction,
        Decision as Decision,
        ExtraScore as ExtraScore,
        FilesKept as FilesKept,
        FinalRank as FinalRank,
        FittedModel as FittedModel,
        FittedWeights as FittedWeights,
        IntervalMethod as IntervalMethod,
        LeaderboardEntry as LeaderboardEntry,
        LeaderKey as LeaderKey,
        ModelEstimates as ModelEstimates,
        Outlier as Outlier,
        PartDiagnostic as PartDiagnostic,
        Policy as Policy,
        PredictedScore as PredictedScore,
        RankedScore as RankedScore,
        Receipt as Receipt,
        Review as Review,
        ScoredBy as ScoredBy,
        ScoredSubmission as ScoredSubmission,
        ScoreInterval as ScoreInterval,
        ScoreReason as ScoreReason,
        TaskDifficulty as TaskDifficulty,
        ToolAbility as ToolAbility,
        ToolMetric as ToolMetric,
        ToolRecord as ToolRecord,
        ToolSubmission as ToolSubmission,
        ToolValue as ToolValue,
        VerifyCheck as VerifyCheck,
        VersionOf as VersionOf,
        criteria_text as criteria_text,
        version_text as version_text,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
