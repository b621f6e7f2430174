"""Statistics of compare, rank, gate and matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.questions.analysis._choosing_intervals import (
        check_method as check_method,
    )
    from steelyard.questions.analysis._choosing_runs import (
        chosen_rows as chosen_rows,
        comparable as comparable,
        counted_otherwise as counted_otherwise,
        groups_of as groups_of,
        pooled as pooled,
        read_filter as read_filter,
        samples_of as samples_of,
    )
    from steelyard.questions.analysis._comparing import (
        Judged as Judged,
        adjusted_p_values as adjusted_p_values,
        judge as judge,
    )
    from steelyard.questions.analysis._differences import (
        Difference as Difference,
        StatisticsOptions as StatisticsOptions,
        difference as difference,
    )
    from steelyard.questions.analysis._entrants import (
        Entrants as Entrants,
        Key as Key,
        enter as enter,
    )
    from steelyard.questions.analysis._gate_rules import (
        RULE_FORMS as RULE_FORMS,
        GateStatus as GateStatus,
        Rule as Rule,
        read_rule as read_rule,
        rule_text as rule_text,
    )
    from steelyard.questions.analysis._gating import (
        RuleCheck as RuleCheck,
        check as check,
    )
    from steelyard.questions.analysis._measured_intervals import (
        no_figure_for as no_figure_for,
        uncertain_grades as uncertain_grades,
        with_intervals as with_intervals,
    )
    from steelyard.questions.analysis._outlier_dominated_means import (
        outlier_dominated_mean as outlier_dominated_mean,
    )
    from steelyard.questions.analysis._permuted_pairs import (
        significant_by_permutation as significant_by_permutation,
    )
    from steelyard.questions.analysis._ranking import (
        competition_ranks as competition_ranks,
        estimate_ranks as estimate_ranks,
        fronts as fronts,
        passes_of as passes_of,
        scores_of as scores_of,
    )
    from steelyard.questions.analysis._samples import (
        Mask as Mask,
        Samples as Samples,
        TaskMeans as TaskMeans,
        joined as joined,
    )
    from steelyard.questions.analysis._uneven_attempts import (
        uneven_groups as uneven_groups,
        weights_differ as weights_differ,
    )
    from steelyard.questions.analysis._verdicts import (
        verdict as verdict,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
