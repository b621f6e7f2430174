from ._conditions import (
    ConditionDifference as ConditionDifference,
    check_ignored as check_ignored,
    condition_rows as condition_rows,
    conditions_finding as conditions_finding,
    differing_conditions as differing_conditions,
    withheld_reason as withheld_reason,
)
from ._differences import (
    DEPENDS_ON_CLUSTERS as DEPENDS_ON_CLUSTERS,
    DEPENDS_ON_UNSCORED as DEPENDS_ON_UNSCORED,
    EFFECT_OF_INTEREST as EFFECT_OF_INTEREST,
    FEW_DIFFER as FEW_DIFFER,
    NO_COMMON_TASK as NO_COMMON_TASK,
    Difference as Difference,
    StatisticsOptions as StatisticsOptions,
    delta_within_tasks as delta_within_tasks,
    difference as difference,
    for_margin as for_margin,
    gap_of as gap_of,
    linearized as linearized,
    reach_of as reach_of,
    runs_to_permute as runs_to_permute,
    tested as tested,
    with_fills as with_fills,
)
from ._intervals import (
    METHODS as METHODS,
    check_method as check_method,
    group_intervals as group_intervals,
    ratio_interval as ratio_interval,
    why_no_estimate as why_no_estimate,
)
from ._lower_bounds import lower_bound_runs as lower_bound_runs
from ._samples import (
    Mask as Mask,
    Samples as Samples,
    TaskMeans as TaskMeans,
    chosen_rows as chosen_rows,
    comparable as comparable,
    complete_ratio_parts as complete_ratio_parts,
    counted_otherwise as counted_otherwise,
    groups_of as groups_of,
    joined as joined,
    pooled as pooled,
    ratio_part_names as ratio_part_names,
    read_filter as read_filter,
    samples_of as samples_of,
    scores_of as scores_of,
    with_clusters as with_clusters,
    with_completion as with_completion,
)
from ._weightings import uneven_groups as uneven_groups, weights_differ as weights_differ
