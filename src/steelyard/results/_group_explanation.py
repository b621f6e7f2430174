"""How a metric came in each group: the formula, its constants, and the figures put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.metrics import Metric
from steelyard.results._measurement import Measurement


@dataclass(frozen=True)
class GroupsExplanation:
    """One metric, group by group."""

    declared: Metric
    constants: Mapping[str, float]
    """The profile's values of the formula's constants."""
    result: Measurement

    @property
    def reducers(self) -> dict[str, tuple[str, str]]:
        """For each input that is one figure of a group: how it is reduced, and of what."""
        return {
            name: (spec.reduce, spec.of or name)
            for name, spec in self.declared.inputs.items()
            if spec.reduce is not None
        }

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The documented JSON shape."""
        shown = self.result.to_dict()
        name, level = self.declared.name, self.declared.level
        needed = [spec.of or parameter for parameter, spec in self.declared.inputs.items()]
        groups = []
        for group in shown["groups"]:
            row = {"key": group["key"], "n": group["n"]}
            if level == "component":
                row["components"] = group.get("components", {})
            elif level != "across":
                row[name] = group["metrics"][name]
            row["inputs"] = {key: group["metrics"][key] for key in needed if key in group["metrics"]}
            groups.append(row)
        return {
            "metric": name,
            "title": self.declared.title,
            "formula": self.declared.formula,
            "constants": dict(self.constants),
            "inputs": {key: f"{how} of {of}" for key, (how, of) in self.reducers.items()},
            "profile": self.result.profile,
            "prices": self.result.prices,
            "groups": groups,
            **({"across": shown["across"]} if level == "across" else {}),
            "findings": shown["findings"],
        }
