"""`@metric`: the declaration of a metric with its parameters, constants and bounds contains everything about it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

from steelyard.errors import DeclarationError, SteelyardError, UnknownNameError, UsageError, error_message
from steelyard.formatting import UNITS_IN_CELLS
from steelyard.metrics._words import CONSTANT, LOST, ONE, FormulaTrace, Value, as_column, exactly, library_of, weighed
from steelyard.profiles import default_profile
from steelyard.records import RUN_FIELDS, CustomKind, Missing, custom_input, is_custom_field
from steelyard.statistics import STATISTICS

Reducer: TypeAlias = str
"""The name of a statistic that may reduce."""
Scope = Literal["own", "base", "all"]


@dataclass(frozen=True, slots=True)
class Input:
    """Meaning of a parameter of a formula. `of` is the fact or metric it is taken from, else its own name."""

    optional: bool = False
    reduce: Reducer | None = None
    of: str | None = None
    scope: Scope = "own"
    kind: CustomKind | None = None
    """What the values under a custom field (`x_...`) are; others under the key are missing."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A parameter that a profile sets. Its default is that of the shipped profile; where none sets it, its own."""


# Any: on plain numbers these are floats, on tables column expressions.
Required: TypeAlias = Annotated[Any, Input()]
Optional: TypeAlias = Annotated[Any, Input(optional=True)]
Mean: TypeAlias = Annotated[Any, Input(reduce="mean")]
Sum: TypeAlias = Annotated[Any, Input(reduce="sum")]
CustomFloat: TypeAlias = Annotated[Any, Input(kind="float")]
CustomBool: TypeAlias = Annotated[Any, Input(kind="bool")]
Param: TypeAlias = Annotated[float, Constant()]


