"""Rank agents, with confidence intervals for the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from msgspec import structs

from steelyard import metrics, pages, statistics  # names of `pages` are imported on first use
from steelyard.errors import NoValidInputError, UsageError
from steelyard.formatting import (
    at_least,
    counted,
    exact_percent,
    interval_name,
    number_format,
    p_value,
    plain,
    quantity,
)
from steelyard.metrics import Metric, catalog
from steelyard.option_names import option
from steelyard.plain_text import clean
from steelyard.questions import analysis
from steelyard.questions._expected_tasks import with_expected_tasks
from steelyard.questions._figure_options import RankOptions
from steelyard.questions._group_keys import VARYING, default_keys, keys_with_scheme
from steelyard.questions._measured_tables import open_table, usual_metrics
from steelyard.questions._question import question
from steelyard.questions._run_input import Measurable
from steelyard.questions.compare import CompareOptions, clusters_found, leader_margin, skews, table_findings
from steelyard.questions.integrity import CleanRuns, clean_runs
from steelyard.questions.measure import checked_keys
from steelyard.questions.rank._answer import (
    LeaderMargin as LeaderMargin,
    PassEstimate as PassEstimate,
    RankedGroup as RankedGroup,
    RankedTasks as RankedTasks,
    Ranking as Ranking,
    RankInterval as RankInterval,
)
from steelyard.records import Finding, Missing, Place, key_label, key_text, one_a_kind

if TYPE_CHECKING:
    from steelyard.metrics import Key
    from steelyard.pages import Column, Page, PageTable
    from steelyard.profiles import Profile
    from steelyard.questions.analysis import Samples
    from steelyard.questions.rank._ranks import Entrants
    from steelyard.sources import RunTable
    from steelyard.statistics import Floats, Ints, KruskalWallis

    Standing = tuple[Floats, Ints, Ints]

SCORES = ("composite_score", "pass_rate", "impl_rate")
"""Default metrics to rank by: the one that most runs have, the first if several tie."""
SHOWN_K = (1, 2, 3, 4, 5, 10)
"""The k of pass@k that the page shows."""
MAX_LEADERS = 6
"""Number of possible leaders that the page names."""
RANK = "Rank 2-4: {level} confidence set for the rank."
CLEAN = ", runs with an integrity violation counted as not passed"
BOUND_SIGN = "≥"
BOUND = "≥ marks a lower bound: the cost of some runs is known to be too low."
PARETO = "Pareto: * = on the frontier; percentage = bootstrap resamples in which the group is on it{reason}."


@question(RankOptions, examples=({"by": "tier", "metrics": "composite_score"},))
def rank(runs: Measurable, options: RankOptions) -> Ranking:
    """Rank the groups by one metric over the tasks they share.

    Groups that attempted less than `min_task_coverage` of all tasks are excluded, so that one short run does not shrink
    the set of shared tasks.

    >>> import steelyard as sy
    >>> ranking = sy.rank(sy.demo_runs(), by=["tier"], metrics=["pass_rate"])
    >>> ranking.groups[0].key
    {'tier': 'T6'}
    """
    from steelyard.questions.rank._ranks import ranked_groups  # brings numpy and scipy

    keys_by, named = _ranked_by(options.by), _named(options, usual_metrics(runs)[:1])
    judging = options.statistics()
    cleaned = clean_runs(runs, options) if options.clean else CleanRuns()
    if options.clean:
        runs, options = cleaned.runs, cleaned.options_of(options)
    table = open_table(runs, named, options, keys=[*options.cluster_keys, *(keys_by or VARYING)])
    keys_by = keys_by or list(default_keys(table))
    table = with_expected_tasks(table, options.tasks, keys_by)
    named, chosen_findings = (named, []) if named else _score_of_most(table, options.outcome_profile())
    keys_by, tier_scheme, scheme_findings = keys_with_scheme(keys_by, table.tier_schemes() if "tier" in keys_by else [])
    ranks = _ranked(table, named, options, by=keys_by)
    samples, field = ranks.samples, ranks.field
    groups = ranked_groups(
        samples,
        field,
        named,
        ranks.standing,
        by=keys_by,
        tier_scheme=tier_scheme,
        has_strength=options.order == "bradley-terry",
        lower_bounds=ranks.lower_bounds,
        options=judging,
    )
    return Ranking(
        profile=samples.profile.name,
        by=tuple(keys_by),
        tier_scheme=tier_scheme,
        metrics=tuple(named),
        order=options.order,
        test=ranks.test,
        correction="holm" if "Holm" in ranks.test else "step-down" if "step-down" in ranks.test else None,
        weight_by=options.weight_by,
        unscored=samples.profile.unscored,
        clean=options.clean,
        tasks=RankedTasks(common=int(field.common.sum()), all=len(samples.task_names)),
        kruskal_wallis=_rank_tests(samples, named, field.on_common(samples.tasks)),
        confidence=judging.level,
        seed=judging.seed,
        resamples=judging.resamples,
        row_kind=table.rows,
        groups=_with_margin(groups, table, ranks, named[0], options, tier_scheme=tier_scheme),
        findings=one_a_kind(
            (
                *cleaned.findings,
                *table_findings(table),
                *chosen_findings,
                *scheme_findings,
                *field.findings,
                *ranks.findings,
                *clusters_found(field.effective_clusters, samples),
                *skews(
                    table,
                    samples,
                    _needed_metrics(named),
                    field.groups,
                    by=keys_by,
                    keys=field.keys,
                    labels=[key_label(keys_by, key) for key in field.keys],
                ),
            )
        ),
        rejected_count=table.rejected_count + cleaned.rejected_count,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RankedEntrants:
    """The groups with their ranks, and the data that they are from."""

    samples: Samples
    field: Entrants
    standing: Standing
    test: str
    lower_bounds: Mapping[str, Sequence[int]]
    """Number of runs of each group whose value is a lower bound, by metric."""
    findings: Sequence[Finding]


def _ranked(table: RunTable, named: Sequence[str], options: RankOptions, *, by: Sequence[str]) -> _RankedEntrants:
    """Return the ranks of the groups; their intervals cover what runs without a verdict and lower bounds may change."""
    profile, declared = options.outcome_profile(), _ranked_on(named[0], options)
    metrics = _needed_metrics(named)
    samples = analysis.samples_of(table, metrics, profile=profile, weight_by=options.weight_by)
    samples = analysis.with_clusters(samples, table, options.cluster)
    keys, codes = analysis.groups_of(table, by, profile=profile)
    field, standing, test = _standing(samples, keys, codes, declared, options, by=by)
    otherwise = analysis.counted_otherwise(table, samples, metrics)
    findings: list[Finding] = []
    if otherwise is not None:
        with suppress(NoValidInputError):  # counted the other way, no group may have a value
            other = _standing(otherwise, keys, codes, declared, options, by=by)
            standing, findings = _either_way(field, standing, other[:2], by)
    labels = [key_label(by, key) for key in field.keys]
    counting = field.on_common(samples.tasks)
    lower_bounds = {
        name: analysis.lower_bound_runs(table, samples, name, counting, field.size)
        for name in dict.fromkeys([*named, "cost_usd", "cost_of_pass"])
    }
    findings += _bounded_scores(named[0], lower_bounds[named[0]], labels)
    standing = _within_lower_bounds(field, standing, lower_bounds[named[0]])
    standing, condition_findings = _under_conditions(table, field, standing, by, labels, options)
    return _RankedEntrants(
        samples=samples,
        field=field,
        standing=standing,
        test=test,
        lower_bounds=lower_bounds,
        findings=[*findings, *condition_findings],
    )


def _needed_metrics(named: Sequence[str]) -> list[str]:
    """Return the metrics of a ranking: those named, and those of cost."""
    return analysis.comparable([*named, "pass_rate", "cost_usd", "cost_of_pass"])


def _with_margin(
    groups: tuple[RankedGroup, ...],
    table: RunTable,
    ranks: _RankedEntrants,
    metric: str,
    options: RankOptions,
    *,
    tier_scheme: str | None,
) -> tuple[RankedGroup, ...]:
    """Return the groups; the leader has its difference from the second one."""
    if len(groups) < 2:
        return groups
    shared = CompareOptions.declared.keys() & RankOptions.declared.keys()
    values = {name: getattr(options, name) for name in shared - {"metrics"}}
    sides = [
        (
            _group_name(group, tier_scheme),
            {name: key_text(value) for name, value in group.key.items()},
            ranks.field.groups == ranks.field.keys.index(tuple(group.key.values())),
        )
        for group in (groups[1], groups[0])
    ]
    found = leader_margin(table, ranks.samples, sides, metric, CompareOptions(**values))
    margin = LeaderMargin(
        sentence=found.sentence,
        second=_group_name(groups[1], tier_scheme),
        verdict=found.verdict,
        leader_value=found.candidate,
        second_value=found.baseline,
        difference=found.difference,
        p_value=found.test.p_value,
        tasks=found.tasks,
    )
    return structs.replace(groups[0], margin=margin), *groups[1:]


def _standing(
    samples: Samples, keys: Sequence[Key], codes: Ints, declared: Metric, options: RankOptions, *, by: Sequence[str]
) -> tuple[Entrants, Standing, str]:
    """Entrants, the metric that orders them with their rank intervals, and the test of the ranks."""
    from steelyard.questions.rank._ranks import (  # brings numpy and scipy
        enter,
        estimate_ranks,
        significant_by_permutation,
    )

    field = enter(samples, keys, codes, declared.name, by=by, min_task_coverage=options.min_task_coverage)
    judging = options.statistics()
    direction = 1.0 if declared.better == "higher" else -1.0
    order_by, best, worst, test = estimate_ranks(
        direction * field.scores,
        direction * field.figures,
        order=options.order,
        options=judging,
        ratio_parts=field.ratio_parts,
        clusters=field.clusters,
        are_clusters_units=samples.are_clusters_units,
        permuted=lambda: significant_by_permutation(
            samples, field.groups, declared.name, field.common, size=field.size, options=judging
        ),
    )
    return field, (order_by, best, worst), test


def _either_way(
    field: Entrants, standing: Standing, otherwise: tuple[Entrants, Standing], by: Sequence[str]
) -> tuple[Standing, list[Finding]]:
    """Return the ranks over both policies for runs without a verdict, with a finding if the policy changes them."""
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


def _rank_tests(samples: Samples, named: Sequence[str], counting: Ints) -> dict[str, KruskalWallis]:
    """The Kruskal-Wallis test of each metric that runs have, over those on the shared tasks."""
    inside = counting >= 0
    return {
        name: statistics.kruskal_wallis(values[inside], counting[inside].tolist())
        for name in named
        if name in samples.values and not isinstance(values := samples.values[name], Missing)
    }


def _bounded_scores(metric: str, bounds: Sequence[int], labels: Sequence[str]) -> list[Finding]:
    """Groups whose rank follows from a lower bound."""
    places = tuple(
        Place(where=label, message=counted(count, "run")) for label, count in zip(labels, bounds, strict=True) if count
    )
    message = f"{metric} is a lower bound, so the group may rank differently"
    return [Finding(code="rank_lower_bound", message=message, places=places)] if places else []


def _within_lower_bounds(field: Entrants, standing: Standing, bounds: Sequence[int]) -> Standing:
    """Return ranks that do not separate a group from one with a larger value if its own is a lower bound."""
    order_by, best, worst = standing[0], standing[1].copy(), standing[2].copy()
    for one, other in permutations(range(field.size), 2):
        if bounds[one] and field.figures[one] < field.figures[other]:
            best[one] = best[other] = min(best[one], best[other])
            worst[one] = worst[other] = max(worst[one], worst[other])
    return order_by, best, worst


def _under_conditions(
    table: RunTable,
    field: Entrants,
    standing: Standing,
    by: Sequence[str],
    labels: Sequence[str],
    options: RankOptions,
) -> tuple[Standing, list[Finding]]:
    """Return ranks that do not separate groups which ran under different conditions, and the finding about those."""
    ignored = analysis.check_ignored(options.ignore_conditions)
    rows = [analysis.condition_rows(table, field.groups == place) for place in range(field.size)]
    order_by, best, worst = standing[0], standing[1].copy(), standing[2].copy()
    found = {}
    for one, other in combinations(range(field.size), 2):
        own = analysis.differing_conditions(rows[one], rows[other], chosen=by, ignored=ignored)
        if own:
            found[f"{labels[one]} and {labels[other]}"] = own
        if analysis.withheld_reason(own) is not None:
            best[one] = best[other] = min(best[one], best[other])
            worst[one] = worst[other] = max(worst[one], worst[other])
    return (order_by, best, worst), analysis.conditions_finding(found)


def _ranked_by(by: Sequence[str]) -> list[str]:
    """Return the keys that the user named, validated."""
    keys = checked_keys(by)
    if "task" in keys:
        message = "cannot rank by task: groups are ranked on their shared tasks"
        raise UsageError(message, hint=option("by", "agent,model"))
    return keys


def _named(options: RankOptions, usual: Sequence[str]) -> list[str]:
    """Return the named metrics, else the usual ones; none if the runs decide."""
    if not 0 <= options.min_task_coverage <= 1:
        raise UsageError(
            f"{option('min_task_coverage')} must be between 0 and 1 (got {options.min_task_coverage})",
            hint=option("min_task_coverage", 0.5),
        )
    return analysis.comparable(options.metrics or usual)


def _score_of_most(table: RunTable, profile: Profile) -> tuple[list[str], list[Finding]]:
    """The score that most runs have, the first of equals; a finding where that is not the first."""
    means = metrics.engine_of(table, profile).means(SCORES, [])
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


def page(answer: Ranking) -> Page:
    """Return the ranking with rank intervals, scores and costs, then pass@k if tasks have several attempts."""
    declared, tasks = catalog()[answer.metrics[0]], answer.tasks
    sentences = _sentences(answer)
    over = f"{declared.title} {declared.arrow} over {tasks.common:,} of {tasks.all:,} tasks"
    made = pages.Page(
        name="rank",
        title="Which group is best, how certain is the ranking, and what does it cost?",
        answer=sentences[0],
        notes=tuple(sentences[1:]),
        table=pages.PageTable(
            caption=f"{over}, by {answer.order}, {pages.weighting(answer)}{CLEAN if answer.clean else ''}",
            columns=tuple(_columns(answer)),
            sides=[_side(group.key) for group in answer.groups],
        ),
        also=tuple(_passes_table(answer)),
        facts=(
            ("tasks", f"{tasks.common:,} shared by all groups, of {tasks.all:,}"),
            ("order", f"{answer.order} of {answer.metrics[0]}; ranks by {answer.test}"),
            ("interval method", pages.methods_of([group.score for group in answer.groups])),
            *(("Kruskal-Wallis test", _rank_test(name, test)) for name, test in answer.kruskal_wallis.items()),
            *pages.drawn_facts(confidence=answer.confidence, resamples=answer.resamples, seed=answer.seed),
            *pages.counting_facts(answer),
            *((("integrity violations", "counted as not passed"),) if answer.clean else ()),
        ),
    )
    return pages.with_figures(made, answer, ("dots", "pareto"))


def _rank_test(name: str, test: KruskalWallis) -> str:
    """Return the result of the test of a metric, or why there is none."""
    if test.h is None or test.p_value is None:
        return f"{name}: {test.reason}"
    values = f"{counted(test.groups, 'group')}, {counted(test.n, 'run')}"
    return f"{name}: H = {plain(test.h)}, {p_value(test.p_value)} ({values})"


def _side(key: Mapping[str, str | int | None]) -> str:
    return ",".join(f"{name}={value}" for name, value in key.items() if value is not None)


def _keys(answer: Ranking) -> list[Column]:
    return pages.key_columns(answer.by, [group.key for group in answer.groups], answer.tier_scheme)


def _columns(answer: Ranking) -> Iterator[Column]:
    declared, groups = catalog()[answer.metrics[0]], answer.groups
    yield pages.Column(
        name="rank",
        title="rank",
        values=[group.rank for group in groups],
        decimals=0,
        texts=[group.rank_text for group in groups],
        legend=RANK.format(level=exact_percent(answer.confidence)),
    )
    yield from _keys(answer)
    if answer.order == "bradley-terry":
        yield pages.number_column("strength", "strength", [group.strength for group in groups], places=2, sign="+")
    scores = [group.score.estimate for group in groups]
    yield _bounded(
        answer, answer.metrics[0], pages.level_column("score", declared.title.lower(), scores, declared.unit)
    )
    yield _interval_column(answer, declared.unit)
    costs = {"cost_usd": _cost_column(answer), "cost_of_pass": _cost_of_pass_column(answer)}
    for name in answer.metrics[1:]:
        if name in costs:  # asked for, so it stays in a narrow terminal
            costs[name] = replace(costs[name], spare=0)
            continue
        extra = catalog()[name]
        values = [group.extra_metrics[name] for group in groups]
        yield _bounded(answer, name, pages.level_column(name, extra.title.lower(), values, extra.unit))
    yield from costs.values()
    reasons = {group.pareto_reason for group in groups if group.pareto_optimal is not None and group.pareto_reason}
    yield pages.Column(
        name="pareto",
        title="Pareto",
        values=[group.pareto_frequency for group in groups],
        decimals=6,
        texts=[_front_text(group) for group in groups],
        spare=3,
        legend=PARETO.format(reason="".join(f" ({reason})" for reason in sorted(reasons))),
    )
    yield replace(pages.count_column("runs", f"{answer.row_kind}s", [group.runs for group in groups]), spare=4)


def _interval_column(answer: Ranking, unit: str) -> Column:
    scores = [group.score for group in answer.groups]
    column = number_format((end for score in scores for end in (score.low, score.high)), unit)
    texts = []
    for score in scores:
        ends = f"{column.text(score.low, bare=True)} to {column.text(score.high, bare=True)}"
        texts.append((f"{ends}\n{score.mark}" if score.mark else ends) if score.known else pages.DASH)
    return pages.Column(
        name="interval",
        title=interval_name(answer.confidence),
        values=[score.low for score in scores],
        decimals=6,
        texts=texts,
        legend=pages.interval_legend(scores),
    )


def _cost_column(answer: Ranking) -> Column:
    """Return mean costs, with the number of runs they are known for unless that is all of them."""
    costs = [group.cost_usd for group in answer.groups]
    column = _bounded(answer, "cost_usd", pages.level_column("cost_usd", "mean cost", costs, "USD"))
    texts = []
    for place, group in enumerate(answer.groups):
        is_partial = group.cost_usd is not None and group.cost_runs != group.runs
        texts.append(column.shown(place) + (f" ({group.cost_runs:,} of {group.runs:,})" if is_partial else ""))
    return replace(column, texts=texts, spare=1)


def _cost_of_pass_column(answer: Ranking) -> Column:
    costs = [group.cost_of_pass for group in answer.groups]
    return replace(
        _bounded(answer, "cost_of_pass", pages.level_column("cost_of_pass", "cost of pass", costs, "USD")), spare=2
    )


def _bounded(answer: Ranking, metric: str, column: Column) -> Column:
    """Return the column with lower bounds marked."""
    texts = [
        at_least(
            column.shown(place), is_bound=bool(group.lower_bounds.get(metric)) and column.values[place] is not None
        )
        for place, group in enumerate(answer.groups)
    ]
    has_bounds = any(group.lower_bounds.get(metric) for group in answer.groups)
    return replace(column, texts=texts, legend=BOUND if has_bounds else column.legend)


def _front_text(group: RankedGroup) -> str:
    frequency = group.pareto_frequency
    texts = ["*"] if group.pareto_optimal else []
    texts += [] if frequency is None else [quantity(frequency, "fraction")]
    if not texts:
        return pages.DASH
    text = " ".join(texts)
    return f"{text} (cost {BOUND_SIGN})" if group.lower_bounds.get("cost_usd") else text


def _passes_table(answer: Ranking) -> Iterator[PageTable]:
    tried = [k for k in SHOWN_K if any(str(k) in group.pass_at_k for group in answer.groups)]
    if not tried:
        return
    columns = _keys(answer)
    for k in tried:
        pairs = [(group.pass_at_k.get(str(k)), group.pass_all_k.get(str(k))) for group in answer.groups]
        columns.append(
            pages.Column(
                name=f"pass_{k}",
                title=f"k = {k}",
                values=[None if some is None else some.estimate for some, _ in pairs],
                decimals=6,
                texts=[_passes_text(*pair) for pair in pairs],
                spare=0 if k in (tried[0], tried[-1]) else k,
            )
        )
    caption = "At least one of k attempts passes (pass@k) / all of them pass (pass^k)"
    yield pages.PageTable(caption=caption, columns=tuple(columns), name="passes")


def _passes_text(some: PassEstimate | None, every: PassEstimate | None) -> str:
    """Both figures, with the tasks that have k scored attempts where that is not all of them."""
    if some is None or every is None or some.estimate is None or every.estimate is None:
        return pages.DASH
    figures = f"{quantity(some.estimate, 'fraction')} / {quantity(every.estimate, 'fraction')}"
    return f"{figures}\n{some.n:,} of {some.n + some.missing:,} tasks" if some.missing else figures


def _sentences(answer: Ranking) -> list[str]:
    """Return the leader's margin over the second group, and the groups that may have rank 1."""
    names = [_group_name(group, answer.tier_scheme) for group in answer.groups if group.rank_interval.best == 1]
    margin = answer.groups[0].margin
    if margin is None:
        return [f"{names[0]} is the only group; nothing to rank."]
    ranks = f"Rank 1 is possible for {_listed(names)}{' only' if len(names) == 1 else ''}."
    if len(names) == 1 and answer.order == "ranked-pairs":
        ranks = f"{names[0]} beats every other group on the majority of tasks; this order has no confidence level."
    if margin.tasks != answer.tasks.common:
        ranks += f" Ranks are over {counted(answer.tasks.common, 'task')} shared by all groups."
    return [clean(margin.sentence), ranks]


def _group_name(group: RankedGroup, tier_scheme: str | None) -> str:
    cells = [pages.key_cell(group.key, name, tier_scheme) for name in group.key]
    return " ".join(cell for cell in cells if cell != pages.DASH) or pages.DASH


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:MAX_LEADERS], *([f"{len(names) - MAX_LEADERS} more"] if len(names) > MAX_LEADERS else [])]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
