"""Rank groups by a metric, with rank intervals and cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from steelyard.errors import NoValidInputError, UsageError
from steelyard.metrics import Metric, catalog
from steelyard.option_names import option
from steelyard.questions._figure_options import RankOptions
from steelyard.questions._measured_tables import open_table, usual_metrics
from steelyard.questions._opening_runs import Measurable
from steelyard.questions._question import question
from steelyard.questions._tiers import keys_with_scheme
from steelyard.questions.compare import skews, table_findings
from steelyard.questions.measure import checked_keys
from steelyard.records import Finding, Missing, key_label
from steelyard.results import Ranking

if TYPE_CHECKING:
    from steelyard.profiles import Profile
    from steelyard.questions.analysis import Entrants, Key, Samples
    from steelyard.statistics import Floats, Ints
    from steelyard.tables import RunTable

    Standing = tuple[Floats, Ints, Ints]

SCORES = ("composite_score", "pass_rate", "impl_rate")
"""What runs are ranked by where nothing is named: what most runs have, the first of equals."""


@question(RankOptions)
def rank(runs: Measurable, options: RankOptions) -> Ranking:
    """Rank the groups by one metric over the tasks they share.

    Groups that attempted less than `min_task_coverage` of all tasks are excluded, so that one short run does not shrink
    the set of shared tasks.

    >>> import steelyard as sy
    >>> ranking = sy.rank(sy.demo_runs(), by=["tier"], metrics=["pass_rate"])
    >>> ranking.groups[0].key
    {'tier': 'T6'}
    """
    from steelyard.questions.analysis import (  # brings numpy and scipy
        comparable,
        counted_otherwise,
        groups_of,
        places,
        samples_of,
    )

    keys_by, named = _ranked_by(options.by), _named(options, usual_metrics(runs)[:1])
    profile, judging = options.outcome_profile(), options.statistics()
    table = open_table(runs, named, options, keys=keys_by)
    chosen_findings: list[Finding] = []
    if not named:
        named, chosen_findings = _score_of_most(table, profile)
    declared, on, extra = _ranked_on(named[0], options), named[0], named[1:]
    metrics = comparable([*named, "pass_rate", "cost_usd", "cost_of_pass"])
    keys_by, tier_scheme, scheme_findings = keys_with_scheme(keys_by, table.tier_schemes() if "tier" in keys_by else [])
    samples = samples_of(table, metrics, profile=profile, weight_by=options.weight_by)
    keys, codes = groups_of(table, keys_by, profile=profile)
    field, standing, test = _standing(samples, keys, codes, declared, options, by=keys_by)
    otherwise = counted_otherwise(table, samples, metrics)
    notes: list[Finding] = []
    if otherwise is not None:
        with suppress(NoValidInputError):  # counted the other way, no group may have a value
            other = _standing(otherwise, keys, codes, declared, options, by=keys_by)
            standing, notes = _either_way(field, standing, other[:2], keys_by)
    placed = places(samples, field, on, standing, by=keys_by, order=options.order, options=judging, extra_metrics=extra)
    labels = [key_label(keys_by, key) for key in field.keys]
    return Ranking(
        by=tuple(keys_by),
        tier_scheme=tier_scheme,
        on=on,
        extra_metrics=tuple(extra),
        rows=table.rows,
        order=options.order,
        test=test,
        groups=placed,
        tasks=int(field.common.sum()),
        all_tasks=len(samples.task_names),
        level=judging.level,
        seed=judging.seed,
        resamples=judging.resamples,
        profile=profile.name,
        findings=(
            *table_findings(table),
            *chosen_findings,
            *scheme_findings,
            *field.findings,
            *notes,
            *skews(table, samples, metrics, field.groups, by=keys_by, keys=field.keys, labels=labels),
        ),
        rejected_count=table.rejected_count,
        weight_by=options.weight_by,
        unscored=profile.unscored,
    )


def _standing(
    samples: Samples, keys: Sequence[Key], codes: Ints, declared: Metric, options: RankOptions, *, by: Sequence[str]
) -> tuple[Entrants, Standing, str]:
    """Who takes part, what they are ordered by with best and worst places, and the test behind the places."""
    from steelyard.questions.analysis import enter, estimate_ranks, significant_by_permutation  # brings numpy and scipy

    field = enter(samples, keys, codes, declared.name, by=by, min_task_coverage=options.min_task_coverage)
    judging = options.statistics()
    direction = 1.0 if declared.better == "higher" else -1.0
    order_by, best, worst, test = estimate_ranks(
        direction * field.scores,
        direction * field.figures,
        order=options.order,
        options=judging,
        halves=field.halves,
        permuted=lambda: significant_by_permutation(
            samples, field.groups, declared.name, field.common, size=field.size, options=judging
        ),
    )
    return field, (order_by, best, worst), test


def _either_way(
    field: Entrants, standing: Standing, otherwise: tuple[Entrants, Standing], by: Sequence[str]
) -> tuple[Standing, list[Finding]]:
    """The places that both ways of counting runs without a verdict leave open, and whose rest on them."""
    order_by, best, worst = standing[0], standing[1].copy(), standing[2].copy()
    other = {key: place for place, key in enumerate(otherwise[0].keys)}
    wider = []
    for place, key in enumerate(field.keys):
        if key not in other:
            continue
        least, most = (int(band[other[key]]) for band in otherwise[1][1:])
        if least < best[place] or most > worst[place]:
            wider.append(key_label(by, key))
        best[place], worst[place] = min(best[place], least), min(max(worst[place], most), field.size)
    message = "rank depends on runs without a verdict; the rank interval covers both ways of counting them"
    notes = [Finding(code="unscored_ranks", severity="info", message=message, where=label) for label in wider]
    return (order_by, best, worst), notes


def _ranked_by(by: Sequence[str]) -> list[str]:
    """The keys that make a competitor."""
    keys = checked_keys(by)
    if not keys:
        raise UsageError("no keys to rank by", hint=option("by", "agent,model"))
    if "task" in keys:
        message = "cannot rank by task: groups are ranked on their shared tasks"
        raise UsageError(message, hint=option("by", "agent,model"))
    return keys


def _named(options: RankOptions, usual: Sequence[str]) -> list[str]:
    """The metrics that are named, else the usual ones of what is ranked; none where runs decide."""
    from steelyard.questions.analysis import comparable  # brings numpy and scipy

    if not 0 <= options.min_task_coverage <= 1:
        raise UsageError(
            f"{option('min_task_coverage')} must be between 0 and 1 (got {options.min_task_coverage})",
            hint=option("min_task_coverage", 0.5),
        )
    return comparable(options.metrics or usual)


def _score_of_most(table: RunTable, profile: Profile) -> tuple[list[str], list[Finding]]:
    """The score that most runs have, the first of equals; a finding where that is not the first."""
    from steelyard.engines import engine_of  # brings numpy and Polars

    means = engine_of(table, profile).means(SCORES, [])
    known = {
        name: 0 if isinstance(figures, Missing) else int(figures["count"].sum()) for name, figures in means.items()
    }
    name = max(SCORES, key=lambda score: known[score])
    if name == SCORES[0]:
        return [name], []
    message = (
        f"ranked by {name}, known for {known[name]:,} of {table.n:,} runs; {SCORES[0]}, which needs a verdict and "
        f"an impl_rate, is known for {known[SCORES[0]]:,}"
    )
    return [name], [Finding(code="ranked_on", severity="info", message=message)]


def _ranked_on(name: str, options: RankOptions) -> Metric:
    """Return the metric if it can be ranked in the requested order."""
    declared = catalog()[name]
    if declared.better == "neither":
        raise UsageError(f"{declared.name} has no better direction, so it cannot be ranked")
    if declared.is_ratio and options.order != "mean":
        raise UsageError(
            f"{declared.name} is a ratio of means, which has no value per task", hint=option("order", "mean")
        )
    return declared
