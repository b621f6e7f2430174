"""What differs across tiers that share the rest of their key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.metrics import Metric, constants_of
from steelyard.profiles import Profile
from steelyard.records import Missing
from steelyard.results import Across, Group, GroupValue

Medians = Mapping[str, Sequence[float | None]]


def across_tiers(
    groups: Sequence[Group], metrics: Sequence[Metric], medians: Medians, *, profile: Profile, base_tier: str
) -> list[Across]:
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
    rest: Mapping[str, str | int | None],
    tiers: Sequence[tuple[str, int]],
    metrics: Sequence[Metric],
    medians: Medians,
    profile: Profile,
    base_tier: str,
) -> Across:
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
            values[declared.name] = replace(
                _value(declared(**lists, **constants)), count=used, missing=len(tiers) - used
            )
    return Across(key=rest, base=base_tier, uplift=uplift, values=values)


def _median(medians: Medians, name: str, index: int | None, base_tier: str) -> float | Missing:
    if index is None:
        return Missing(f"there is no base tier {base_tier}")
    value = medians[name][index] if name in medians else None
    return Missing(f"the median of {name} is not known") if value is None else value


def _medians(medians: Medians, name: str, indices: Sequence[int]) -> list[float] | Missing:
    known = [value for index in indices if name in medians and (value := medians[name][index]) is not None]
    return known or Missing(f"no tier's {name} is known")


def _value(result: float | Missing) -> GroupValue:
    return GroupValue(None, result.reason) if isinstance(result, Missing) else GroupValue(result)
