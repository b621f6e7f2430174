"""Every declared metric, found by standing in the folder or plugged in, each after what it needs."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import replace
from functools import cache, lru_cache
from graphlib import CycleError, TopologicalSorter
from types import ModuleType
from typing import Any

import steelyard.metrics
from steelyard.errors import DeclarationError, UnknownNameError, UsageError
from steelyard.metrics._declare import GEOMETRIC, Example, Input, Metric, check_example, limits_of, per_run_twin
from steelyard.metrics._words import Value, as_column, library_of
from steelyard.plugins import plug_ins
from steelyard.profiles import Profile
from steelyard.records import RUN_FIELDS, Missing, custom_input, is_custom_field, is_custom_input
from steelyard.settings import METRICS_PATH


def constants_of(declared: Metric, profile: Profile) -> dict[str, float]:
    """The metric's constants as the profile sets them."""
    return {name: profile.constant(name, default) for name, default in declared.constants.items()}


def evaluate(name: str, facts: Mapping[str, Any], profile: Profile, known: MutableMapping[str, Value]) -> Value:
    """The value of a fact or run metric. `known` keeps what was evaluated on the way, to be shown or shared.

    A fact that `facts` does not hold is missing; a metric that needs it is missing with that reason. What a prompt, an
    attempt or a submission has is measured by its own command, and is a fact to all others.
    """
    if name in known:
        return known[name]
    if name in RUN_FIELDS or is_custom_input(name):
        value = facts.get(name)
        absent = (
            RUN_FIELDS[name].absent
            if name in RUN_FIELDS
            else f"the record has no {name.replace(' as ', ' that is a ')}"
        )
        known[name] = Missing(absent) if value is None else value
        return known[name]
    declared = catalog()[name]
    if declared.mean_of is not None:
        known[name] = evaluate(declared.mean_of, facts, profile, known)
        return known[name]
    if declared.level in OWN_INPUTS:
        value = facts.get(name)
        known[name] = Missing(f"no {declared.row} has a {declared.name}") if value is None else value
        return known[name]
    inputs = {
        parameter: evaluate(spec.of or parameter, facts, profile, known) for parameter, spec in declared.inputs.items()
    }
    constants = constants_of(declared, profile)
    known[name] = _applied(declared, inputs, constants)
    return known[name]


def _applied(declared: Metric, inputs: dict[str, Value], constants: dict[str, float]) -> Value:
    library = library_of(*inputs.values())
    if library is None:
        return declared(**inputs, **constants)
    for parameter, spec in declared.inputs.items():
        if isinstance(inputs[parameter], Missing) and not spec.optional:
            return inputs[parameter]
    columns = {parameter: as_column(value, library) for parameter, value in inputs.items()}
    return declared.expression(columns, constants)


def lower_bound_fact(name: str) -> str | None:
    """The fact that marks a run's value of the metric as a lower bound; None for a metric that has no such runs.

    Cost of pass is one where the cost is. A metric in another unit than what is too low may be too high instead.

    >>> lower_bound_fact("cost_of_pass"), lower_bound_fact("pass_rate")
    ('cost_is_lower_bound', None)
    """
    known = catalog()
    marks = {
        spec.of or parameter: (declared.lower_bound, declared.unit)
        for declared in known.values()
        if declared.lower_bound is not None
        for parameter, spec in declared.inputs.items()
    }
    if name in marks:
        return marks[name][0]
    declared = known[name]
    if (
        declared.lower_bound is not None
        or declared.level == "across"
        or declared.unit not in {unit for _, unit in marks.values()}
    ):
        return declared.lower_bound
    for parameter, spec in declared.inputs.items():
        mark = marks.get(spec.of or parameter)
        if mark is not None and mark[1] == declared.unit:
            return mark[0]
    return None


ENTRY_POINTS = "steelyard.metrics"
"""The group of entry points in which a package names its metrics."""
OWN_INPUTS = frozenset({"component", "benchmark", "task", "tasks", "submission", "prompt"})
"""Levels whose inputs are not facts of a Run: components, benchmarks, a submission's baseline, a prompt's outputs."""


_AT_K = re.compile(r"@(?:k|\d+)$")
"""How people write what a function cannot be called: pass@k, pass@5."""


_PLAIN_NAME = re.compile(r"[^\W\d][\w.-]*")


def is_custom_metric(name: str) -> bool:
    """Return whether the name is that of a custom field, whose numbers are a metric."""
    return is_custom_field(name) and not is_custom_input(name)


@lru_cache(maxsize=1000)
def _custom_metric(name: str) -> Metric:
    """The numbers of a custom field: their bounds and their better direction are unknown."""

    def value_of_field(*, value: Value) -> Value:
        return value * 1.0

    return Metric(
        name=name,
        function=value_of_field,
        level="run",
        title=name.removeprefix("x_"),
        unit="",
        better="neither",
        bounds=(-math.inf, math.inf),
        spec="outcome",
        formula=name,
        example=Example({"value": 1.0}, 1.0),
        inputs={"value": Input(of=custom_input(name, "float"))},
        constants={},
        doc="Custom field; its bounds and better direction are unknown.",
        limits={"value": (-math.inf, math.inf)},
    )


