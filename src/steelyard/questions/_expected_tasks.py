"""Expected tasks: the denominator of rates, from a file of names, a number, or the name of a data set.

An expected task without a run becomes a row without a verdict, in every group. Where the runs are from a list of the
tasks that passed, it becomes one that failed: such a list leaves out nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from steelyard.errors import UnknownNameError, UsageError
from steelyard.files import read_text
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.questions._question import Options, doc
from steelyard.records import JSON_ERRORS, Finding, Place, key_label

if TYPE_CHECKING:
    import polars as pl

    from steelyard.sources import RunTable

DATA_SETS = {
    "aider-polyglot": 225,
    "humaneval": 164,
    "multi-swe-bench": 1632,
    "swe-bench": 2294,
    "swe-bench-lite": 300,
    "swe-bench-multilingual": 300,
    "swe-bench-pro": 731,
    "swe-bench-verified": 500,
    "terminal-bench-2": 89,
}
"""Tasks of data sets, as their publishers state them."""
UNLISTED = "(expected task {number})"
"""Name of an expected task that no run names: the same for every group, since every group lacks it."""
MAX_EXPECTED = 1_000_000
_NAMES = ("task", "instance_id", "task_id", "id", "name")
"""Keys of a task's name in a file of objects."""
_SHOWN = 50
"""Names of tasks that one finding lists per group."""

TasksGiven: TypeAlias = str | int | PathLike[str] | Sequence[str] | None
"""A file of names, a number, the name of a data set, or the names."""


class TasksOptions(Options):
    """Expected tasks."""

    tasks: str | None = doc(
        "Expected tasks per group: a file of task names, their number, or a dataset (swe-bench-verified).",
        default=None,
        local=True,
    )


@dataclass(frozen=True, slots=True)
class ExpectedTasks:
    """The tasks that every group should have runs on."""

    count: int
    names: frozenset[str] | None = None
    """None where only their number is known."""


def expected_tasks(given: TasksGiven) -> ExpectedTasks | None:
    """Return the expected tasks, validated; None where none are given."""
    if given is None:
        return None
    if isinstance(given, int) or (isinstance(given, str) and re.fullmatch(r"[0-9]{1,9}", given)):
        count = int(given)
        if not 1 <= count <= MAX_EXPECTED:
            raise UsageError(f"{option('tasks')} must be between 1 and {MAX_EXPECTED:,} (got {count})")
        return ExpectedTasks(count)
    if not isinstance(given, (str, PathLike)):
        return _named(given, "the list of tasks")
    if str(given).lower() in DATA_SETS:
        return ExpectedTasks(DATA_SETS[str(given).lower()])
    path = Path(given)
    if not path.exists() and not re.search(r"[./\\]", str(given)):
        raise UnknownNameError("dataset", str(given), DATA_SETS, where=option("tasks"))
    return _named(_names_in(read_text(path)), str(path))


def _named(names: Iterable[str], where: str) -> ExpectedTasks:
    known = frozenset(name for each in names if (name := each.strip()))
    if not known:
        raise UsageError("no task names", where=where, hint="one name per line, or a JSON list of names")
    return ExpectedTasks(len(known), known)


def _names_in(text: str) -> list[str]:
    """Names of a JSON list, of JSON lines or of lines."""
    try:
        whole = msgspec.json.decode(text)
    except JSON_ERRORS:
        return [_name_of(line) for line in text.splitlines()]
    if isinstance(whole, dict):
        return [_object_name(whole) or ""] if _object_name(whole) else list(whole)
    return (
        [each if isinstance(each, str) else _object_name(each) or "" for each in whole]
        if isinstance(whole, list)
        else [text]
    )


def _name_of(line: str) -> str:
    if line.lstrip().startswith("{"):
        try:
            return _object_name(msgspec.json.decode(line)) or ""
        except JSON_ERRORS:
            return line
    return line


def _object_name(value: Any) -> str | None:  # Any: a JSON value
    if not isinstance(value, dict):
        return None
    return next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)


def with_expected_tasks(
    table: RunTable,
    given: TasksGiven,
    groups: Sequence[str] | Sequence[Mapping[str, str]],
    *,
    known: Iterable[str] = (),
) -> RunTable:
    """The table with a row for each expected task that a group has no run on.

    Groups are those of the keys, or those that filters choose. `known` are tasks of other tables in the same question.
    """
    expected = expected_tasks(given)
    if expected is None or table.rows != "run":
        return table
    import polars as pl  # heavy: --help does not need it

    unexpected: list[Finding] = []
    if expected.names is not None:
        wanted = pl.col("task").is_in(list(expected.names))
        others = table.frame.filter(~wanted).select(pl.col("task").unique().sort()).collect()["task"].to_list()
        if others:
            kept = int(table.frame.select(wanted.sum()).collect().item())
            table = replace(table, frame=table.frame.filter(wanted), n=kept, kept={})
            message = f"runs on {counted(len(others), 'unexpected task')} are excluded: {_listed(others)}"
            unexpected.append(Finding(code="unexpected_tasks", message=message))
    return _filled(table, expected, groups, frozenset(known), unexpected)


