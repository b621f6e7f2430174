"""Prompts, attempts, benchmarks and submissions as tables like the table of runs, so that every command accepts them.

A row has the keys of a run (task, agent, model, ...), the fields that it shares with a run (verdict, cost, time), and
one column per metric that its command measured. Groups, differences and rules are then computed as for runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steelyard import arena, prices, sources
from steelyard.errors import NoValidInputError, RecordError, UnknownNameError, UsageError
from steelyard.files import beginning_of, document
from steelyard.metrics import catalog, is_custom_metric
from steelyard.option_names import option
from steelyard.questions._answer import Answer
from steelyard.questions._run_input import Measurable, evaluated_by, open_runs, outside_time, reject_labels
from steelyard.questions.repeatability import RepeatabilityOptions, repeatability
from steelyard.questions.repeatability._answer import Repeatability
from steelyard.questions.speedup import SpeedupOptions, speedup
from steelyard.questions.speedup._answer import SpeedupResult
from steelyard.records import (
    DEFAULT_SCHEME,
    GROUP_KEYS,
    Finding,
    Missing,
    is_custom_field,
    is_custom_input,
    model_group,
    problem_text,
    unknown_custom_field,
)
from steelyard.settings import INPUT_KEY, is_store, named_path

if TYPE_CHECKING:
    from steelyard.arena import Arena
    from steelyard.questions._options import PricedRunOptions
    from steelyard.sources import RunTable

Row = dict[str, Any]  # Any: cells of any type

_NUMBERS = " as float"
"""How the numbers of a custom field are named."""
_SAVED = re.compile(rb'^\s*\{\s*"schema_version"\s*:\s*\d')
"""How a result of ours begins; others write a version too, as text."""
_OF_BENCHMARK = {"agent/nop": "agent_speedup", "oracle/nop": "oracle_speedup", "advantage": "advantage"}


def prompt_row(name: str, key: Mapping[str, str | None], metrics: Mapping[str, float | None]) -> Row:
    """A prompt; the outputs of a folder or an experiment are of the task that it is named after."""
    keys = {part: value for part, value in key.items() if part in GROUP_KEYS or is_custom_field(part)}
    row: Row = {"id": name, **keys, "task": key.get("task") or name}
    if row.get("tier") is not None:
        row["tier_scheme"] = DEFAULT_SCHEME
    known = {
        metric: value for metric, value in metrics.items() if metric in catalog() and isinstance(value, float | int)
    }
    return row | known


def attempt_id(task: str, agent: str, number: int) -> str:
    """What an attempt is called; later ones carry their number, as they do in the result of speedup."""
    return f"{task}, {agent}" if number == 1 else f"{task}#{number}, {agent}"


def attempt_rows(
    kind: str, *, task: str, agent: str, number: int, payload: Mapping[str, Any]
) -> Iterator[Row]:  # Any: JSON values
    """An attempt, or each of its benchmarks."""
    name, _, model = agent.partition(":")
    row: Row = {
        "id": attempt_id(task, agent, number),
        "task": task,
        "agent": name,
        "model": model_group(model or None),
        "attempt": number,
        "passed": payload.get("success"),
        "reported_cost_usd": payload.get("task_cost_usd"),
    }
    if kind == "attempt":
        measures = payload.get("measures")
        values = {**(measures if isinstance(measures, dict) else {}), **payload}
        yield row | {declared.name: values.get(declared.name) for declared in catalog().at("task")}
        return
    benchmarks = payload.get("per_benchmark_speedups")
    for benchmark, speedups in benchmarks.items() if isinstance(benchmarks, dict) else ():
        if not isinstance(speedups, dict):
            continue
        yield row | {"id": f"{row['id']}, {benchmark}"} | benchmark_figures(speedups)


def benchmark_figures(speedups: Mapping[str, Any]) -> Row:  # Any: JSON values
    """The metrics of a benchmark: those that are stored, and those that are made of them."""
    figures: Row = {metric: speedups.get(key) for key, metric in _OF_BENCHMARK.items()}
    for declared in catalog().at("benchmark"):
        if declared.name not in figures and declared.inputs.keys() <= figures.keys():
            given = {name: figures[name] for name in declared.inputs}
            value = declared(**given) if all(isinstance(each, float | int) for each in given.values()) else None
            figures[declared.name] = None if isinstance(value, Missing) else value
    return figures


class _SavedVersions(msgspec.Struct, frozen=True):
    normalization: str = ""
    distance: str = ""


class _SavedPrompt(msgspec.Struct, frozen=True):
    prompt: str
    key: dict[str, str | None] = {}
    metrics: dict[str, float | None] = {}
    versions: _SavedVersions = _SavedVersions()


class _SavedAttempt(msgspec.Struct, frozen=True):
    task: str
    agent: str
    number: int = 1


class SavedResult(msgspec.Struct, frozen=True):
    """What `repeatability --out x.json` or `speedup --out x.json` wrote."""

    prompts: list[_SavedPrompt] | None = None
    attempts: list[dict[str, Any]] | None = None  # Any: JSON values
    summary: dict[str, Any] = {}  # Any: JSON values


def saved_paths(given: Sequence[str]) -> list[Path]:
    """The files, where all of them are results that a command wrote."""
    paths = [named_path(path) for path in given]
    try:
        is_saved = [path.suffix.lower() == ".json" and path.is_file() and _looks_saved(path) for path in paths]
    except OSError:
        return []
    return paths if paths and all(is_saved) else []


def _looks_saved(path: Path) -> bool:
    return _SAVED.match(beginning_of(path)) is not None


def read_saved(path: Path) -> SavedResult:
    """The result in the file."""
    return document(path, msgspec.json.Decoder(SavedResult))


def saved_kind(saved: SavedResult) -> str | None:
    """Return what a saved result contains: prompts or attempts; None for the result of another command."""
    if saved.prompts is not None:
        return "prompt"
    return "attempt" if saved.summary and saved.attempts is not None else None


def basis_of(normalization: str, distance: str) -> str:
    """What numbers of outputs depend on: those of another basis are not compared with them."""
    return f"normalization {normalization}, distance {distance}"


def saved_rows(saved: SavedResult, kind: str, path: Path) -> Iterator[Row]:
    """The rows of one kind in a result that was read from the path."""
    if (saved_kind(saved) == "prompt") != (kind == "prompt") or saved_kind(saved) is None:
        command = "repeatability" if kind == "prompt" else "speedup"
        raise UsageError(f"the file contains no result of {command}", where=str(path))
    try:
        yield from (_checked(row, path) for row in _each_saved(saved, kind))
    except msgspec.ValidationError as error:
        raise RecordError(problem_text(error), path=str(path)) from error


def _checked(row: Row, path: Path) -> Row:
    """The row, if its numbers can be: a file may have been changed since it was written."""
    for name, value in row.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        low, high = catalog()[name].bounds if name in catalog() else (0.0, math.inf)
        wrong = name == "passed" and not isinstance(value, bool)
        if name in catalog() or name == "reported_cost_usd":
            wrong = not number or not low <= value <= high
        if value is not None and wrong:
            hint = f"recreate the file with steelyard repeatability or speedup and {option('out', 'FILE.json')}"
            raise RecordError(f"invalid {name} of {row['id'][:200]!r}: {value!r:.60}", path=str(path), hint=hint)
    return row


def _each_saved(saved: SavedResult, kind: str) -> Iterator[Row]:
    for prompt in saved.prompts or ():
        yield prompt_row(prompt.prompt, prompt.key, prompt.metrics)
    for attempt in saved.attempts or ():
        names = msgspec.convert(attempt, _SavedAttempt)
        yield from attempt_rows(kind, task=names.task, agent=names.agent, number=names.number, payload=attempt)


USUAL: dict[str, tuple[str, ...]] = {
    "prompt": ("r_raw", "r_anchor", "mu_pre"),
    "attempt": ("agent_advantage", "task_speedup", "accuracy"),
    "submission": ("overall_score", "efficiency_score", "speed_score", "cost_score", "correctness_score"),
}
"""What is shown of a kind of rows where no metric is named."""
COMMANDS = {"prompt": "repeatability", "attempt": "speedup", "benchmark": "speedup", "submission": "arena submit"}
"""The command that makes each kind of rows."""
_ARENA = b"arena_settings"


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that a command measured, with its findings."""

    rows: Iterable[Row]
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0
    """Number of rejected records."""
    basis: frozenset[str] = frozenset()
    """What the numbers depend on, where they do."""