def read_signature(function: Callable[..., Value], spec: str) -> tuple[dict[str, Input], dict[str, float]]:
    """The inputs and the constants of a formula, by the names of its parameters."""
    inputs: dict[str, Input] = {}
    constants: dict[str, float] = {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        marks = [mark for mark in get_args(hints.get(name)) if isinstance(mark, (Input, Constant))]
        if not marks:
            raise DeclarationError(f"parameter {name!r} must be annotated as an input or a Param")
        if isinstance(marks[0], Constant):
            constants[name] = _default(name, parameter.default, spec)
        else:
            inputs[name] = _custom_input(name, marks[0])
    return inputs, constants


def _custom_input(name: str, spec: Input) -> Input:
    """The input; one that is a custom field is taken from its values of the declared kind."""
    key = spec.of or name
    if is_custom_field(key) != (spec.kind is not None):
        message = f"{key!r} is a custom field without a declared type"
        if spec.kind is not None:
            message = f"{key!r} has a type, which is only for custom fields (x_...)"
        raise DeclarationError(message, hint="annotate custom fields (x_...) with CustomFloat or CustomBool")
    return spec if spec.kind is None else replace(spec, of=custom_input(key, spec.kind))


def _default(name: str, own: Any, spec: str) -> float:  # Any: a number, or nothing
    """Return the default of a constant, from the shipped profile if it has one."""
    shipped = default_profile(spec)
    if shipped is not None and name in shipped.constants:
        if own is not inspect.Parameter.empty:
            hint = f"write {name}: Param"
            raise DeclarationError(f"Param {name!r} has a default, but {shipped.name} sets it", hint=hint)
        return shipped.constant(name, math.nan)
    if own is inspect.Parameter.empty:
        raise DeclarationError(f"Param {name!r} needs a default: no built-in profile of {spec!r} sets it")
    if not isinstance(own, int | float):
        raise DeclarationError(f"the default of Param {name!r} is {own!r}, not a number")
    return own


Level = Literal["run", "group", "component", "across", "benchmark", "task", "tasks", "submission", "prompt"]
Better = Literal["higher", "lower", "neither"]
ROWS: dict[Level, str] = {
    "run": "run",
    "group": "run",
    "prompt": "prompt",
    "task": "attempt",
    "tasks": "attempt",
    "benchmark": "benchmark",
    "submission": "submission",
}
"""What a row of the table is that a level's metrics are taken over; the other levels are of groups alone."""
GEOMETRIC = ":geomean"
"""Suffix of the geometric mean of a metric: cost_usd:geomean."""
ARROWS: dict[Better, str] = {"higher": "↑", "lower": "↓", "neither": ""}
REDUCERS = tuple(name for name, statistic in STATISTICS.items() if statistic.reduces)


@dataclass(frozen=True, slots=True)
class Example:
    """Worked example: inputs and the expected result (None if missing)."""

    inputs: Mapping[str, Any]  # Any: numbers, flags or lists of numbers
    result: float | None


@dataclass(frozen=True)
class Metric:
    """Declared metric. Call it with keyword arguments on plain numbers; engines request a column expression."""

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
    """Ranges of the inputs; filled in by the catalog, since an input may be another metric."""
    binary: bool = False
    """Whether values are always 0 or 1, so that the mean is a proportion. Never inferred from the values."""
    needs_canon: bool = False
    """Whether a prompt without a canon has no value."""
    counts_outputs: bool = False
    """Whether the value is a fraction of a prompt's outputs."""
    counts_tasks: bool = False
    """Whether the numerator of a group metric counts some of the tasks that the denominator counts."""
    overview: int | None = None
    """Position among the metrics shown by default; None if it is not one of them."""
    lower_bound: str | None = None
    """For totals: the boolean field of runs that add only a lower bound."""
    mean_of: str | None = None
    """For metrics over tasks: the attempt metric that it averages, if any."""

    @property
    def where(self) -> str:
        """File and line of the declaration."""
        return _place(self.function)

    @property
    def needs(self) -> dict[str, str]:
        """Source of each input: a field or metric."""
        return {name: spec.of or name for name, spec in self.inputs.items()}

    @property
    def figure(self) -> str:
        """Statistic that summarizes a group: its own value, the mean of a binary metric, else the median."""
        return "value" if self.level == "group" else "mean" if self.binary else "median"

    @property
    def arrow(self) -> str:
        """Direction that is better; empty if neither is."""
        return ARROWS[self.better]

    def heading(self, statistic: str | None = None) -> str:
        """Return the heading of a column: the title, and below it statistic, unit and the direction that is better."""
        second = "" if statistic in (None, "value") else f"{statistic} "
        unit = "" if self.unit in UNITS_IN_CELLS else f"{self.unit} "
        return f"{self.title}\n{second}{unit}{self.arrow}".rstrip()

    @property
    def is_geometric(self) -> bool:
        """Whether it is the geometric mean of another metric, which is compared by ratios."""
        return self.name.endswith(GEOMETRIC)

    @property
    def is_fraction(self) -> bool:
        """Whether values are in 0 to 1, so that even equal ones have an interval."""
        return self.bounds == (0, 1)

    def __call__(self, **values: Any) -> float | Missing:  # Any: numbers, flags or lists, as the formula asks
        """Return the metric of plain values, or Missing with the reason; out-of-range values raise an error."""
        for name in values:
            if name not in self.inputs and name not in self.constants:
                raise UnknownNameError(f"input of {self.name}", name, [*self.inputs, *self.constants])
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
        return Missing(f"{name} is unknown") if value is None else value

    @cached_property
    def is_ratio(self) -> bool:
        """Whether it is a ratio of means, or a mean: a weighed sum of the inputs over another over the same runs.

        Derived from the formula, not declared.
        """
        form = self._followed(self.constants)
        if form.above is None:
            return False
        # a ratio of sums is one of means, as long as nothing is added once that each run would add
        return self._reducers == {"mean"} or (self._reducers == {"sum"} and CONSTANT not in {*form.above, *form.below})

    @property
    def row(self) -> str | None:
        """What one row of its table is: a run, a prompt, an attempt, ...; None of a metric of groups alone."""
        return ROWS.get(self.level)

    @property
    def is_of_rows(self) -> bool:
        """Whether each row of its table has a value: each run, prompt, attempt, benchmark or submission."""
        return self.level in ("run", "prompt", "task", "benchmark", "submission") or self.mean_of is not None

    @property
    def is_estimate(self) -> bool:
        """Whether it has intervals and can be compared: each row has a value, or it is a ratio of means."""
        return self.is_of_rows or self.is_ratio

    @cached_property
    def is_total(self) -> bool:
        """Whether it adds up what the runs have, so that twice the runs have twice as much."""
        form = self._followed(self.constants)
        return form.above is not None and form.below == ONE and CONSTANT not in form.above and self._reducers == {"sum"}

    def ratio_parts(self, inputs: Mapping[str, Any], constants: Mapping[str, float]) -> tuple[Any, Any]:
        """Return numerator and denominator of a ratio of means. Any: of numbers a number, of arrays an array."""
        form = self._followed(constants)
        assert form.above is not None, f"{self.name} is not a ratio of means"
        return weighed(form.above, inputs), weighed(form.below, inputs)

    @property
    def divides_by_fraction(self) -> bool:
        """Whether what a ratio of means divides by is 1 at most, as a fraction is."""
        most = {name: self.limits.get(name, (0.0, math.inf))[1] for name in self.inputs}
        return bool(self.ratio_parts(most, self.constants)[1] <= 1)

    @property
    def _reducers(self) -> set[str | None]:
        return {spec.reduce for spec in self.inputs.values()}

    def _followed(self, constants: Mapping[str, float]) -> FormulaTrace:
        if self.level != "group" or any(spec.optional for spec in self.inputs.values()):
            return LOST
        inputs = {name: FormulaTrace({name: 1.0}) for name in self.inputs}
        try:
            result = self.function(**inputs, **constants)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, UsageError):
            return LOST  # what is done with the inputs is more than sums and quotients
        return result if isinstance(result, FormulaTrace) else LOST

    def expression(self, columns: Mapping[str, Value], constants: Mapping[str, float]) -> Value:
        """The metric as a column expression; null wherever a required input is null.

        The columns and what comes out are expressions of one library, Narwhals or Polars.
        """
        library = library_of(*columns.values(), *constants.values())
        if library is None:
            raise TypeError(f"{self.name}: no column among the inputs")
        given = {name: exactly(column, library) for name, column in columns.items()}
        body = as_column(self.function(**given, **constants), library).cast(library.Float64)
        needed = [columns[name] for name, spec in self.inputs.items() if not spec.optional]
        if not needed:
            return body
        known = ~needed[0].is_null()
        for column in needed[1:]:
            known = known & ~column.is_null()
        return library.when(known).then(body)