def expected_of_all(tables: Mapping[str, RunTable], given: TasksGiven) -> dict[str, RunTable]:
    """The tables of one question, each one group, with a row for each expected task that they have no run on."""
    if given is None:
        return dict(tables)
    import polars as pl  # as above

    known = {
        name
        for table in tables.values()
        if expected_tasks(given) is not None and "task" in table.frame.collect_schema().names()
        for name in table.frame.select(pl.col("task").unique()).collect()["task"].to_list()
    }
    return {name: with_expected_tasks(table, given, [{}], known=known) for name, table in tables.items()}


def _filled(
    table: RunTable,
    expected: ExpectedTasks,
    groups: Sequence[str] | Sequence[Mapping[str, str]],
    known: frozenset[str],
    notes: list[Finding],
) -> RunTable:
    import polars as pl  # as above

    frame = table.frame.collect()
    every = {*known, *frame["task"].to_list()} if expected.names is None else set(expected.names)
    if len(every) > expected.count:
        raise UsageError(
            f"the runs have {len(every):,} tasks, more than the {expected.count:,} of {option('tasks')}",
            hint=f"choose the runs of one dataset with {option('where')}",
        )
    named = sorted(every) + [UNLISTED.format(number=n) for n in range(1, expected.count - len(every) + 1)]
    keys = [_chosen(frame, group) for group in _each_group(frame, groups)]
    keys.sort(key=lambda group: -len(group))  # the tasks of a narrow side are also those of a wider one
    rows: list[dict[str, Any]] = []
    places: list[Place] = []
    for group in keys:
        own = frame.filter(_is_in(frame, group))
        label = key_label(group, group.values()) or "all runs"
        for listed in _lists_of_passes(own):
            part = own if listed is None else own.filter(_is_in(own, listed))
            chosen = {**(listed or {}), **group}
            added = [row for row in rows if all(row.get(key) == value for key, value in chosen.items())]
            tried = {*part["task"].to_list(), *(row["task"] for row in added)}
            absent = [name for name in named if name not in tried]
            if not absent:
                continue
            shared = {name: part[name][0] for name in _SHARED if name in part.columns and part[name].n_unique() == 1}
            passed, outcome = (None, "not_scored") if listed is None else (False, "failed")
            where = label if listed is None else ", ".join(dict.fromkeys((label, *_shown(listed))))
            for name in absent:
                row = {**shared, **chosen, "passed": passed, "outcome": outcome, "task": name}
                row["id"] = f"no run: {where}: {name}"
                rows.append({key: value for key, value in row.items() if key in frame.columns})
            counts = "without a verdict" if listed is None else "counted as failed, since only passes are listed"
            message = f"{len(absent):,} of {expected.count:,} expected tasks have no run ({counts}): {_listed(absent)}"
            places.append(Place(where=where, message=message))
    if _PASSES_ONLY in frame.columns:  # the denominators of all chosen lists are known now
        inside = pl.any_horizontal([_is_in(frame, group) for group in keys]) if keys else pl.lit(value=False)
        frame = frame.with_columns((pl.col(_PASSES_ONLY).fill_null(value=False) & ~inside).alias(_PASSES_ONLY))
    if rows:
        frame = pl.concat(
            [frame, pl.DataFrame(rows, schema_overrides=frame.schema, infer_schema_length=None)], how="diagonal"
        )
        notes.append(Finding(code="missing_tasks", message="expected tasks without a run", places=tuple(places)))
    return replace(table, frame=frame.lazy(), n=frame.height, notes=(*table.notes, *notes), kept={})


_SHARED = ("experiment", "agent", "model", "tier", "tier_scheme")
_PASSES_ONLY = "lists_passes_only"


def _lists_of_passes(own: pl.DataFrame) -> list[dict[str, Any] | None]:  # Any: cells of any type
    """The lists of passed tasks that a group's runs are from, each with its own denominator; [None] for other runs."""
    if own.height == 0:
        return []
    if _PASSES_ONLY not in own.columns:
        return [None]
    names = [name for name in ("experiment", "_path") if name in own.columns]
    lists = own.filter(own[_PASSES_ONLY].fill_null(value=False)).select(names).unique().sort(names)
    return [*lists.to_dicts()] or [None]


def _shown(listed: Mapping[str, Any]) -> list[str]:  # Any: as above
    return [f"experiment {listed['experiment']}"] if listed.get("experiment") else []


def _each_group(
    frame: pl.DataFrame, groups: Sequence[str] | Sequence[Mapping[str, str]]
) -> list[Mapping[str, Any]]:  # Any: cells of any type
    if all(isinstance(group, str) for group in groups):
        names = [str(name) for name in groups if name != "task" and name in frame.columns]
        return [*frame.select(names).unique().sort(names).to_dicts()] if names else [{}]
    return [group for group in groups if not isinstance(group, str)]


def _chosen(frame: pl.DataFrame, group: Mapping[str, Any]) -> dict[str, Any]:  # Any: as above
    """The group's keys as the columns hold them: filters are text."""
    import polars as pl  # as above

    return {
        key: int(value) if isinstance(value, str) and frame.schema.get(key) == pl.Int64 and value.isdigit() else value
        for key, value in group.items()
    }


def _is_in(frame: pl.DataFrame, group: Mapping[str, Any]) -> pl.Expr:  # Any: as above
    import polars as pl  # as above

    inside = pl.col("task").is_not_null()
    for key, value in group.items():
        inside = inside & (pl.col(key).eq_missing(pl.lit(value)) if key in frame.columns else pl.lit(value=False))
    return inside


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
