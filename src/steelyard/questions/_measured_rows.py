"""Rows of prompts, attempts and benchmarks, from a result or from the file that `repeatability` or `speedup` wrote."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import RecordError, UsageError
from steelyard.files import beginning_of, document
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.records import DEFAULT_SCHEME, GROUP_KEYS, Missing, is_custom_field, model_group, problem_text
from steelyard.settings import named_path

Row = dict[str, Any]  # Any: cells of any type

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