def usual_metrics(inputs: Measurable) -> tuple[str, ...]:
    """The metrics to show where none is named, if the input is not one of runs."""
    kind = _kind_of(inputs)
    return () if kind is None else USUAL[kind]


def open_table(
    inputs: Measurable,
    metrics: Sequence[str],
    options: PricedRunOptions,
    *,
    where: str = option("where"),
    keys: Iterable[str] = (),
) -> RunTable:
    """The table that has these metrics: of runs, or of what the command of their specification measures.

    `keys` are what rows will be grouped and chosen by: outputs of one prompt agree in them.
    """
    keys = [*keys]
    table = _opened(inputs, metrics, options, where=where, keys=keys)
    present = table.frame.collect_schema().names()
    for key in keys:
        if is_custom_field(key) and key not in present:
            raise unknown_custom_field(key, [name for name in present if not is_custom_input(name)])
    own = [name for name in metrics if is_custom_metric(name)]
    numeric = [name.removesuffix(_NUMBERS) for name in present if is_custom_input(name) and name.endswith(_NUMBERS)]
    for name in own:
        if name not in numeric:
            plain = name.removeprefix("x_")
            known = [*catalog(), *(each.removeprefix("x_") for each in numeric)]
            error = UnknownNameError("metric", plain, known)
            if name in present:
                error.message = f"the custom field {plain!r} has no numbers"
            raise error
    if own:
        names = ", ".join(name.removeprefix("x_") for name in own)
        message = f"{names}: custom field, whose bounds and better direction are unknown"
        table = replace(table, notes=(*table.notes, Finding(code="custom_metric", severity="info", message=message)))
    return table


