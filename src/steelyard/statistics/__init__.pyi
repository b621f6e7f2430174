from ._agreement import (
    Scale as Scale,
    TwoWay as TwoWay,
    cohens_kappa as cohens_kappa,
    deviations as deviations,
    fleiss_kappa as fleiss_kappa,
    krippendorff_alpha as krippendorff_alpha,
    severity as severity,
    two_way as two_way,
)
from ._bootstrap import bootstrap_mean as bootstrap_mean
from ._calibrated_logistic import (
    CalibratedLogistic as CalibratedLogistic,
    Examples as Examples,
    fit_calibrated_logistic as fit_calibrated_logistic,
)
from ._coincidences import Coincidence as Coincidence, are_fine as are_fine, coincidences as coincidences
from ._confidence_sequences import (
    MIN_SAVING_TASKS as MIN_SAVING_TASKS,
    PLANNED_FACTOR as PLANNED_FACTOR,
    SequentialTest as SequentialTest,
    anytime_p_values as anytime_p_values,
    sequential_test as sequential_test,
)
from ._crossed_effects import (
    CrossedEffects as CrossedEffects,
    crossed_effects as crossed_effects,
    distinct_pairs as distinct_pairs,
)
from ._difference_tests import (
    NORMAL_MEANS as NORMAL_MEANS,
    DifferenceTest as DifferenceTest,
    bootstrap_difference as bootstrap_difference,
    bounded_difference as bounded_difference,
    clustered_difference as clustered_difference,
    permuted_difference as permuted_difference,
    sequential_difference as sequential_difference,
    unbounded_difference as unbounded_difference,
    union_of as union_of,
)
from ._estimates import (
    LEVEL as LEVEL,
    RESAMPLES as RESAMPLES,
    SEED as SEED,
    CorrectedRate as CorrectedRate,
    Equivalence as Equivalence,
    Floats as Floats,
    Interval as Interval,
    Ints as Ints,
    JudgeAccuracy as JudgeAccuracy,
    KruskalWallis as KruskalWallis,
    Significance as Significance,
    WeightBy as WeightBy,
    check_level as check_level,
    no_interval as no_interval,
)
from ._exact_sums import (
    ExactSums as ExactSums,
    exact_means as exact_means,
    exact_totals as exact_totals,
    mean_of as mean_of,
    midpoint as midpoint,
)
from ._gold_labels import (
    judge_accuracy as judge_accuracy,
    ppi_rate as ppi_rate,
    rogan_gladen_rate as rogan_gladen_rate,
)
from ._group_statistics import STATISTICS as STATISTICS
from ._groups import (
    CountedGroups as CountedGroups,
    GroupedValues as GroupedValues,
    auto_means as auto_means,
    auto_medians as auto_medians,
    evenly_tried as evenly_tried,
    task_means as task_means,
    weighted_means as weighted_means,
)
from ._item_response import ItemResponse as ItemResponse, Responses as Responses, item_response as item_response
from ._means import (
    ASSUMED_TAIL as ASSUMED_TAIL,
    clustered as clustered,
    coverage_floor as coverage_floor,
    median_clustered as median_clustered,
    median_exact as median_exact,
    skewed_mean as skewed_mean,
    student as student,
    student_quantile as student_quantile,
    wilson_clustered as wilson_clustered,
)
from ._p_values import (
    benjamini_hochberg as benjamini_hochberg,
    equivalence_test as equivalence_test,
    holm as holm,
    p_value_by_inversion as p_value_by_inversion,
    simultaneous_limits as simultaneous_limits,
)
from ._paired import (
    MIN_CLUSTERS as MIN_CLUSTERS,
    MIN_RESAMPLED_TASKS as MIN_RESAMPLED_TASKS,
    cliffs_delta as cliffs_delta,
    cluster_sign_flip as cluster_sign_flip,
    effective_clusters as effective_clusters,
    margin_quantum as margin_quantum,
    mcnemar_exact as mcnemar_exact,
    moments_of as moments_of,
    paired_bootstrap as paired_bootstrap,
    paired_mean as paired_mean,
    paired_mean_rows as paired_mean_rows,
    paired_plus_two as paired_plus_two,
    paired_proportions as paired_proportions,
    paired_ratios as paired_ratios,
    paired_t as paired_t,
    permutation_limits as permutation_limits,
    permuted_sums as permuted_sums,
    quantum_of as quantum_of,
    sign_flip as sign_flip,
    sign_flip_many as sign_flip_many,
    size_word as size_word,
    standardized as standardized,
    swap_ratios as swap_ratios,
    unequal_attempts as unequal_attempts,
)
from ._planning import (
    POWER as POWER,
    DifferenceDistribution as DifferenceDistribution,
    SampleSize as SampleSize,
    minimum_detectable_effect as minimum_detectable_effect,
    minimum_effect_from_data as minimum_effect_from_data,
    sample_size_from_assumptions as sample_size_from_assumptions,
    sample_size_from_data as sample_size_from_data,
    tasks_needed as tasks_needed,
)
from ._proportions import (
    bounded_mean as bounded_mean,
    clopper_pearson as clopper_pearson,
    modal_mass as modal_mass,
    pass_at_k as pass_at_k,
    passes_over_tasks as passes_over_tasks,
    wilson as wilson,
)
from ._rank_tests import kendall_tau as kendall_tau, kruskal_wallis as kruskal_wallis, spearman_rho as spearman_rho
from ._ranking import (
    bradley_terry as bradley_terry,
    pareto_frequencies as pareto_frequencies,
    pareto_optimal as pareto_optimal,
    rank_intervals as rank_intervals,
    ranked_pairs as ranked_pairs,
    significantly_better as significantly_better,
    step_down as step_down,
    strengths_by_task as strengths_by_task,
    total_wins as total_wins,
)
from ._ratios import (
    TaskRatios as TaskRatios,
    fieller as fieller,
    mover_ratio as mover_ratio,
    ratio_bootstrap as ratio_bootstrap,
    ratio_difference as ratio_difference,
    ratio_difference_limits as ratio_difference_limits,
    ratio_limits as ratio_limits,
)
from ._sensitivity import (
    MAX_UNSCORED as MAX_UNSCORED,
    FilledDifferences as FilledDifferences,
    SensitivityBounds as SensitivityBounds,
    TippingPoint as TippingPoint,
    difference_bounds as difference_bounds,
    filled_differences as filled_differences,
    fisher_exact as fisher_exact,
    tipping_point as tipping_point,
    unscored_matter as unscored_matter,
)
from ._shrunk_weights import (
    WeightsFit as WeightsFit,
    bounded_weights as bounded_weights,
    fit_weights as fit_weights,
    part_diagnostics as part_diagnostics,
)
from ._speed_tests import (
    MAX_SESSION_SD as MAX_SESSION_SD,
    OverallSpeed as OverallSpeed,
    SessionTimes as SessionTimes,
    SpeedTests as SpeedTests,
    log_median_error as log_median_error,
    minimum_effect_p as minimum_effect_p,
    speed_tests as speed_tests,
)
