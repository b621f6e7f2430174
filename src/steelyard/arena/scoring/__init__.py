"""Scores: baselines, rules, tallies, medians, and what a submission is worth under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.scoring._baseline import (
        BaselineBounds as BaselineBounds,
        BaselineInputs as BaselineInputs,
        baseline_of as baseline_of,
        default_bounds as default_bounds,
        own_baseline as own_baseline,
    )
    from steelyard.arena.scoring._collector import (
        collector_resting as collector_resting,
    )
    from steelyard.arena.scoring._community_weights import (
        COMMUNITY_SCORE as COMMUNITY_SCORE,
        PARTS as PARTS,
        WEIGHTS as WEIGHTS,
        CommunityWeights as CommunityWeights,
        community_score as community_score,
        read_weights as read_weights,
        weights_in_force as weights_in_force,
    )
    from steelyard.arena.scoring._counted_values import (
        each_once as each_once,
        join_values as join_values,
        of_tallies as of_tallies,
    )
    from steelyard.arena.scoring._kept_rows import KeptRows as KeptRows
    from steelyard.arena.scoring._lost_ranks import (
        NOTIFIED_RANKS as NOTIFIED_RANKS,
        RankedRows as RankedRows,
        lost_ranks as lost_ranks,
    )
    from steelyard.arena.scoring._model_versions import (
        fitted_model as fitted_model,
        version_of as version_of,
    )
    from steelyard.arena.scoring._rating_log import (
        StoredRating as StoredRating,
        latest_ratings as latest_ratings,
        read_ratings as read_ratings,
    )
    from steelyard.arena.scoring._receipts import (
        DEFAULTED as DEFAULTED,
        Ranks as Ranks,
        claimed_of as claimed_of,
        defaulted_of as defaulted_of,
        lower_bounds_of as lower_bounds_of,
        ranks_of as ranks_of,
        receipts_of as receipts_of,
        stored_receipts as stored_receipts,
    )
    from steelyard.arena.scoring._rescoring import (
        Scores as Scores,
        ScoresOfTasks as ScoresOfTasks,
        ScoringContext as ScoringContext,
        StoredRows as StoredRows,
        read_stored as read_stored,
        rows_in_cents as rows_in_cents,
        with_contexts as with_contexts,
    )
    from steelyard.arena.scoring._review_log import (
        EXCLUDING as EXCLUDING,
        Decisions as Decisions,
        LoggedReview as LoggedReview,
        decisions_after as decisions_after,
        read_reviews as read_reviews,
    )
    from steelyard.arena.scoring._rules import (
        DEFAULT_PROFILE as DEFAULT_PROFILE,
        AbilitiesTable as AbilitiesTable,
        CorrectnessTable as CorrectnessTable,
        DynamicWeightsTable as DynamicWeightsTable,
        ModelsTable as ModelsTable,
        Rules as Rules,
        read_rules as read_rules,
        score_metrics as score_metrics,
    )
    from steelyard.arena.scoring._rules_in_force import (
        RulesHistory as RulesHistory,
        RulesInForce as RulesInForce,
        read_rules_history as read_rules_history,
        scored_by as scored_by,
    )
    from steelyard.arena.scoring._running_median import (
        LowerMedian as LowerMedian,
        running_medians as running_medians,
    )
    from steelyard.arena.scoring._score_intervals import (
        score_interval as score_interval,
    )
    from steelyard.arena.scoring._scores import (
        KEPT_SCORES as KEPT_SCORES,
        RANKED_SCORES as RANKED_SCORES,
        SCORE_INPUTS as SCORE_INPUTS,
        columns_in_cents as columns_in_cents,
        points as points,
        scores_in_cents as scores_in_cents,
        to_cents as to_cents,
        unrounded_scores as unrounded_scores,
    )
    from steelyard.arena.scoring._settings import (
        POLICIES as POLICIES,
        lock_settings as lock_settings,
        read_settings as read_settings,
        settings_at as settings_at,
        write_settings as write_settings,
    )
    from steelyard.arena.scoring._shrunken_scores import (
        ABILITIES as ABILITIES,
        SHRUNKEN_SCORE as SHRUNKEN_SCORE,
        AbilitiesInForce as AbilitiesInForce,
        abilities_in_force as abilities_in_force,
        decoded_abilities as decoded_abilities,
        shrunken_score as shrunken_score,
        sparse_task as sparse_task,
    )
    from steelyard.arena.scoring._stored_tallies import (
        Counts as Counts,
        add_to_tallies as add_to_tallies,
        bounds_now as bounds_now,
        count_fields as count_fields,
        forget_scores as forget_scores,
        forget_tallies as forget_tallies,
        of_field as of_field,
        rank_and_percentile as rank_and_percentile,
        read_middles as read_middles,
        read_scores as read_scores,
    )
    from steelyard.arena.scoring._submission_rows import (
        frame_of as frame_of,
        read_frame as read_frame,
    )
    from steelyard.arena.scoring._suspicion import (
        REVIEW as REVIEW,
        SUSPECT as SUSPECT,
        flags_of as flags_of,
        outlier_flags as outlier_flags,
        warnings_of as warnings_of,
    )
    from steelyard.arena.scoring._task_state import (
        EXTREMES as EXTREMES,
        UNKNOWN_AT_ZERO as UNKNOWN_AT_ZERO,
        StoredTask as StoredTask,
        TaskState as TaskState,
        load_task_states as load_task_states,
        save_task_states as save_task_states,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