def _geometric_mean_of(declared: Metric) -> Metric:
    """Return the metric that summarizes a group by its geometric mean; a run's value is that of `declared`."""

    def value_of_run(*, value: Value) -> Value:
        return value * 1.0

    if declared.level != "run" or declared.bounds[0] != 0 or math.isfinite(declared.bounds[1]):
        message = f"{declared.name}{GEOMETRIC}: only per-run metrics from 0 to infinity have a geometric mean"
        raise UsageError(message, hint=f"cost_usd{GEOMETRIC}")
    title = f"Geometric mean {declared.title[0].lower()}{declared.title[1:]}"
    return replace(
        declared,
        name=f"{declared.name}{GEOMETRIC}",
        function=value_of_run,
        title=title,
        formula=f"geometric mean of {declared.name}",
        example=Example({"value": 1.0}, 1.0),
        inputs={"value": Input(of=declared.name)},
        constants={},
        doc="Geometric mean; missing if a value is 0. Sides are compared by their ratio.",
        defined_when_empty=None,
        overview=None,
        lower_bound=None,
        limits={"value": declared.bounds},
    )


class Catalog(Mapping[str, Metric]):
    """Metrics by name, in dependency order."""

    def __init__(self, metrics: list[Metric]) -> None:
        by_name: dict[str, Metric] = {}
        for declared in metrics:
            if declared.name in by_name or declared.name in RUN_FIELDS:
                raise DeclarationError(f"duplicate metric name {declared.name!r}", where=declared.where)
            by_name[declared.name] = declared
        ordered = (by_name[name] for name in _in_order(by_name))
        self._metrics = {declared.name: replace(declared, limits=limits_of(declared, by_name)) for declared in ordered}
        self._geometric: dict[str, Metric] = {}

    def __getitem__(self, name: str) -> Metric:
        known = name if name in self._metrics else _AT_K.sub("_at_k", name)
        if known not in self._metrics and is_custom_metric(name):
            return _custom_metric(name)
        if known.endswith(GEOMETRIC):
            if known not in self._geometric:
                self._geometric[known] = _geometric_mean_of(self[known.removesuffix(GEOMETRIC)])
            return self._geometric[known]
        if known not in self._metrics:
            raise UnknownNameError("metric", name, self._metrics)
        return self._metrics[known]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            return name.removesuffix(GEOMETRIC) in self._metrics or is_custom_metric(name)
        return False

    def named(self, name: str, *, geometric: bool = False) -> str:
        """Return the name of a metric: another name is a custom field, whose numbers are a metric.

        A geometric mean is rejected unless `geometric`.

        >>> catalog().named("pass@5"), catalog().named("my_score")
        ('pass_at_k', 'x_my_score')
        """
        if name.endswith(GEOMETRIC) and not geometric:
            message = f"{name}: only compare and gate compare geometric means"
            raise UsageError(message, hint=f"use {name.removesuffix(GEOMETRIC)}")
        known = _AT_K.sub("_at_k", name)
        if name in self or known in self._metrics:
            return name if name in self else known
        return f"x_{name}" if _PLAIN_NAME.fullmatch(name) else name

    def facts_behind(self, name: str) -> list[str]:
        """The facts of a run that a metric is made from, itself or through others."""
        if name not in self:
            return [name]
        declared = self[name]
        behind = [spec.of or parameter for parameter, spec in declared.inputs.items()]
        return list(dict.fromkeys(fact for one in behind for fact in self.facts_behind(one)))

    def at(self, level: str) -> list[Metric]:
        """The metrics of one level, in order."""
        return [declared for declared in self._metrics.values() if declared.level == level]

    def overview(self) -> list[Metric]:
        """The metrics that are shown unless others are asked for, in their order."""
        chosen = [(declared.overview, declared) for declared in self._metrics.values() if declared.overview is not None]
        return [declared for _, declared in sorted(chosen, key=lambda pair: (pair[0], pair[1].name))]

    def constants(self) -> dict[str, float]:
        """Every constant a profile may set, with its declared default."""
        defaults: dict[str, float] = {}
        for declared in self._metrics.values():
            for name, default in declared.constants.items():
                if defaults.setdefault(name, default) != default:
                    raise DeclarationError(f"the constant {name!r} is declared with two defaults", where=declared.where)
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
            elif needed not in RUN_FIELDS and not is_custom_input(needed):
                known = [*metrics, *RUN_FIELDS]
                unknown = UnknownNameError("field or metric", needed, known, where=name)
                raise DeclarationError(str(unknown), where=declared.where)
    try:
        return list(TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)}).static_order())
    except CycleError as error:
        circle = f"circular dependency between metrics: {' -> '.join(error.args[1])}"
        raise DeclarationError(circle, where=metrics[error.args[1][0]].where) from error


@cache
def catalog() -> Catalog:
    """The catalog of all metrics: those in this folder, then those of plug-ins."""
    metrics = [metric for module in _ours() for metric in _declared_in(module)]
    own = len(metrics)
    for plug_in in plug_ins(ENTRY_POINTS, METRICS_PATH):
        loaded = plug_in.loaded
        declared = _declared_in(loaded) if isinstance(loaded, ModuleType) else [loaded]
        added = [metric for metric in declared if isinstance(metric, Metric)]
        if not added:
            hint = "decorate a function with @metric from steelyard.metrics"
            raise DeclarationError("plug-in declares no metric", where=plug_in.where, hint=hint)
        metrics += added
    plugged_in = [metric.name for metric in metrics[own:]]
    metrics += [per_run_twin(metric) for metric in metrics if metric.has_per_run]
    made = Catalog(metrics)
    for name in plugged_in:  # those of ours are tested, and some would bring NumPy to every start
        check_example(made[name])
    return made


def _ours() -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules(steelyard.metrics.__path__):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"steelyard.metrics.{info.name}")


def _declared_in(module: ModuleType) -> list[Metric]:
    """The metrics of a module, with those that a package takes from its own modules, without those of others."""
    declared = [value for value in vars(module).values() if isinstance(value, Metric)]
    return [metric for metric in declared if f"{metric.function.__module__}.".startswith(f"{module.__name__}.")]
