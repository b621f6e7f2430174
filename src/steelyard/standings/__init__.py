"""Statistics of compare, rank, gate, matrix and judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.standings._choosing_intervals import (
        check_method as check_method,
    )
    from steelyard.standings._choosing_runs import (
        chosen_rows as chosen_rows,
        comparable as comparable,
        counted_otherwise as counted_otherwise,
        groups_of as groups_of,
        pooled as pooled,
        read_filter as read_filter,
        samples_of as samples_of,
    )
    from steelyard.standings._comparing import (
        adjusted_p_values as adjusted_p_values,
        judge as judge,
    )
    from steelyard.standings._differences import (
        StatisticsOptions as StatisticsOptions,
        difference as difference,
    )
    from steelyard.standings._entrants import (
        Entrants as Entrants,
        Key as Key,
        enter as enter,
        places as places,
    )
    from steelyard.standings._gate_rules import (
        RULE_FORMS as RULE_FORMS,
        read_rule as read_rule,
        rule_text as rule_text,
    )
    from steelyard.standings._gating import (
        check as check,
    )
    from steelyard.standings._judging import (
        JudgedRun as JudgedRun,
        Rating as Rating,
        examine as examine,
    )
    from steelyard.standings._measured_intervals import (
        no_figure_for as no_figure_for,
        uncertain_grades as uncertain_grades,
        with_intervals as with_intervals,
    )
    from steelyard.standings._outlier_dominated_means import (
        outlier_dominated_mean as outlier_dominated_mean,
    )
    from steelyard.standings._permuted_pairs import (
        significant_by_permutation as significant_by_permutation,
    )
    from steelyard.standings._ranking import (
        estimate_ranks as estimate_ranks,
    )
    from steelyard.standings._samples import (
        Mask as Mask,
        Samples as Samples,
        joined as joined,
    )
    from steelyard.standings._task_matrix import (
        matrix_tasks as matrix_tasks,
    )
    from steelyard.standings._uneven_attempts import (
        uneven_groups as uneven_groups,
        weights_differ as weights_differ,
    )
    from steelyard.standings._verdicts import (
        verdict as verdict,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
