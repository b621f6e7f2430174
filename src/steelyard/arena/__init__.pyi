from ._answer_parts import (
    NO_CRITERIA as NO_CRITERIA,
    Abilities as Abilities,
    Anomaly as Anomaly,
    ArenaEvent as ArenaEvent,
    Assignment as Assignment,
    CombinationBaseline as CombinationBaseline,
    CorrectnessModel as CorrectnessModel,
    CorrectnessPrediction as CorrectnessPrediction,
    Decision as Decision,
    ExtraScore as ExtraScore,
    FinalRank as FinalRank,
    FittedModel as FittedModel,
    FittedWeights as FittedWeights,
    IntervalEstimate as IntervalEstimate,
    LeaderboardEntry as LeaderboardEntry,
    LeaderKey as LeaderKey,
    ModelEstimates as ModelEstimates,
    Outlier as Outlier,
    Policy as Policy,
    PredictedScore as PredictedScore,
    RankedScore as RankedScore,
    Receipt as Receipt,
    Review as Review,
    ScoredBy as ScoredBy,
    ScoredSubmission as ScoredSubmission,
    ScoreInterval as ScoreInterval,
    ScoreReason as ScoreReason,
    SeasonManifest as SeasonManifest,
    StoredFiles as StoredFiles,
    TaskDifficulty as TaskDifficulty,
    ToolMetric as ToolMetric,
    ToolSubmission as ToolSubmission,
    VerifyCheck as VerifyCheck,
    VersionOf as VersionOf,
    criteria_text as criteria_text,
    version_text as version_text,
)
from ._model_versions import (
    anomaly_findings as anomaly_findings,
    fit_if_due as fit_if_due,
    fit_models as fit_models,
    model_estimates as model_estimates,
    predict_scores as predict_scores,
    read_abilities as read_abilities,
    read_correctness as read_correctness,
)
from ._ratings import (
    NewRating as NewRating,
    RatingTable as RatingTable,
    assign as assign,
    assignments_of as assignments_of,
    rate as rate,
    rating_table as rating_table,
)
from ._seasons import (
    StoredSeason as StoredSeason,
    final_leaderboard as final_leaderboard,
    find_season as find_season,
    freeze as freeze,
    verify as verify,
)
from ._weights import fit_arena_weights as fit_arena_weights
from .ingest._arena import Arena as Arena, create_arena as create_arena, open_arena as open_arena
from .ingest._checked_submissions import SubmissionOutcome as SubmissionOutcome
from .ingest._parties import (
    people_among as people_among,
    read_parties as read_parties,
    register as register,
    teams_of as teams_of,
)
from .ingest._submission_files import (
    LocatedSubmission as LocatedSubmission,
    read_submissions as read_submissions,
    read_task_map as read_task_map,
    read_tasks as read_tasks,
)
from .ingest._tasks import (
    FIRST_VERSION as FIRST_VERSION,
    files_kept as files_kept,
    find_task as find_task,
    find_tasks as find_tasks,
    load_tasks as load_tasks,
)
from .notifications._delivery import (
    Deliveries as Deliveries,
    notify_once as notify_once,
    skip_before as skip_before,
)
from .notifications._targets import read_targets as read_targets
from .scoring._fitted_models import read_weights as read_weights
from .scoring._review_log import read_reviews as read_reviews
from .scoring._rules import DEFAULT_PROFILE as DEFAULT_PROFILE, Rules as Rules, read_rules as read_rules
from .scoring._scores import RANKED_SCORES as RANKED_SCORES, points as points, score_interval as score_interval
from .scoring._settings import (
    POLICIES as POLICIES,
    RulesInForce as RulesInForce,
    read_rules_history as read_rules_history,
    scored_by as scored_by,
    settings_at as settings_at,
)
from .views._evaluation import evaluation as evaluation
from .views._task_leaderboard import (
    RankedTask as RankedTask,
    outliers as outliers,
    rank_task as rank_task,
    ranked as ranked,
    ranks_under as ranks_under,
)
from .views._task_view import (
    View as View,
    combination_baselines as combination_baselines,
    scored_views as scored_views,
    submission_table as submission_table,
    view_task as view_task,
    view_tasks as view_tasks,
)
from .views._tool_metrics import metrics_of as metrics_of, tool_submissions as tool_submissions
from .views._watch import Watch as Watch, arena_version as arena_version