def _place(function: Callable[..., Value]) -> str:
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def _check(declared: Metric) -> None:
    """Reject a declaration that contradicts itself."""
    _check_word("level", declared.level, get_args(Level))
    _check_word("better direction", declared.better, get_args(Better))
    for name, spec in declared.inputs.items():
        _check_input(declared, name, spec)
    low, high = declared.bounds
    if not low < high:
        raise DeclarationError(
            f"bounds {low:g} and {high:g} are not in ascending order", hint="bounds=(lowest, highest)"
        )
    if declared.has_per_run and declared.level != "group":
        raise DeclarationError("per_run is for group metrics")
    if declared.binary and (not (declared.level == "run" or declared.mean_of) or declared.bounds != (0, 1)):
        raise DeclarationError("binary metrics must be per-run metrics with bounds (0, 1)")
    if declared.mean_of is not None and declared.level != "tasks":
        raise DeclarationError("mean_of is for metrics over tasks")
    if (declared.needs_canon or declared.counts_outputs) and declared.level != "prompt":
        raise DeclarationError("needs_canon and counts_outputs are for metrics of prompts")
    if declared.lower_bound is not None:
        _check_word("field", declared.lower_bound, [name for name, fact in RUN_FIELDS.items() if fact.kind == "bool"])
    if declared.overview is not None and declared.level not in ("run", "group"):
        raise DeclarationError("only run and group metrics can be in the overview")


