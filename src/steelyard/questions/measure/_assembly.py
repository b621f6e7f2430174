"""Assembly of a measurement from reduced values: statistics, metrics, grades, components, tiers and findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec

from steelyard.errors import UnknownNameError
from steelyard.metrics import (
    Engine,
    GroupedStatistics,
    Key,
    LabeledGroups,
    Metric,
    catalog,
    constants_of,
    engine_of,
    identical_results,
    is_custom_metric,
    lower_bound_fact,
    run_findings,
    skewed_groups,
    unexpected_run_counts,
)
from steelyard.option_names import option
from steelyard.profiles import Profile
from steelyard.questions import analysis
from steelyard.questions._group_keys import check_group_values, keys_with_scheme, tier_name
from steelyard.questions.measure._answer import (
    SHOWN,
    ComponentUsage,
    Group,
    GroupValue,
    Measurement,
    Statistics,
    TierComparison,
    group_label,
)
from steelyard.questions.measure._intervals import no_figure_for, uncertain_grades, with_intervals
from steelyard.records import (
    TOO_LARGE,
    ComponentType,
    Finding,
    Missing,
    component_column,
    one_a_kind,
    set_aside_findings,
)
from steelyard.sources import RunTable
from steelyard.statistics import WeightBy

Medians = Mapping[str, Sequence[float | None]]


def across_tiers(
    groups: Sequence[Group], metrics: Sequence[Metric], medians: Medians, *, profile: Profile, base_tier: str
) -> list[TierComparison]:
    """One entry for each rest of the key; none when the groups are not tiers."""
    rests: dict[tuple[tuple[str, str | int | None], ...], list[int]] = {}
    for index, group in enumerate(groups):
        if group.key.get("tier") is None:
            continue
        rest = tuple((name, value) for name, value in group.key.items() if name != "tier")
        rests.setdefault(rest, []).append(index)
    return [
        _across_for_rest(
            dict(rest), [(str(groups[i].key["tier"]), i) for i in indices], metrics, medians, profile, base_tier
        )
        for rest, indices in rests.items()
    ]


def _across_for_rest(
    rest: dict[str, str | int | None],
    tiers: Sequence[tuple[str, int]],
    metrics: Sequence[Metric],
    medians: Medians,
    profile: Profile,
    base_tier: str,
) -> TierComparison:
    uplift: dict[str, GroupValue] = {}
    values: dict[str, GroupValue] = {}
    base_index = dict(tiers).get(base_tier)
    for declared in metrics:
        constants = constants_of(declared, profile)
        specs = declared.inputs
        if any(spec.scope == "base" for spec in specs.values()):
            for tier, index in tiers:
                if tier == base_tier:
                    continue
                inputs = {
                    name: _median(medians, spec.of or name, base_index if spec.scope == "base" else index, base_tier)
                    for name, spec in specs.items()
                }
                uplift[tier] = _value(declared(**inputs, **constants))
        else:
            lists = {
                name: _medians(medians, spec.of or name, [index for _, index in tiers]) for name, spec in specs.items()
            }
            used = min((0 if isinstance(known, Missing) else len(known) for known in lists.values()), default=0)
            values[declared.name] = msgspec.structs.replace(
                _value(declared(**lists, **constants)), count=used, missing=len(tiers) - used
            )
    return TierComparison(key=rest, base=base_tier, uplift=uplift, values=values)


def _median(medians: Medians, name: str, index: int | None, base_tier: str) -> float | Missing:
    if index is None:
        return Missing(f"no run has base tier {base_tier}")
    value = medians[name][index] if name in medians else None
    return Missing(f"the median of {name} is missing") if value is None else value


def _medians(medians: Medians, name: str, indices: Sequence[int]) -> list[float] | Missing:
    known = [value for index in indices if name in medians and (value := medians[name][index]) is not None]
    return known or Missing(f"{name} is missing for all tiers")


def _value(result: float | Missing) -> GroupValue:
    if isinstance(result, Missing):
        return GroupValue(value=None, reason=result.reason)
    return GroupValue(value=result)


_REASONS_ASKED = 200
"""Up to this many groups, each missing metric is traced to its reason; above, only the count is reported."""

Reduced = Mapping[str, GroupedStatistics | Missing]


def assemble(
    table: RunTable,
    *,
    by: Sequence[str],
    profile: Profile,
    requested: Sequence[str],
    names: Sequence[str],
    base_tier: str | None,
    interval: str = "none",
    level: float = 0.95,
    weight_by: WeightBy = "runs",
) -> Measurement:
    """Return the measurement of a table; `names` are the metrics to compute, none for all."""
    keys_by, tier_scheme, scheme_findings = keys_with_scheme(by, table.tier_schemes() if "tier" in by else [])
    engine = engine_of(table, profile, weight_by)
    plan = _Plan.of(names)
    found = engine.groups(keys_by)
    keys = found.keys()
    check_group_values(len(keys), len(plan.shown), "metric")
    reduced, checked = engine.at_once(
        lambda: engine.statistics(plan.reduced, keys_by), _checks(engine, plan, keys, by=keys_by, rows=table.rows)
    )
    places = [
        _Place(engine, keys_by, key, index, size)
        for index, (key, size) in enumerate(zip(keys, found.sizes.tolist(), strict=True))
    ]
    groups = _groups(places, plan, reduced, tier_scheme)
    notes: list[Finding] = []
    if interval != "none":
        groups = with_intervals(groups, engine, keys_by, method=interval, level=level)
        notes = [*no_figure_for(groups, interval), *uncertain_grades(groups, profile)]
    base = profile.base_tier if base_tier is None else _known_tier(groups, base_tier)
    across = across_tiers(groups, plan.across, reduced_medians(reduced), profile=profile, base_tier=base)
    findings = (*table.findings, *scheme_findings, *notes, *chain.from_iterable(checked))
    return Measurement(
        profile=profile.name,
        prices=table.price_table,
        by=tuple(keys_by),
        tier_scheme=tier_scheme,
        n=table.n,
        row_kind=table.rows,
        weight_by=weight_by,
        unscored=profile.unscored,
        interval=interval,
        confidence=level,
        metrics_requested=tuple(dict.fromkeys(requested)),
        groups=tuple(groups),
        across=tuple(across),
        findings=one_a_kind((*set_aside_findings(table.rejected), *findings)),
        rejected_count=len(table.rejected) + table.rejected_elsewhere,
    )


def _groups(places: Sequence[_Place], plan: _Plan, reduced: Reduced, tier_scheme: str | None) -> list[Group]:
    """What each group comes to."""
    if not places:
        return []
    complete = {
        declared.name: _over_complete_cases(places[0].engine, declared, places[0].by, reduced)
        for declared in plan.shown_groups
        if declared.is_ratio
    }
    asked = len(places) <= _REASONS_ASKED
    return [_group(place, plan, reduced, complete, tier_scheme, asked=asked) for place in places]


def _over_complete_cases(engine: Engine, declared: Metric, by: Sequence[str], reduced: Reduced) -> Reduced:
    """The inputs of a ratio of means over the runs that have all of them."""
    names = list(dict.fromkeys(declared.needs.values()))
    over_all = [statistics for name in names if not isinstance(statistics := reduced[name], Missing)]
    if len(over_all) < len(names) or not any(statistics["missing"].any() for statistics in over_all):
        return reduced
    return engine.means(names, by, complete=True)


def _checks(
    engine: Engine, plan: _Plan, keys: Sequence[Key], *, by: Sequence[str], rows: str
) -> list[Callable[[], list[Finding]]]:
    """Return findings on missing and unequal attempts, contradictions, identical results and misleading costs."""
    place_of = {key: place for place, key in enumerate(keys)}
    labels = [group_label(by, key) for key in keys]
    return [
        lambda: unexpected_run_counts(engine, by) if rows == "run" else [],
        lambda: _uneven(engine, plan, labels, by),
        lambda: run_findings(engine),
        lambda: identical_results(engine),
        lambda: skewed_groups(engine, plan.shown, LabeledGroups(by, place_of.get, labels)),
    ]


def _known_tier(groups: Sequence[Group], tier: str) -> str:
    """Return the requested tier; reject one that no run has, suggesting the nearest."""
    known = {str(group.key["tier"]) for group in groups if group.key["tier"] is not None}
    if tier not in known:
        raise UnknownNameError("tier", tier, known, where=option("base_tier"))
    return tier


def reduced_medians(reduced: Reduced) -> dict[str, list[float | None]]:
    """The median of each metric in each group."""
    return {
        name: [_known(value) for value in statistics["median"].tolist()]
        for name, statistics in reduced.items()
        if not isinstance(statistics, Missing)
    }


@dataclass(frozen=True, slots=True)
class _Plan:
    """Metrics to show, and those to reduce for them."""

    shown_runs: tuple[Metric, ...]
    shown_groups: tuple[Metric, ...]
    across: tuple[Metric, ...]
    reduced: tuple[str, ...]
    components: bool

    @property
    def shown(self) -> set[str]:
        """The names of all that is shown of a group."""
        return {metric.name for metric in (*self.shown_runs, *self.shown_groups)}

    @classmethod
    def of(cls, names: Sequence[str]) -> _Plan:
        known = catalog()
        wanted = set(names) or set(known)
        # what a prompt or an attempt has is shown of those alone, and where it is asked for
        runs = tuple(
            metric
            for metric in known.values()
            if metric.is_of_rows and metric.name in wanted and (names or metric.level == "run")
        )
        runs += tuple(known[name] for name in dict.fromkeys(names) if is_custom_metric(name))
        groups = tuple(metric for metric in known.at("group") if metric.name in wanted)
        across = tuple(metric for metric in known.at("across") if metric.name in wanted)
        inputs = [spec.of or name for metric in (*groups, *across) for name, spec in metric.inputs.items()]
        components = any(metric.name in wanted for metric in known.at("component"))
        needed = [metric.name for metric in runs] + inputs + ["composite_score"]
        needed += [fact for metric in (*runs, *groups) if (fact := lower_bound_fact(metric.name)) is not None]
        if components:
            needed += [
                component_column(type_, what)
                for type_ in ComponentType
                for what in ("input_tokens", "output_tokens", "cost_usd")
            ]
        return cls(runs, groups, across, tuple(dict.fromkeys(needed)), components)


@dataclass(frozen=True, slots=True)
class _Place:
    """One group among the others."""

    engine: Engine
    by: Sequence[str]
    key: Key
    index: int
    n: int


def _group(
    place: _Place,
    plan: _Plan,
    reduced: Reduced,
    complete: Mapping[str, Reduced],
    tier_scheme: str | None,
    *,
    asked: bool,
) -> Group:
    metrics: dict[str, Statistics | GroupValue] = {}
    for declared in plan.shown_runs:
        values = _statistics(place, declared.name, reduced[declared.name], asked=asked)
        bounds = _lower_bounds(place, declared, reduced) if values.count else 0
        metrics[declared.name] = msgspec.structs.replace(values, lower_bounds=bounds) if bounds else values
    for declared in plan.shown_groups:
        figures = complete.get(declared.name, reduced)
        inputs = {name: _input(place, declared, name, figures, reduced, asked=asked) for name in declared.inputs}
        metrics[declared.name] = _group_value(place, declared, inputs, reduced)
    composite = _statistics(place, "composite_score", reduced["composite_score"], asked=False).median
    profile = place.engine.profile
    grade = profile.grade_of(composite) if composite is not None and profile.grades else None
    key = dict(zip(place.by, place.key, strict=True))
    return Group(
        key=key,
        tier_name=tier_name(key, tier_scheme),
        n=place.n,
        grade=grade.grade if grade else None,
        grade_meaning=grade.meaning if grade else None,
        metrics={name: metrics[name] for name in sorted(metrics)},
        components=_components(place, reduced) if plan.components else {},
    )


def _statistics(place: _Place, name: str, statistics: GroupedStatistics | Missing, *, asked: bool) -> Statistics:
    if isinstance(statistics, Missing):
        nothing: dict[str, Any] = dict.fromkeys(SHOWN) | {"count": 0, "missing": place.n}  # Any: numbers or None
        return Statistics(**nothing, reason=statistics.reason)
    values: dict[str, Any] = {shown: _known(statistics[shown][place.index].item()) for shown in SHOWN}  # Any: as above
    if values["count"] == 0:
        return Statistics(**values, reason=_why(place, name) if asked else "no run has a value")
    return Statistics(**values, reason=_why_no_deviation(values))


def _why_no_deviation(values: Mapping[str, float | None]) -> str | None:
    """Return the reason for a missing standard deviation, the only statistic that values may lack."""
    if values["std_dev"] is not None:
        return None
    infinite = values["max"] is not None and math.isinf(values["max"])
    return "std_dev is missing: " + (
        "a value is infinite" if infinite else "one value has no sample standard deviation"
    )


def _why(place: _Place, name: str) -> str:
    return place.engine.why_missing(name, place.by, place.key)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _group_value(place: _Place, declared: Metric, inputs: dict[str, GroupValue], reduced: Reduced) -> GroupValue:
    given = {name: Missing(part.reason or "") if part.value is None else part.value for name, part in inputs.items()}
    result = declared(**given, **constants_of(declared, place.engine.profile))
    if isinstance(result, Missing):
        return GroupValue(value=None, inputs=inputs, reason=result.reason)
    count = min((part.count for part in inputs.values() if part.count is not None), default=0)
    missing = place.n - count
    bounds = _lower_bounds(place, declared, reduced)
    at_least = bool(bounds or (declared.is_total and missing))
    return GroupValue(value=result, count=count, missing=missing, lower_bounds=bounds, at_least=at_least, inputs=inputs)


def _lower_bounds(place: _Place, declared: Metric, reduced: Reduced) -> int:
    """Number of runs of the group whose value is a lower bound."""
    fact = lower_bound_fact(declared.name)
    flags = None if fact is None else reduced[fact]
    return 0 if flags is None or isinstance(flags, Missing) else int(_known(flags["sum"][place.index].item()) or 0)


def _input(
    place: _Place, declared: Metric, parameter: str, figures: Reduced, over_all: Reduced, *, asked: bool
) -> GroupValue:
    """An input's figure in the group, or why there is none; `over_all` is whether any run has it."""
    name, how = declared.needs[parameter], declared.inputs[parameter].reduce
    statistics, alone = figures[name], over_all[name]
    if isinstance(statistics, Missing) or isinstance(alone, Missing):
        return GroupValue(value=None, reason=statistics.reason if isinstance(statistics, Missing) else None)
    assert how is not None, f"{declared.name}: a group metric's input has a reducer"
    if declared.is_ratio and place.engine.weight_by == "tasks":
        how = "mean"  # a ratio of sums is one of means, and sums are never weighted
    count = int(statistics["count"][place.index])
    value = _known(statistics[how][place.index].item())
    reason = None
    if value is None:
        reason = f"{parameter} is missing for all runs"
        if alone["count"][place.index]:
            reason = f"no run has all of {', '.join(declared.inputs)}"
        elif asked:
            reason = _why(place, name)
    return GroupValue(value=value, count=count, missing=place.n - count, reason=reason)