def _opened(
    inputs: Measurable,
    metrics: Sequence[str],
    options: PricedRunOptions,
    *,
    where: str,
    keys: Sequence[str],
) -> RunTable:
    kind = _kind_of_metrics(metrics)
    given = _kind_of(inputs)
    if given is not None and kind != given and (given, kind) != ("attempt", "benchmark"):
        if kind != "run" or given == "prompt":
            name = next(name for name in metrics if catalog()[name].row == kind)
            raise UsageError(f"{name} is a metric of {_a(kind)}, but the input contains {given}s", hint=_instead(given))
        kind = given
    if kind == "run":
        assert not isinstance(inputs, (Repeatability, SpeedupResult)), "they are no runs"
        reading = options.reading()
        asked = {*keys, *(condition.key for condition in reading.choice.conditions)}
        by_input = INPUT_KEY in asked and not isinstance(inputs, sources.RunTable)
        return open_runs(inputs, replace(reading, by_input=by_input), where=where)  # type: ignore[arg-type] # an arena is none

    if isinstance(inputs, sources.RunTable):
        message = f"{metrics[0]} is a metric of {_a(kind)}, but the input is a table of runs"
        raise UsageError(message, hint=f"pass the path, or the result of sy.{COMMANDS[kind].split()[0]}")
    choice = options.choice()
    table = _table(_measured(inputs, kind, options, [*keys, *(each.key for each in choice.conditions)]), kind, options)
    if table.n == 0:
        raise NoValidInputError(f"the input contains no {kind}", hint=f"steelyard help {COMMANDS[kind]}")
    if choice.timed and kind != "submission":
        raise UsageError(f"{_a(kind)} has no timestamp", hint=f"remove {option('since')} and {option('until')}")
    chosen = sources.choose(table, choice, where=where)
    if chosen.n == 0:
        raise outside_time(table.n)
    return evaluated_by(chosen, options.reading().engine)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _instead(kind: str) -> str:
    return f"use a metric of {kind}s: {', '.join(USUAL[kind][:3])}, ..."


