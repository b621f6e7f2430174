"""The metrics as they are declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.errors import UnknownNameError
from steelyard.metrics import Metric, catalog
from steelyard.results._arena_rows import as_object
from steelyard.results._base import Result, Row, json_number


@dataclass(frozen=True, kw_only=True, repr=False)
class MetricList(Result):
    """Metrics with their meaning, unit, range and formula."""

    metrics: tuple[Metric, ...]

    def _about(self) -> str:
        return f"{len(self.metrics)} metrics"

    def to_dicts(self) -> list[Row]:
        """Return one row per metric."""
        named = ("name", "title", "specification", "level", "unit", "better", "formula", "meaning")
        return [{name: shape[name] for name in named} for shape in map(metric_dict, self.metrics)]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"metrics": [metric_dict(metric) for metric in self.metrics]}


def metric_dict(metric: Metric) -> dict[str, Any]:  # Any: JSON values
    """A metric's declaration as JSON."""
    shape = {
        "name": metric.name,
        "title": metric.title,
        "meaning": metric.doc,
        "specification": metric.spec,
        "level": metric.level,
        "unit": metric.unit,
        "better": metric.better,
        "bounds": [json_number(bound) for bound in metric.bounds],
        "binary": metric.binary,
        "formula": metric.formula,
        "inputs": list(metric.inputs),
        "constants": dict(metric.constants),
        "example": {"inputs": dict(metric.example.inputs), "result": metric.example.result},
    }
    return as_object(shape)


def list_metrics(name: str | None = None, *, spec: str | None = None) -> MetricList:
    """Return the metric of that name, the metrics of a specification, or all."""
    known = catalog()
    specs = {metric.spec for metric in known.values()}
    if spec is not None and spec not in specs:
        raise UnknownNameError("specification", spec, specs)
    chosen = [known[name]] if name else [metric for metric in known.values() if spec in (None, metric.spec)]
    return MetricList(metrics=tuple(chosen))
