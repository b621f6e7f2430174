"""Rows of prompts, attempts and benchmarks, from a result or from the file that `repeat` or `speedup` wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UsageError
from steelyard.files import beginning_of, document
from steelyard.metrics import catalog
from steelyard.records import DEFAULT_SCHEME, model_group
from steelyard.settings import named_path

Row = dict[str, Any]  # Any: cells of any type

_SAVED = re.compile(rb'^\s*\{\s*"schema_version"')
_OF_BENCHMARK = {"agent/nop": "agent_speedup", "oracle/nop": "oracle_speedup", "advantage": "advantage"}


def prompt_row(name: str, key: Mapping[str, str | None], metrics: Mapping[str, float | None]) -> Row:
    """A prompt; the outputs of a folder or an experiment are of the task that it is named after."""
    row: Row = {"id": name, "task": key.get("task") or name, **{part: key[part] for part in key if part != "task"}}
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
    kind: str, *, task: str, agent: str, number: int, payload: Mapping[str, Any], measures: Mapping[str, Any]
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
        values = {**measures, **payload}
        yield row | {declared.name: values.get(declared.name) for declared in catalog().at("task")}
        return
    for benchmark, speedups in (payload.get("per_benchmark_speedups") or {}).items():
        figures = {metric: speedups.get(key) for key, metric in _OF_BENCHMARK.items()}
        yield row | {"id": f"{row['id']}, {benchmark}"} | figures


class _SavedPrompt(msgspec.Struct, frozen=True):
    prompt: str
    key: dict[str, str | None] = {}
    metrics: dict[str, float | None] = {}


class _SavedTask(msgspec.Struct, frozen=True):
    agents: dict[str, dict[str, Any]] = {}  # Any: JSON values
    measures: dict[str, dict[str, Any]] = {}  # Any: JSON values


class SavedResult(msgspec.Struct, frozen=True):
    """What `repeat --out x.json` or `speedup --out x.json` wrote."""

    prompts: list[_SavedPrompt] | None = None
    tasks: dict[str, _SavedTask] | None = None
    agents: dict[str, dict[str, Any]] | None = None  # Any: JSON values
    measures: dict[str, dict[str, Any]] = {}  # Any: JSON values
    summary: dict[str, Any] = {}  # Any: JSON values
    coverage: dict[str, dict[str, int]] = {}


def saved_paths(given: Sequence[str]) -> list[Path]:
    """The files, where all of them are results that a verb wrote."""
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
    saved = document(path, msgspec.json.Decoder(SavedResult))
    if saved.prompts is None and saved.tasks is None and saved.agents is None:
        message = "the file holds a result of neither repeat nor speedup"
        raise UsageError(message, where=str(path), hint="steelyard repeat OUTPUTS --out prompts.json")
    return saved


def saved_rows(saved: SavedResult, kind: str, path: Path) -> Iterator[Row]:
    """The rows of one kind in a result that was read from the path."""
    if (saved.prompts is None) == (kind == "prompt"):
        verb = "repeat" if kind == "prompt" else "speedup"
        raise UsageError(f"the file holds no result of {verb}", where=str(path))
    for prompt in saved.prompts or ():
        yield prompt_row(prompt.prompt, prompt.key, prompt.metrics)
    tasks = saved.tasks or {}
    if saved.agents is not None:
        tasks = {next(iter(saved.coverage), "task"): _SavedTask(saved.agents, saved.measures)}
    for trial, results in tasks.items():
        task, number = _numbered(trial, saved.coverage)
        for key, payload in results.agents.items():
            agent, again = _numbered(key, saved.summary)
            measures = results.measures.get(key, {})
            yield from attempt_rows(
                kind, task=task, agent=agent, number=max(number, again), payload=payload, measures=measures
            )


def _numbered(name: str, known: Mapping[str, object]) -> tuple[str, int]:
    """The name without the number that later attempts carry, and that number."""
    bare, sign, number = name.rpartition("#")
    return (bare, int(number)) if name not in known and sign and number.isdecimal() else (name, 1)
