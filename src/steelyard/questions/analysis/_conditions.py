"""Conditions of two sides: limits, resources, harness and settings that differ, and what is not claimed then."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from steelyard.errors import UnknownNameError
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.questions.analysis._samples import Mask
from steelyard.records import CONDITIONS, Finding, Place
from steelyard.sources import RunTable

WITHHELD_FOR = ("time_limit_seconds", "time_limit_multiplier", "cpus", "memory_mb", "network", "harness")
"""Conditions that decide results by themselves; versions, endpoint and settings are part of what is compared."""
SAME_CONDITION = {"time_limit_multiplier": "time_limit_seconds"}
"""Conditions that another one's name stands for."""
IGNORABLE = tuple(name for name in CONDITIONS if name not in SAME_CONDITION)


@dataclass(frozen=True, slots=True)
class ConditionDifference:
    """A condition that two sides state differently."""

    name: str
    baseline: str
    candidate: str
    tasks: int
    """Shared tasks on which it differs; 0 where the sides share none."""

    @property
    def is_withheld_for(self) -> bool:
        """Whether no claim can be made."""
        return self.name in WITHHELD_FOR

    @property
    def text(self) -> str:
        """The condition with both values."""
        return f"{SAME_CONDITION.get(self.name, self.name)} {self.baseline} vs. {self.candidate}"


def check_ignored(names: Sequence[str]) -> frozenset[str]:
    """Return the conditions to ignore, validated."""
    for name in names:
        if name not in IGNORABLE:
            raise UnknownNameError("condition", name, IGNORABLE, where=option("ignore_conditions"))
    return frozenset(names)


def condition_rows(table: RunTable, rows: Mask | None = None) -> pl.DataFrame:
    """The tasks and stated conditions of the table's runs, or of those in these rows, each once."""
    present = [name for name in ("task", *CONDITIONS) if name in table.frame.collect_schema().names()]
    if len(present) < 2:
        return pl.DataFrame()
    chosen = table.frame if rows is None else table.frame.filter(pl.Series(rows))
    return chosen.select(present).unique().collect(engine="streaming")


def differing_conditions(
    baseline: pl.DataFrame, candidate: pl.DataFrame, *, chosen: Collection[str], ignored: Collection[str]
) -> list[ConditionDifference]:
    """The conditions that both sides state and in which they differ, on the tasks they share.

    A task may have a limit of its own, so values are compared task by task. `chosen` are fields that select the sides.
    """
    found = []
    for name in CONDITIONS:
        is_ignored = bool({name, SAME_CONDITION.get(name, name)} & {*chosen, *ignored})
        if is_ignored or name not in baseline.columns or name not in candidate.columns:
            continue
        before, after = _by_task(baseline, name), _by_task(candidate, name)
        shared = before.keys() & after.keys()
        differ = sorted(task for task in shared if before[task] != after[task])
        if differ:
            values = (before[differ[0]], after[differ[0]])
        elif not shared and before and after:
            values = (frozenset().union(*before.values()), frozenset().union(*after.values()))
        else:
            continue
        if values[0] != values[1]:
            found.append(ConditionDifference(name, _text(name, values[0]), _text(name, values[1]), len(differ)))
    return found


def _by_task(frame: pl.DataFrame, name: str) -> dict[str, frozenset[object]]:
    """The stated values of each task."""
    stated = frame.select("task", name).drop_nulls().unique()
    values: dict[str, set[object]] = {}
    for task, value in stated.iter_rows():
        values.setdefault(task, set()).add(value)
    return {task: frozenset(own) for task, own in values.items()}


def _text(name: str, values: Collection[object]) -> str:
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in sorted(values, key=str)]
    unit = {"time_limit_seconds": " s", "memory_mb": " MB", "time_limit_multiplier": " x the task's limit"}.get(
        name, ""
    )
    return " or ".join(f"{text[:80]}{unit}" for text in texts[:3])


def conditions_finding(differences: Mapping[str, Sequence[ConditionDifference]]) -> list[Finding]:
    """Return the finding about conditions that differ, by what is compared."""
    places = tuple(
        Place(
            where=where, message=f"{each.text} (on {counted(each.tasks, 'shared task')})" if each.tasks else each.text
        )
        for where, own in differences.items()
        for each in own
    )
    if not places:
        return []
    serious = any(each.is_withheld_for for own in differences.values() for each in own)
    message = "the sides ran under different conditions"
    if serious:
        message += ", so no claim is made; the option ignore_conditions can allow a condition to differ"
    return [
        Finding(code="conditions_differ", severity="warning" if serious else "info", message=message, places=places)
    ]


def withheld_reason(differences: Sequence[ConditionDifference]) -> str | None:
    """Why nothing is claimed: the conditions that decide results and differ; None where none does."""
    serious = [each.text for each in differences if each.is_withheld_for]
    return f"different conditions ({', '.join(serious)})" if serious else None
