"""`@metric`: everything that is known of a metric stands in its declaration and nowhere else."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

from steelyard.errors import BadDeclaration, UnknownName, UsageError
from steelyard.metrics._words import Value, as_column, library_of
from steelyard.records import FACTS, Missing

Limits = tuple[float, float]

NEVER_NEGATIVE = (0.0, math.inf)
_MOMENTS = frozenset({"start_time", "end_time"})
"""Facts that count from 1970 and may lie before it."""
_ROUNDING = 1e-9


def limits_of(declared: Metric, metrics: Mapping[str, Metric]) -> dict[str, Limits]:
    """Between which values each numeric input lies: a metric's own bounds, and 0 or more for counts and amounts."""
    limits: dict[str, Limits] = {}
    for parameter, spec in declared.inputs.items():
        name = spec.of or parameter
        fact = FACTS.get(name)
        if fact is not None and fact.kind in ("count", "amount") and name not in _MOMENTS:
            limits[parameter] = NEVER_NEGATIVE
        elif name in metrics and name != declared.name and _one_number(metrics[name], declared):
            low, high = metrics[name].bounds
            limits[parameter] = (low, math.inf if spec.reduce in ("sum", "count") else high)
    return limits


def _one_number(needed: Metric, declared: Metric) -> bool:
    """Whether the input is a number: metrics over benchmarks, tasks and prompts take lists of what they are made of."""
    return declared.level in ("run", "group", "submission") and needed.level in ("run", "group", "submission")


def check_inputs(declared: Metric, given: Mapping[str, Value]) -> None:
    """Refuse what cannot be."""
    for name, (low, high) in declared.limits.items():
        value = given[name]
        if isinstance(value, bool | int | float):
            if not _inside(value, low, high):
                hint = f"{name} is {_range_text(low, high)}"
                raise UsageError(f"{name} is {value}, which cannot be", where=declared.name, hint=hint)
        elif isinstance(value, str | bytes | list | tuple | dict):
            raise UsageError(f"{name} is {value!r:.100}, which is not a number", where=declared.name)


def check_result(declared: Metric, given: Mapping[str, Value], result: float) -> None:
    """Refuse a result outside the metric's bounds: it came from values that contradict each other."""
    low, high = declared.bounds
    if not _inside(result, low, high):
        shown = ", ".join(f"{name} {value}" for name, value in given.items() if isinstance(value, bool | int | float))
        hint = f"{declared.name} is {_range_text(low, high)}"
        raise UsageError(f"it comes to {result}, which cannot be ({shown})", where=declared.name, hint=hint)


def _inside(value: float, low: float, high: float) -> bool:
    room = _ROUNDING * max(1.0, abs(low) if math.isfinite(low) else 0.0, abs(high) if math.isfinite(high) else 0.0)
    return low - room <= value <= high + room  # false for what is not a number


def _range_text(low: float, high: float) -> str:
    return f"{low:g} or more" if math.isinf(high) else f"between {low:g} and {high:g}"


Level = Literal["run", "group", "component", "across", "benchmark", "task", "tasks", "submission", "prompt"]
Better = Literal["higher", "lower", "neither"]
Reducer = Literal["mean", "median", "sum", "count", "min", "max"]
Scope = Literal["own", "base", "all"]


@dataclass(frozen=True, slots=True)
class Input:
    """What a parameter of a formula stands for. `of` is the fact or metric it is taken from, else its own name."""

    optional: bool = False
    reduce: Reducer | None = None
    of: str | None = None
    scope: Scope = "own"


@dataclass(frozen=True, slots=True)
class Constant:
    """A parameter that a profile sets."""


