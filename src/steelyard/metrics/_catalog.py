"""Every declared metric, found by standing in the folder, in an order in which each comes after what it needs."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

import steelyard.metrics
from steelyard.errors import BadDeclaration, UnknownName
from steelyard.metrics._declare import Metric, per_run_twin
from steelyard.metrics._limits import limits_of
from steelyard.records import FACTS
from steelyard.settings import METRICS_PATH

OWN_INPUTS = frozenset({"component", "benchmark", "task", "tasks", "submission", "prompt"})
"""Levels whose inputs are not facts of a Run: components, benchmarks, a submission's baseline, a prompt's outputs."""


class Catalog(Mapping[str, Metric]):
    """Metrics by name, in dependency order."""

    def __init__(self, metrics: list[Metric]) -> None:
        by_name: dict[str, Metric] = {}
        for declared in metrics:
            if declared.name in by_name or declared.name in FACTS:
                raise BadDeclaration(f"the name {declared.name!r} is taken twice")
            by_name[declared.name] = declared
        ordered = (by_name[name] for name in _in_order(by_name))
        self._metrics = {declared.name: replace(declared, limits=limits_of(declared, by_name)) for declared in ordered}

    def __getitem__(self, name: str) -> Metric:
        if name not in self._metrics:
            raise UnknownName("metric", name, self._metrics)
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __contains__(self, name: object) -> bool:
        return name in self._metrics

    def at(self, level: str) -> list[Metric]:
        """The metrics of one level, in order."""
        return [declared for declared in self._metrics.values() if declared.level == level]

    def constants(self) -> dict[str, float]:
        """Every constant a profile may set, with its declared default."""
        defaults: dict[str, float] = {}
        for declared in self._metrics.values():
            for name, default in declared.constants.items():
                if defaults.setdefault(name, default) != default:
                    raise BadDeclaration(f"the constant {name!r} is declared with two defaults")
        return defaults


def _in_order(metrics: Mapping[str, Metric]) -> list[str]:
    graph: dict[str, set[str]] = {}
    for name, declared in metrics.items():
        graph[name] = set()
        for parameter, spec in declared.inputs.items():
            needed = spec.of or parameter
            if declared.level in OWN_INPUTS:
                if needed in metrics and metrics[needed].level == declared.level:
                    graph[name].add(needed)
                continue
            if needed in metrics and needed != name:
                graph[name].add(needed)
            elif needed not in FACTS:
                known = [*metrics, *FACTS]
                raise BadDeclaration(str(UnknownName("fact or metric", needed, known, where=name)))
    try:
        return list(TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)}).static_order())
    except CycleError as error:
        raise BadDeclaration(f"metrics need each other in a circle: {' -> '.join(error.args[1])}") from error


def _modules() -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules(steelyard.metrics.__path__):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"steelyard.metrics.{info.name}")
    for folder in filter(None, os.environ.get(METRICS_PATH, "").split(os.pathsep)):
        for path in sorted(Path(folder).glob("*.py")):
            yield _load(path)


def _load(path: Path) -> ModuleType:
    name = f"steelyard_user_metrics_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadDeclaration(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@cache
def catalog() -> Catalog:
    """The catalog of all metrics: the package's own and those in the folders that `STEELYARD_METRICS` names."""
    metrics: list[Metric] = []
    for module in _modules():
        declared = [value for value in vars(module).values() if isinstance(value, Metric)]
        metrics += [metric for metric in declared if metric.function.__module__ == module.__name__]
    metrics += [per_run_twin(metric) for metric in metrics if metric.has_per_run]
    return Catalog(metrics)
