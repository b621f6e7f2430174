"""Scores: baselines, rules, tallies, medians, and what a submission is worth under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard._doors import open_door

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
        Counted as Counted,
        count as count,
        joined as joined,
        single as single,
        unpacked as unpacked,
    )
    from steelyard.arena.scoring._packed_tallies import (
        SMALL as SMALL,
        Packed as Packed,
        forget_packed as forget_packed,
        pack as pack,
        unpack as unpack,
        write_packed as write_packed,
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
        ScoredBy as ScoredBy,
        read_rules_history as read_rules_history,
        scored_by as scored_by,
    )
    from steelyard.arena.scoring._running_median import (
        Half as Half,
    )
    from steelyard.arena.scoring._score_cents import (
        cents as cents,
        points as points,
        points_column as points_column,
        tenths_column as tenths_column,
    )
    from steelyard.arena.scoring._score_intervals import (
        ScoreInterval as ScoreInterval,
        mean_interval as mean_interval,
        score_interval as score_interval,
    )
    from steelyard.arena.scoring._scores import (
        FACTS as FACTS,
        KEPT as KEPT,
        OWN_CONSTANTS as OWN_CONSTANTS,
        RANKED as RANKED,
        cents_columns as cents_columns,
        score as score,
    )
    from steelyard.arena.scoring._settings import (
        POLICIES as POLICIES,
        hold_settings as hold_settings,
        read_settings as read_settings,
        settings_at as settings_at,
        write_settings as write_settings,
    )
    from steelyard.arena.scoring._stored_receipts import (
        DEFAULTED as DEFAULTED,
        Policy as Policy,
        claimed_criteria as claimed_criteria,
        claimed_of as claimed_of,
        defaulted_fields as defaulted_fields,
        defaulted_of as defaulted_of,
        known_receipts as known_receipts,
        lower_bounds as lower_bounds,
        lower_bounds_of as lower_bounds_of,
    )
    from steelyard.arena.scoring._stored_tallies import (
        StoredTally as StoredTally,
        add_to_tallies as add_to_tallies,
        forget_scores as forget_scores,
        place as place,
        places_of as places_of,
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
        KnownTask as KnownTask,
        TaskState as TaskState,
        load_task_states as load_task_states,
        save_task_states as save_task_states,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