def _kind_of_metrics(metrics: Sequence[str]) -> str:
    """What a row is of which all these metrics are; verdict and cost are known of every kind."""
    kinds = {catalog()[name].row or "run": name for name in metrics}
    others = {kind: name for kind, name in kinds.items() if kind != "run"}
    if len(others) > 1:
        listed = " and ".join(f"{name} is a metric of {_a(kind)}" for kind, name in others.items())
        raise UsageError(f"{listed}; metrics of one table must have the same kind", hint="run one command per kind")
    return next(iter(others), "run")


def _kind_of(inputs: Measurable) -> str | None:
    """What the rows of the input are where that is seen at once; None for what may hold runs."""
    if isinstance(inputs, Repeatability):
        return "prompt"
    if isinstance(inputs, SpeedupResult):
        return "attempt"
    if is_arena(inputs):
        return "submission"
    saved = saved_paths(_paths(inputs))
    return saved_kind(read_saved(saved[0])) if saved else None


def is_arena(inputs: object) -> bool:
    """Return whether the input is an arena or its store; importing the class would bring SQLAlchemy to every start."""
    is_object = any(base.__module__.startswith("steelyard.arena") for base in type(inputs).__mro__)
    return is_object or store_address(inputs) is not None


def _paths(inputs: object) -> list[str]:
    """The paths, where the input is made of nothing else."""
    several = [inputs] if isinstance(inputs, (str, PathLike)) else inputs
    if not isinstance(several, (list, tuple)) or not all(isinstance(path, (str, PathLike)) for path in several):
        return []
    return [str(path) for path in several]


def store_address(inputs: object, *, sure: bool = False) -> str | None:
    """The address of an arena's store; a file of SQLite is one if it names its tables, or if nothing else is meant."""
    paths = _paths(inputs)
    if len(paths) != 1:
        return None
    text = paths[0]
    if is_store(text):
        return text
    path = Path(text)
    try:
        head = beginning_of(path) if path.is_file() else b""
    except OSError:
        return None
    return f"sqlite:///{path}" if head.startswith(sources.SQLITE) and (sure or _ARENA in head) else None


def _measured(inputs: Measurable, kind: str, options: PricedRunOptions, keys: Sequence[str]) -> _Rows:
    """The rows of a kind: of a result or of an arena as they are, of files by the command that measures them."""
    if kind == "submission":
        return _submissions(inputs, options)
    saved = saved_paths(_paths(inputs))
    if isinstance(inputs, Answer) or saved:
        reject_labels(options.labels())
    if saved:
        results = {path: read_saved(path) for path in saved}
        versions = {prompt.versions for result in results.values() for prompt in result.prompts or ()}
        return _Rows(
            [row for path, result in results.items() for row in saved_rows(result, kind, path)],
            basis=frozenset(basis_of(each.normalization, each.distance) for each in versions),
        )
    result = measured_result(inputs, kind, options, keys)
    if isinstance(result, Repeatability):
        rows = (prompt_row(prompt.prompt, prompt.key, prompt.metrics) for prompt in result.prompts)
        versions_used = {prompt.versions for prompt in result.prompts}
        basis = frozenset(basis_of(each.normalization, each.distance) for each in versions_used)
        return _Rows(rows, result.findings, rejected_count=result.rejected_count, basis=basis)
    return _Rows(
        (
            row
            for attempt in result.attempts
            for row in attempt_rows(
                kind,
                task=attempt.task,
                agent=attempt.agent,
                number=attempt.number,
                payload=msgspec.to_builtins(attempt),
            )
        ),
        result.findings,
        rejected_count=result.rejected_count,
    )


