"""Result of `explain`: how a metric was computed, per group or for one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import structs

from steelyard.metrics import Metric
from steelyard.records import Missing
from steelyard.results._base import Result, json_number
from steelyard.results._tier_schemes import scheme_dict

if TYPE_CHECKING:
    from steelyard.questions.measure import Group, GroupValue, Measurement, TierComparison


@dataclass(frozen=True, repr=False)
class GroupsExplanation(Result):
    """One metric, group by group."""

    declared: Metric
    constants: Mapping[str, float]
    """The profile's values of the formula's constants."""
    result: Measurement
    grades: tuple[tuple[str, float, str], ...] = ()
    """Where grades are explained: each with the score from which it is given and what it means."""

    @property
    def reducers(self) -> dict[str, tuple[str, str]]:
        """For each input that is one figure of a group: how it is reduced, and of what."""
        return {
            name: (spec.reduce, spec.of or name)
            for name, spec in self.declared.inputs.items()
            if spec.reduce is not None
        }

    @property
    def needed(self) -> list[str]:
        """What the formula takes: facts and other metrics."""
        return list(self.declared.needs.values())

    def _about(self) -> str:
        by = f" by {','.join(self.result.by)}" if self.result.by else ""
        return f"{self.name}{by}: {len(self.result.groups):,} groups"

    @property
    def name(self) -> str:
        """What is explained."""
        return "grade" if self.grades else self.declared.name

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a group and metric (the metric and its inputs), or one a component or tier."""
        scheme = scheme_dict(self.result.tier_scheme)
        if self.declared.level == "component":
            return [
                {**scheme, **group.key, "n": group.n, "component": name, **structs.asdict(share)}
                for group in self.result.groups
                for name, share in group.components.items()
            ]
        if self.declared.level == "across":
            return [
                {
                    **scheme,
                    **across.key,
                    "base": across.base,
                    "tier": tier,
                    "value": value.value,
                    "reason": value.reason,
                }
                for across in self.result.across
                for tier, value in self.across_values(across).items()
            ]
        shown = {self.declared.name, *self.needed}
        return [row for row in self.result.to_dicts() if row["metric"] in shown]

    def formula_inputs(self, group: Group) -> Mapping[str, GroupValue]:
        """What was put into the formula of a group metric: for each input its figure over the group's runs."""
        value: Any = group.metrics[self.declared.name]  # Any: statistics of runs have no inputs
        inputs: Mapping[str, GroupValue] = getattr(value, "inputs", {})
        return inputs

    def across_values(self, across: TierComparison) -> Mapping[str, GroupValue]:
        """The metric of each tier where it has a base, else that of all tiers together."""
        if any(spec.scope == "base" for spec in self.declared.inputs.values()):
            return across.uplift
        return {"all tiers": across.values[self.declared.name]}

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        shown = self.result.to_dict()
        name, level = self.declared.name, self.declared.level
        groups = []
        for group in shown["groups"]:
            row = {name: group[name] for name in ("key", "tier_name", "n") if name in group}
            if self.grades:
                row["grade"] = group["grade"]
            if level == "component":
                row["components"] = group.get("components", {})
            elif level != "across":
                row[name] = group["metrics"][name]
            row["inputs"] = {key: group["metrics"][key] for key in self.needed if key in group["metrics"]}
            groups.append(row)
        if level == "group":
            for row, group in zip(groups, self.result.groups, strict=True):
                row["formula_inputs"] = {
                    key: _figure_dict(figure) for key, figure in self.formula_inputs(group).items()
                }
        steps = [{"grade": grade, "at_least": least, "meaning": meaning} for grade, least, meaning in self.grades]
        return {
            "metric": self.name,
            **({"grades": steps} if steps else {}),
            "title": "Grade" if steps else self.declared.title,
            "formula": self.declared.formula,
            "constants": dict(self.constants),
            "inputs": {key: f"{how} of {of}" for key, (how, of) in self.reducers.items()},
            "profile": self.result.profile,
            "prices": self.result.prices,
            "weight_by": self.result.weight_by,
            "unscored": self.result.unscored,
            **scheme_dict(self.result.tier_scheme),
            "groups": groups,
            **({"across": shown["across"]} if level == "across" else {}),
            "findings": shown["findings"],
        }


def _figure_dict(figure: GroupValue) -> dict[str, Any]:  # Any: JSON values
    shown = {"value": json_number(figure.value), "count": figure.count, "missing": figure.missing}
    return shown | ({"reason": figure.reason} if figure.reason else {})


@dataclass(frozen=True, slots=True)
class Explanation:
    """A value and what it was made from."""

    name: str
    value: Any  # Any: a number, text or flag; Missing where there is none
    title: str
    unit: str | None
    formula: str | None
    constants: dict[str, float]
    provenance: str | None
    inputs: tuple[Explanation, ...]

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The tree as JSON; a missing value is null with its reason."""
        shown: dict[str, Any] = {"name": self.name, "title": self.title}
        if isinstance(self.value, Missing):
            shown |= {"value": None, "reason": self.value.reason}
        else:
            shown["value"] = json_number(self.value) if isinstance(self.value, float) else self.value
        optional = {
            "unit": self.unit,
            "formula": self.formula,
            "constants": self.constants or None,
            "provenance": self.provenance,
            "inputs": [part.to_dict() for part in self.inputs] or None,
        }
        return shown | {name: value for name, value in optional.items() if value is not None}

    def rows(self, *, run: str) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per value of the tree, this one first; text and lists are in `text`."""
        return [
            {
                "run": run,
                "depth": depth,
                "name": part.name,
                "title": part.title,
                **_cells(part.value),
                "unit": part.unit,
                "formula": part.formula,
                "provenance": part.provenance,
            }
            for depth, part in _walked(self)
        ]


@dataclass(frozen=True, repr=False)
class RunExplanation(Result):
    """The explanation of one metric of one run, and where the run was read."""

    run: str
    where: str
    profile: str
    prices: str
    root: Explanation

    def _about(self) -> str:
        value = self.root.value
        return f"{self.root.name} of {self.run}: {'missing' if isinstance(value, Missing) else value}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per value of the tree, the metric itself first; text and lists are in `text`."""
        return self.root.rows(run=self.run)

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        place = {"run": self.run, "where": self.where, "profile": self.profile, "prices": self.prices}
        return place | {"explanation": self.root.to_dict()}


def _walked(part: Explanation, depth: int = 0) -> Iterator[tuple[int, Explanation]]:
    yield depth, part
    for inner in part.inputs:
        yield from _walked(inner, depth + 1)


def _cells(value: Any) -> dict[str, Any]:  # Any: a number, text or flag; Missing where there is none
    """Split values by column type: numbers and flags (as 0 and 1), and text."""
    if isinstance(value, Missing):
        return {"value": None, "text": None, "reason": value.reason}
    if isinstance(value, int | float):
        return {"value": float(value), "text": None, "reason": None}
    return {"value": None, "text": str(value), "reason": None}