def _components(place: _Place, reduced: Reduced) -> dict[str, ComponentUsage]:
    """Tokens and cost of each component type, and its fraction of both."""

    def total(type_: ComponentType, what: str) -> float | Missing:
        statistics = reduced[f"{type_.value.lower()}_{what}"]
        if isinstance(statistics, Missing):
            return statistics
        value = _known(statistics["sum"][place.index].item())
        reason = "the tokens could not be priced" if what == "cost_usd" else "no run in this group has components"
        return Missing(reason) if value is None else value

    known = catalog()
    tokens = {
        type_: known["component_tokens"](
            input_tokens=total(type_, "input_tokens"), output_tokens=total(type_, "output_tokens")
        )
        for type_ in ComponentType
    }
    if all(isinstance(value, Missing) for value in tokens.values()):
        return {}
    costs = {type_: known["component_cost_usd"](cost_usd=total(type_, "cost_usd")) for type_ in ComponentType}
    all_tokens, all_costs = _sum(tokens.values()), _sum(costs.values())
    used: dict[str, ComponentUsage] = {}
    for type_ in ComponentType:
        token_fraction = known["component_token_fraction"](
            component_tokens=tokens[type_], total_component_tokens=all_tokens
        )
        cost_fraction = known["component_cost_fraction"](
            component_cost_usd=costs[type_], total_component_cost_usd=all_costs
        )
        parts = (tokens[type_], token_fraction, costs[type_], cost_fraction)
        reason = next((part.reason for part in parts if isinstance(part, Missing)), None)
        values = [None if isinstance(part, Missing) else part for part in parts]
        used[type_.value] = ComponentUsage(
            tokens=values[0], token_fraction=values[1], cost_usd=values[2], cost_fraction=values[3], reason=reason
        )
    return used


def _sum(values: Iterable[float | Missing]) -> float | Missing:
    known: list[float] = []
    for value in values:
        if isinstance(value, Missing):
            return value
        known.append(value)
    try:
        return math.fsum(known)
    except OverflowError:
        return Missing(TOO_LARGE)


def _uneven(engine: Engine, plan: _Plan, labels: Sequence[str], by: Sequence[str]) -> list[Finding]:
    """Return findings on groups with unequal numbers of attempts in which a value depends on the weighting."""
    weighted = [metric.name for metric in plan.shown_runs if metric.binary]
    weighted += [metric.name for metric in plan.shown_groups if metric.is_ratio]
    if not labels or not weighted:
        return []

    return analysis.uneven_groups(engine, weighted, by, labels)