def measured_result(
    inputs: Measurable, kind: str, options: PricedRunOptions, keys: Sequence[str] = ()
) -> Repeatability | SpeedupResult:
    """The result of the command that makes such rows: what was given, or what it makes of the files."""
    wanted = Repeatability if kind == "prompt" else SpeedupResult
    if isinstance(inputs, wanted):
        return inputs
    if isinstance(inputs, Answer):
        raise UsageError(f"a {type(inputs).__name__} contains no {kind}", hint=f"sy.{COMMANDS[kind]}")
    return _repeated(inputs, options, keys) if kind == "prompt" else _timed(inputs, options)


def _repeated(inputs: Any, options: PricedRunOptions, keys: Sequence[str]) -> Repeatability:  # Any: paths or records
    by = tuple(dict.fromkeys(["task", "agent", "model", *keys]))
    return repeatability(inputs, options=RepeatabilityOptions(by=by, set=options.set, map=options.map))


def _timed(inputs: Any, options: PricedRunOptions) -> SpeedupResult:  # Any: paths
    from steelyard.questions.speedup._task_timings import timings_in  # brings numpy and SciPy

    if not any(timings_in(Path(path)) for path in _paths(inputs)):
        message = "the input contains no timings"
        raise UsageError(message, hint="see the folder layout in docs/speedup.md")
    if options.set or options.map:
        raise UsageError(f"{option('set')} and {option('map')} do not apply to timings", hint="remove them")
    return speedup(inputs, options=SpeedupOptions(prices=options.prices))


def _submissions(inputs: Measurable, options: PricedRunOptions) -> _Rows:
    if options.set or options.map:
        raise UsageError(f"{option('set')} and {option('map')} do not apply to an arena", hint="remove them")
    return _Rows(arena.submission_table(arena_of(inputs)).iter_rows(named=True))


def arena_of(inputs: Measurable) -> Arena:
    """The arena that was given, or the one in the store."""
    from steelyard.questions._arena import opened  # brings SQLAlchemy

    address = store_address(inputs, sure=True)
    if address is None and not is_arena(inputs):
        raise UsageError(
            "scores are only available in an arena store", hint="pass its address, e.g. sqlite:///steelyard.db"
        )
    arena: Any = inputs if address is None else address  # Any: an arena, by its module
    return opened(arena)


def _table(measured: _Rows, kind: str, options: PricedRunOptions) -> RunTable:
    """The rows as columns; a metric that no row has is left out, and so missing."""
    import polars as pl  # heavy: --help does not need it

    names = [declared.name for declared in catalog().values() if declared.is_of_rows and declared.level != "run"]
    numbers = dict.fromkeys([*names, "reported_cost_usd", "start_time", "stated_duration_seconds"], pl.Float64)
    rows = [_typed(row, numbers) for row in measured.rows]
    frame = pl.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None, strict=False)
    empty = [series.name for series in frame if series.null_count() == len(series) and series.name != "task"]
    return sources.RunTable(
        frame=frame.drop(empty).lazy(),
        n=frame.height,
        price_table=prices.open_price_table(options.prices).label,
        notes=(*measured.findings, *other_basis([measured.basis])),
        rejected_elsewhere=measured.rejected_count,
        rows=kind,
        basis=measured.basis,
    )


def other_basis(sides: Sequence[frozenset[str]]) -> list[Finding]:
    """Warn about numbers of several versions of normalization or distance in one table."""
    every = sorted(frozenset().union(*sides))
    if len(every) < 2:
        return []
    message = (
        f"outputs were measured with {len(every)} versions of normalization and distance, so their metrics are not"
        f" comparable: {'; '.join(every)}"
    )
    return [Finding(code="mixed_versions", message=message)]


def _typed(row: Row, numbers: Mapping[str, object]) -> Row:
    """The row with numbers where numbers belong: a saved file may hold anything."""
    return {
        name: float(value)
        if name in numbers and isinstance(value, int | float) and not isinstance(value, bool)
        else None
        if name in numbers or value is None
        else value
        for name, value in row.items()
    }