# Any: on plain numbers these are floats, on tables column expressions.
Required: TypeAlias = Annotated[Any, Input()]
Optional: TypeAlias = Annotated[Any, Input(optional=True)]
Mean: TypeAlias = Annotated[Any, Input(reduce="mean")]
Sum: TypeAlias = Annotated[Any, Input(reduce="sum")]
Param: TypeAlias = Annotated[float, Constant()]


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: these values give this result (None stands for missing)."""

    inputs: Mapping[str, Any]  # Any: numbers, flags or lists of numbers
    result: float | None


@dataclass(frozen=True)
class Metric:
    """A declared metric. Call it by keyword with plain numbers; engines ask it for a column expression."""

    name: str
    function: Callable[..., Value]
    level: Level
    title: str
    unit: str
    better: Better
    bounds: tuple[float, float]
    spec: str
    formula: str
    example: Example
    inputs: Mapping[str, Input]
    constants: Mapping[str, float]
    doc: str
    defined_when_empty: float | None = None
    has_per_run: bool = field(default=False)
    limits: Mapping[str, Limits] = field(default_factory=dict, repr=False, compare=False)
    """Between which values inputs lie; the catalog fills it in, since an input may be another metric."""
    binary: bool = False
    """Whether a value is always 0 or 1, so that its mean counts successes. Never guessed from the values seen."""

    @property
    def is_share(self) -> bool:
        """Whether values lie in 0 to 1, so that even equal ones leave room for chance."""
        return self.bounds == (0, 1)

    def __call__(self, **values: Any) -> float | Missing:  # Any: numbers, flags or lists, as the formula asks
        """The metric of plain values; Missing, with the reason, where there is no answer; what cannot be is refused."""
        for name in values:
            if name not in self.inputs and name not in self.constants:
                raise UnknownName(f"input of {self.name}", name, [*self.inputs, *self.constants])
        given = {name: self._given(name, values) for name in self.inputs}
        for name, spec in self.inputs.items():
            value = given[name]
            if isinstance(value, Missing) and not spec.optional:
                return value
        check_inputs(self, given)
        constants = {name: values.get(name, default) for name, default in self.constants.items()}
        result = self.function(**given, **constants)
        if isinstance(result, Missing):
            return result
        check_result(self, given, number := float(result))
        return number

    @staticmethod
    def _given(name: str, values: Mapping[str, Any]) -> Value:
        value = values.get(name)
        return Missing(f"{name} is not known") if value is None else value

    def expression(self, columns: Mapping[str, Value], constants: Mapping[str, float]) -> Value:
        """The metric as a column expression; null wherever a required input is null.

        The columns and what comes out are expressions of one library, Narwhals or Polars.
        """
        library = library_of(*columns.values(), *constants.values())
        if library is None:
            raise TypeError(f"{self.name}: no column among the inputs")
        body = as_column(self.function(**columns, **constants), library).cast(library.Float64)
        needed = [columns[name] for name, spec in self.inputs.items() if not spec.optional]
        if not needed:
            return body
        known = ~needed[0].is_null()
        for column in needed[1:]:
            known = known & ~column.is_null()
        return library.when(known).then(body)


def _read_signature(function: Callable[..., Value]) -> tuple[dict[str, Input], dict[str, float]]:
    inputs: dict[str, Input] = {}
    constants: dict[str, float] = {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        marks = [mark for mark in get_args(hints.get(name)) if isinstance(mark, (Input, Constant))]
        if not marks:
            raise BadDeclaration(f"{function.__name__}: parameter {name!r} must be annotated as an input or a Param")
        if isinstance(marks[0], Constant):
            if parameter.default is inspect.Parameter.empty:
                raise BadDeclaration(f"{function.__name__}: Param {name!r} needs a default")
            constants[name] = parameter.default
        else:
            inputs[name] = marks[0]
    return inputs, constants


def metric(
    *,
    level: Level,
    title: str,
    unit: str,
    better: Better,
    bounds: tuple[float, float],
    spec: str,
    formula: str,
    example: Example,
    defined_when_empty: float | None = None,
    per_run: bool = False,
    binary: bool = False,
) -> Callable[[Callable[..., Value]], Metric]:
    """Declare the function below as a metric.

    `per_run` makes a second metric, `<name>_per_run`, from the same formula on each run's own values. `binary` promises
    that a run's value is 0 or 1.
    """

    def declare(function: Callable[..., Value]) -> Metric:
        inputs, constants = _read_signature(function)
        if per_run and level != "group":
            raise BadDeclaration(f"{function.__name__}: per_run is for group metrics")
        if binary and (level != "run" or bounds != (0, 1)):
            raise BadDeclaration(f"{function.__name__}: a binary metric is one of runs, in the bounds (0, 1)")
        return Metric(
            name=function.__name__,
            function=function,
            level=level,
            title=title,
            unit=unit,
            better=better,
            bounds=bounds,
            spec=spec,
            formula=formula,
            example=example,
            inputs=inputs,
            constants=constants,
            doc=inspect.getdoc(function) or "",
            defined_when_empty=defined_when_empty,
            has_per_run=per_run,
            binary=binary,
        )

    return declare


def per_run_twin(declared: Metric) -> Metric:
    """The same formula on each run's own values instead of the group's reduced ones."""
    inputs = {name: replace(spec, reduce=None) for name, spec in declared.inputs.items()}
    return replace(
        declared,
        name=f"{declared.name}_per_run",
        title=f"{declared.title}, per run",
        level="run",
        inputs=inputs,
        has_per_run=False,
    )
