"""Intervals, tests, inter-rater agreement and ranks, as pure functions of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.statistics._agreement import (
        Scale as Scale,
        cohens_kappa as cohens_kappa,
        fleiss_kappa as fleiss_kappa,
        krippendorff_alpha as krippendorff_alpha,
        severity as severity,
    )
    from steelyard.statistics._bootstrap import (
        bootstrap_mean as bootstrap_mean,
    )
    from steelyard.statistics._bounded_means import (
        bounded_mean as bounded_mean,
    )
    from steelyard.statistics._calibrated_logistic import (
        CalibratedLogistic as CalibratedLogistic,
        Examples as Examples,
        fit_calibrated_logistic as fit_calibrated_logistic,
    )
    from steelyard.statistics._cluster_sign_flips import (
        MIN_CLUSTERS as MIN_CLUSTERS,
        cluster_sign_flip as cluster_sign_flip,
        effective_clusters as effective_clusters,
    )
    from steelyard.statistics._coincidences import (
        Coincidence as Coincidence,
        are_fine as are_fine,
        coincidences as coincidences,
    )
    from steelyard.statistics._concordance import (
        kendall_tau as kendall_tau,
        spearman_rho as spearman_rho,
    )
    from steelyard.statistics._confidence_sequences import (
        MIN_SAVING_TASKS as MIN_SAVING_TASKS,
        PLANNED_FACTOR as PLANNED_FACTOR,
        SequentialTest as SequentialTest,
        anytime_p_values as anytime_p_values,
        sequential_test as sequential_test,
    )
    from steelyard.statistics._counted_groups import (
        CountedGroups as CountedGroups,
        GroupedValues as GroupedValues,
        midpoint as midpoint,
    )
    from steelyard.statistics._crossed_effects import (
        CrossedEffects as CrossedEffects,
        crossed_effects as crossed_effects,
        distinct_pairs as distinct_pairs,
    )
    from steelyard.statistics._effect_sizes import (
        cliffs_delta as cliffs_delta,
        size_word as size_word,
        standardized as standardized,
    )
    from steelyard.statistics._estimates import (
        LEVEL as LEVEL,
        RESAMPLES as RESAMPLES,
        SEED as SEED,
        Interval as Interval,
        KruskalWallis as KruskalWallis,
        Significance as Significance,
    )
    from steelyard.statistics._exact_sums import (
        ExactSums as ExactSums,
        exact_means as exact_means,
        exact_totals as exact_totals,
        mean_of as mean_of,
    )
    from steelyard.statistics._gold_labels import (
        CorrectedRate as CorrectedRate,
        JudgeAccuracy as JudgeAccuracy,
        judge_accuracy as judge_accuracy,
        ppi_rate as ppi_rate,
        rogan_gladen_rate as rogan_gladen_rate,
    )
    from steelyard.statistics._group_statistics import (
        STATISTICS as STATISTICS,
    )
    from steelyard.statistics._grouped_intervals import (
        auto_means as auto_means,
        auto_medians as auto_medians,
    )
    from steelyard.statistics._interval import (
        Floats as Floats,
        Ints as Ints,
        check_level as check_level,
        no_interval as no_interval,
    )
    from steelyard.statistics._inversion import (
        Equivalence as Equivalence,
        equivalence_test as equivalence_test,
        p_value_by_inversion as p_value_by_inversion,
    )
    from steelyard.statistics._item_response import (
        ItemResponse as ItemResponse,
        Responses as Responses,
        item_response as item_response,
    )
    from steelyard.statistics._means import (
        clustered as clustered,
        median_clustered as median_clustered,
        median_exact as median_exact,
        student as student,
        student_quantile as student_quantile,
        wilson_clustered as wilson_clustered,
    )
    from steelyard.statistics._modal_mass import (
        modal_mass as modal_mass,
    )
    from steelyard.statistics._multiplicity import (
        benjamini_hochberg as benjamini_hochberg,
        holm as holm,
        simultaneous_limits as simultaneous_limits,
    )
    from steelyard.statistics._paired import (
        mcnemar_exact as mcnemar_exact,
        paired_bootstrap as paired_bootstrap,
        paired_plus_two as paired_plus_two,
        paired_proportions as paired_proportions,
        paired_ratios as paired_ratios,
        paired_t as paired_t,
        sign_flip as sign_flip,
        sign_flip_many as sign_flip_many,
        swap_ratios as swap_ratios,
        widened_for_skew as widened_for_skew,
    )
    from steelyard.statistics._paired_means import (
        moments_of as moments_of,
        paired_mean as paired_mean,
        paired_mean_rows as paired_mean_rows,
        permutation_limits as permutation_limits,
        quantum_of as quantum_of,
        unequal_attempts as unequal_attempts,
    )
    from steelyard.statistics._pairwise import (
        bradley_terry as bradley_terry,
        rank_intervals as rank_intervals,
        ranked_pairs as ranked_pairs,
        strengths_by_task as strengths_by_task,
        total_wins as total_wins,
    )
    from steelyard.statistics._pareto import (
        pareto_frequencies as pareto_frequencies,
        pareto_optimal as pareto_optimal,
    )
    from steelyard.statistics._passes import (
        pass_at_k as pass_at_k,
        passes_over_tasks as passes_over_tasks,
    )
    from steelyard.statistics._permutations import (
        permuted_sums as permuted_sums,
    )
    from steelyard.statistics._planning import (
        DifferenceDistribution as DifferenceDistribution,
        SampleSize as SampleSize,
        minimum_effect_from_data as minimum_effect_from_data,
        sample_size_from_assumptions as sample_size_from_assumptions,
        sample_size_from_data as sample_size_from_data,
    )
    from steelyard.statistics._power import (
        POWER as POWER,
        minimum_detectable_effect as minimum_detectable_effect,
        std_dev_range as std_dev_range,
        tasks_needed as tasks_needed,
    )
    from steelyard.statistics._proportions import (
        clopper_pearson as clopper_pearson,
        wilson as wilson,
    )
    from steelyard.statistics._rank_tests import (
        kruskal_wallis as kruskal_wallis,
    )
    from steelyard.statistics._ratios import (
        TaskRatios as TaskRatios,
        fieller as fieller,
        fieller_hall as fieller_hall,
        mover_ratio as mover_ratio,
        ratio_bootstrap as ratio_bootstrap,
        ratio_difference as ratio_difference,
        ratio_difference_limits as ratio_difference_limits,
        ratio_limits as ratio_limits,
    )
    from steelyard.statistics._sensitivity import (
        FilledDifferences as FilledDifferences,
        SensitivityBounds as SensitivityBounds,
        TippingPoint as TippingPoint,
        difference_bounds as difference_bounds,
        filled_differences as filled_differences,
        fisher_exact as fisher_exact,
        tipping_point as tipping_point,
        unscored_matter as unscored_matter,
    )
    from steelyard.statistics._shrunk_weights import (
        WeightsFit as WeightsFit,
        bounded_weights as bounded_weights,
        fit_weights as fit_weights,
        part_diagnostics as part_diagnostics,
    )
    from steelyard.statistics._skewed_means import (
        ASSUMED_TAIL as ASSUMED_TAIL,
        coverage_floor as coverage_floor,
        reached as reached,
        skewed_mean as skewed_mean,
        variation as variation,
    )
    from steelyard.statistics._speed_tests import (
        MAX_SESSION_SD as MAX_SESSION_SD,
        OverallSpeed as OverallSpeed,
        SessionTimes as SessionTimes,
        SpeedTests as SpeedTests,
        log_median_error as log_median_error,
        minimum_effect_p as minimum_effect_p,
        speed_tests as speed_tests,
    )
    from steelyard.statistics._step_down import (
        significantly_better as significantly_better,
        step_down as step_down,
    )
    from steelyard.statistics._two_way import (
        TwoWay as TwoWay,
        deviations as deviations,
        two_way as two_way,
    )
    from steelyard.statistics._weighted_means import (
        evenly_tried as evenly_tried,
        task_means as task_means,
        weighted_means as weighted_means,
    )
    from steelyard.statistics._weighting import (
        WeightBy as WeightBy,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