def _check_word(what: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        raise UnknownNameError(what, str(word), known)


def _check_input(declared: Metric, name: str, spec: Input) -> None:
    reduced = declared.level in ("group", "across")
    if spec.reduce is not None:
        _check_word("reducer", spec.reduce, REDUCERS)
    _check_word("scope", spec.scope, get_args(Scope))
    if reduced and spec.reduce is None:
        message = f"{name!r} is a per-run value, but a metric of level {declared.level} needs one value per group"
        raise DeclarationError(message, hint="annotate it with Mean, Sum or another Input(reduce=...)")
    if spec.reduce is not None and not reduced:
        message = f"{name!r} is reduced by {spec.reduce}, but a metric of level {declared.level} has nothing to reduce"
        raise DeclarationError(message, hint="annotate it with Required or Optional")
    if spec.scope != "own" and declared.level != "across":
        raise DeclarationError(f"{name!r} comes from other groups; only metrics of level across can use it")


def check_example(declared: Metric) -> None:
    """Reject a metric whose example fails. Its module must be loaded: a formula may call functions below it.

    Any error that the formula raises is the declaration's.
    """
    expected = declared.example.result
    try:
        result = declared(**declared.example.inputs)
    except Exception as error:
        problem = (
            error.message if isinstance(error, SteelyardError) else f"{type(error).__name__}: {error_message(error)}"
        )
        message = f"{declared.name}: the example cannot be computed: {problem}"
        raise DeclarationError(message, where=declared.where) from error
    found = None if isinstance(result, Missing) else result
    if found is None or expected is None:
        agree = found is expected
    else:
        agree = found == expected or math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)
    if agree:
        return
    why = f" ({result.reason})" if isinstance(result, Missing) else ""
    message = f"{declared.name}: the example states {expected}, but the formula returns {found}{why}"
    raise DeclarationError(message, where=declared.where)


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
    needs_canon: bool = False,
    counts_outputs: bool = False,
    counts_tasks: bool = False,
    overview: int | None = None,
    lower_bound: str | None = None,
    mean_of: str | None = None,
) -> Callable[[Callable[..., Value]], Metric]:
    """Declare the function below as a metric; an inconsistent declaration raises an error with file and line.

    `per_run` adds a second metric, `<name>_per_run`, with the same formula applied to each run. `binary` declares that
    a run's value is 0 or 1, and `counts_outputs` that a prompt's value is a fraction of its outputs. `counts_tasks`
    declares that a group's value is the fraction of the tasks counted that passed. `needs_canon`
    declares that a prompt without a canon has no value. `overview` is the position among the metrics shown by default.
    `lower_bound` names the boolean field of runs that add only a lower bound to a total. `mean_of` names the attempt
    metric that a metric over tasks averages.
    """

    def declare(function: Callable[..., Value]) -> Metric:
        try:
            inputs, constants = read_signature(function, spec)
            declared = Metric(
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
                needs_canon=needs_canon,
                counts_outputs=counts_outputs,
                counts_tasks=counts_tasks,
                overview=overview,
                lower_bound=lower_bound,
                mean_of=mean_of,
            )
            _check(declared)
        except SteelyardError as error:
            message = f"{function.__name__}: {error.message}"
            raise DeclarationError(message, where=_place(function), hint=error.hint) from error
        return declared

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
        overview=None,
        lower_bound=None,
    )


Limits = tuple[float, float]

NEVER_NEGATIVE = (0.0, math.inf)
_MOMENTS = frozenset({"start_time", "end_time"})
"""Facts that count from 1970 and may be negative."""
_ROUNDING = 1e-9


def limits_of(declared: Metric, metrics: Mapping[str, Metric]) -> dict[str, Limits]:
    """Return the bounds of each numeric input: a metric's own bounds, and 0 or more for counts and amounts."""
    limits: dict[str, Limits] = {}
    for parameter, spec in declared.inputs.items():
        name = spec.of or parameter
        fact = RUN_FIELDS.get(name)
        if fact is not None and fact.kind in ("int", "float") and name not in _MOMENTS:
            limits[parameter] = NEVER_NEGATIVE
        elif name in metrics and name != declared.name and _one_number(metrics[name], declared):
            low, high = metrics[name].bounds
            limits[parameter] = (low, high if spec.reduce is None or STATISTICS[spec.reduce].between else math.inf)
    return limits


def _one_number(needed: Metric, declared: Metric) -> bool:
    """Whether the input is a number: metrics over benchmarks, tasks and prompts take lists of what they are made of."""
    return declared.level in ("run", "group", "submission") and needed.level in ("run", "group", "submission")


def check_inputs(declared: Metric, given: Mapping[str, Value]) -> None:
    """Reject inputs out of bounds."""
    for name, (low, high) in declared.limits.items():
        value = given[name]
        if isinstance(value, bool | int | float):
            if not _inside(value, low, high):
                hint = f"{name} must be {_range_text(low, high)}"
                raise UsageError(f"{name} {value} is out of range", where=declared.name, hint=hint)
        elif isinstance(value, str | bytes | list | tuple | dict):
            raise UsageError(f"{name} must be a number (got {value!r:.100})", where=declared.name)


def check_result(declared: Metric, given: Mapping[str, Value], result: float) -> None:
    """Reject a result outside the metric's bounds: it came from values that contradict each other."""
    low, high = declared.bounds
    if not _inside(result, low, high):
        shown = ", ".join(f"{name} {value}" for name, value in given.items() if isinstance(value, bool | int | float))
        hint = f"{declared.name} must be {_range_text(low, high)}"
        raise UsageError(f"result {result} is out of range ({shown})", where=declared.name, hint=hint)


def _inside(value: float, low: float, high: float) -> bool:
    room = _ROUNDING * max(1.0, abs(low) if math.isfinite(low) else 0.0, abs(high) if math.isfinite(high) else 0.0)
    return low - room <= value <= high + room  # false for what is not a number


def _range_text(low: float, high: float) -> str:
    return f"{low:g} or more" if math.isinf(high) else f"between {low:g} and {high:g}"
