"""Scores: baselines, rules, tallies, medians, and what a submission is worth under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.scoring._fitted_models import (
        ABILITIES as ABILITIES,
        COMMUNITY_SCORE as COMMUNITY_SCORE,
        PARTS as PARTS,
        SHRUNKEN_SCORE as SHRUNKEN_SCORE,
        WEIGHTS as WEIGHTS,
        AbilitiesInForce as AbilitiesInForce,
        CommunityWeights as CommunityWeights,
        abilities_in_force as abilities_in_force,
        community_score as community_score,
        decoded_abilities as decoded_abilities,
        fitted_model as fitted_model,
        read_weights as read_weights,
        shrunken_score as shrunken_score,
        sparse_task as sparse_task,
        version_of as version_of,
        weights_in_force as weights_in_force,
    )
    from steelyard.arena.scoring._receipts import (
        DEFAULTED as DEFAULTED,
        REVIEW as REVIEW,
        SUSPECT as SUSPECT,
        Ranks as Ranks,
        claimed_of as claimed_of,
        defaulted_of as defaulted_of,
        flags_of as flags_of,
        lower_bounds_of as lower_bounds_of,
        outlier_flags as outlier_flags,
        ranks_of as ranks_of,
        receipts_of as receipts_of,
        stored_receipts as stored_receipts,
        warnings_of as warnings_of,
    )
    from steelyard.arena.scoring._review_log import (
        EXCLUDING as EXCLUDING,
        Decisions as Decisions,
        LoggedRating as LoggedRating,
        LoggedReview as LoggedReview,
        decisions_after as decisions_after,
        latest_ratings as latest_ratings,
        read_ratings as read_ratings,
        read_reviews as read_reviews,
    )
    from steelyard.arena.scoring._rules import (
        DEFAULT_PROFILE as DEFAULT_PROFILE,
        POLICIES as POLICIES,
        AbilitiesTable as AbilitiesTable,
        CorrectnessTable as CorrectnessTable,
        DynamicWeightsTable as DynamicWeightsTable,
        ModelsTable as ModelsTable,
        Rules as Rules,
        RulesHistory as RulesHistory,
        RulesInForce as RulesInForce,
        lock_settings as lock_settings,
        read_rules as read_rules,
        read_rules_history as read_rules_history,
        read_settings as read_settings,
        score_metrics as score_metrics,
        scored_by as scored_by,
        settings_at as settings_at,
        write_settings as write_settings,
    )
    from steelyard.arena.scoring._scores import (
        KEPT_SCORES as KEPT_SCORES,
        RANKED_SCORES as RANKED_SCORES,
        SCORE_INPUTS as SCORE_INPUTS,
        columns_in_cents as columns_in_cents,
        points as points,
        score_interval as score_interval,
        scores_in_cents as scores_in_cents,
        to_cents as to_cents,
        unrounded_scores as unrounded_scores,
    )
    from steelyard.arena.scoring._submission_rows import (
        KeptRows as KeptRows,
        Scores as Scores,
        ScoresOfTasks as ScoresOfTasks,
        ScoringContext as ScoringContext,
        StoredRows as StoredRows,
        collector_resting as collector_resting,
        frame_of as frame_of,
        read_frame as read_frame,
        read_stored as read_stored,
        rows_in_cents as rows_in_cents,
        with_contexts as with_contexts,
    )
    from steelyard.arena.scoring._tallies import (
        NOTIFIED_RANKS as NOTIFIED_RANKS,
        Counts as Counts,
        RankedRows as RankedRows,
        add_to_tallies as add_to_tallies,
        bounds_now as bounds_now,
        count_fields as count_fields,
        each_once as each_once,
        forget_scores as forget_scores,
        forget_tallies as forget_tallies,
        join_values as join_values,
        lost_ranks as lost_ranks,
        of_field as of_field,
        of_tallies as of_tallies,
        rank_and_percentile as rank_and_percentile,
        read_middles as read_middles,
        read_scores as read_scores,
    )
    from steelyard.arena.scoring._task_state import (
        EXTREMES as EXTREMES,
        UNKNOWN_AT_ZERO as UNKNOWN_AT_ZERO,
        BaselineBounds as BaselineBounds,
        BaselineInputs as BaselineInputs,
        LowerMedian as LowerMedian,
        StoredTask as StoredTask,
        TaskState as TaskState,
        baseline_of as baseline_of,
        default_bounds as default_bounds,
        load_task_states as load_task_states,
        own_baseline as own_baseline,
        running_medians as running_medians,
        save_task_states as save_task_states,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
