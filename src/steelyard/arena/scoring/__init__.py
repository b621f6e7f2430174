"""Scores: baselines, rules, tallies, medians, and what a submission is worth under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.scoring._baseline import (
        BaselineBounds as BaselineBounds,
        Facts as Facts,
        baseline_of as baseline_of,
        default_bounds as default_bounds,
        own_baseline as own_baseline,
    )
    from steelyard.arena.scoring._collector import (
        collector_resting as collector_resting,
    )
    from steelyard.arena.scoring._column_tallies import (
        CountedValues as CountedValues,
        count_values as count_values,
        each_once as each_once,
        join_values as join_values,
        unpack_all as unpack_all,
    )
    from steelyard.arena.scoring._rescoring import (
        COLUMNS_FROM as COLUMNS_FROM,
        Scores as Scores,
        Yardstick as Yardstick,
        count_scores as count_scores,
        no_facts as no_facts,
        read_facts as read_facts,
        score_all as score_all,
        tally_scores as tally_scores,
        with_yardsticks as with_yardsticks,
    )
    from steelyard.arena.scoring._rules import (
        DEFAULT_PROFILE as DEFAULT_PROFILE,
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
    )
    from steelyard.arena.scoring._score_intervals import (
        mean_interval as mean_interval,
        score_interval as score_interval,
    )
    from steelyard.arena.scoring._scores import (
        FACTS as FACTS,
        KEPT_SCORES as KEPT_SCORES,
        OWN_CONSTANTS as OWN_CONSTANTS,
        RANKED_SCORES as RANKED_SCORES,
        points as points,
        points_column as points_column,
        score as score,
        score_cents_columns as score_cents_columns,
        tenths_column as tenths_column,
        to_cents as to_cents,
    )
    from steelyard.arena.scoring._settings import (
        POLICIES as POLICIES,
        lock_settings as lock_settings,
        read_settings as read_settings,
        settings_at as settings_at,
        write_settings as write_settings,
    )
    from steelyard.arena.scoring._stored_receipts import (
        DEFAULTED as DEFAULTED,
        claimed_criteria as claimed_criteria,
        claimed_of as claimed_of,
        defaulted_fields as defaulted_fields,
        defaulted_of as defaulted_of,
        lower_bounds as lower_bounds,
        lower_bounds_of as lower_bounds_of,
        stored_receipts as stored_receipts,
    )
    from steelyard.arena.scoring._stored_tallies import (
        PACKED_UP_TO as PACKED_UP_TO,
        PackedTallies as PackedTallies,
        StoredTally as StoredTally,
        add_to_tallies as add_to_tallies,
        forget_packed as forget_packed,
        forget_scores as forget_scores,
        pack_tally as pack_tally,
        rank_and_percentile as rank_and_percentile,
        ranks_and_percentiles as ranks_and_percentiles,
        unpack_tally as unpack_tally,
        write_packed as write_packed,
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
        validate as validate,
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
