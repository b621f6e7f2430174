"""Measure: per-run metrics, their statistics in each group, group metrics, grades, and what differs across tiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from steelyard.errors import NothingUsable, UnknownName, UsageError
from steelyard.metrics import catalog
from steelyard.prices import DEFAULT_BOOK
from steelyard.profiles import DEFAULT, Profile, load_profile
from steelyard.records import GROUP_KEYS, Rejected
from steelyard.workflow._opening_runs import Progress, RunsInput, open_runs

if TYPE_CHECKING:
    from steelyard.results import Measurement
    from steelyard.tables import RunTable


MEASURED = frozenset({"run", "group", "component", "across"})
"""The levels of the metrics that are made from a table of runs."""

BASED = "tier_uplift"
"""The metric that takes a base tier."""

LEVEL = 0.95


def measure(
    runs: RunsInput | RunTable,
    *,
    by: Sequence[str] = (),
    profile: str | Profile = DEFAULT,
    metrics: Sequence[str] = (),
    base_tier: str | None = None,
    interval: str = "none",
    level: float | None = None,
    prices: str = DEFAULT_BOOK,
    progress: Progress | None = None,
) -> Measurement:
    """Weigh the runs, group by group.

    `by` names what to group by (tier, agent, model, task, ...); `metrics` limits the work to the named ones;
    `interval` gives each figure its range: `auto`, or a method by name; `level` is how often it is to hold, 0.95.
    """
    from steelyard.workflow._assembling import assemble  # brings numpy and Polars

    keys = checked_keys(by)
    chosen = profile if isinstance(profile, Profile) else load_profile(profile)
    check_profile(chosen)
    for name in metrics:
        if (declared := catalog()[name]).level not in MEASURED:
            raise UsageError(f"{name} is a metric of the {declared.spec} specification, which measure does not make")
    _check_across(keys, metrics, base_tier)
    chosen_level = _checked_level(interval, level)
    table = open_runs(runs, prices=prices, progress=progress)
    if table.n == 0:
        raise nothing_usable(table)
    return assemble(
        table, by=keys, profile=chosen, names=metrics, base_tier=base_tier, interval=interval, level=chosen_level
    )


def _check_across(keys: Sequence[str], metrics: Sequence[str], base_tier: str | None) -> None:
    """Refuse what is told across tiers where there are no tiers to tell it across."""
    across = [name for name in metrics if catalog()[name].level == "across"]
    if across and "tier" not in keys:
        raise UsageError(f"{across[0]} is told across tiers", hint="--by tier")
    if base_tier is None:
        return
    if "tier" not in keys:
        raise UsageError("a base tier is what tiers are measured against", hint="--by tier")
    if metrics and BASED not in metrics:
        raise UsageError(f"a base tier is for {BASED}, which is not among the metrics", hint=f"--metrics {BASED}")


def _checked_level(interval: str, level: float | None) -> float:
    """The level of the intervals; one that no interval would use is refused."""
    if level is None and interval == "none":
        return LEVEL
    from steelyard.standings import check_method  # brings numpy and scipy
    from steelyard.statistics import check_level

    checked = check_level(LEVEL if level is None else level)
    if interval == "none":
        raise UsageError("a level is for intervals, and none were asked for", hint=f"--interval auto --level {level:g}")
    check_method(interval)
    return checked


def checked_keys(by: Sequence[str]) -> list[str]:
    """The keys to group by, each known and named once; one key may stand alone."""
    if isinstance(by, str):
        by = [by]
    for name in by:
        if name not in GROUP_KEYS:
            raise UnknownName("key to group by", name, GROUP_KEYS)
    if len(set(by)) != len(by):
        raise UsageError("a key to group by is named twice")
    return list(by)


def check_profile(profile: Profile) -> None:
    """Refuse a profile of another specification, or with a constant that no formula has."""
    if profile.spec != "outcome":
        raise UsageError(
            f"profile {profile.name!r} belongs to the {profile.spec} specification",
            hint="take an outcome profile: steelyard profiles",
        )
    known: dict[str, Any] = catalog().constants()
    for name in profile.constants:
        if name not in known:
            raise UnknownName("constant", name, known, where=profile.name)
    weights = (profile.constant("pass_weight", 0.5), profile.constant("impl_weight", 0.5))
    if min(weights) < 0 or sum(weights) <= 0:
        message = "pass_weight and impl_weight must not be negative and must add up to more than 0"
        raise UsageError(message, where=profile.name)


def nothing_usable(table: RunTable) -> NothingUsable:
    """The error of a command that could use nothing of its input; it names the first problem."""
    return nothing_read(table.rejected, table.rejected_count)


def nothing_read(rejected: Sequence[Rejected], count: int) -> NothingUsable:
    """The same for a reader that set so many records aside."""
    if rejected:
        first = rejected[0]
        more = f" (and {count - 1:,} more)" if count > 1 else ""
        return NothingUsable(f"no run could be read: {first.reason}{more}", where=first.where, hint=first.hint)
    return NothingUsable("the input holds no runs", hint="steelyard schema run shows what a run record looks like")
