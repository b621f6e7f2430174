"""Speedups that a table states, read by a mapping: one row per benchmark of an attempt, with the ratio and no times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.errors import MappingError
from steelyard.records import Rejected, Run
from steelyard.sources.formats.timings.fceval import Trial, TrialAgent, TrialFile, trial_agent
from steelyard.sources.mappings._mapping import Mapping
from steelyard.sources.mappings._reader import MappedRun, read_mapped

SPEEDUP, REFERENCE, BENCHMARK = "x_speedup", "x_reference_speedup", "x_benchmark"
"""Custom fields of a row: the speedups of the agent and of the reference solution over the unchanged code, and the
benchmark, without which the task is one."""


def mapped_trials(path: Path, mapping: Mapping) -> TrialFile:
    """Return the trials whose speedups the rows of a table state, by task and attempt."""
    rejected: list[Rejected] = []
    rows: dict[tuple[str, int], dict[str, dict[str, Run]]] = {}
    for item in read_mapped(path, mapping):
        if isinstance(item, Rejected):
            rejected.append(item)
        elif isinstance(item, MappedRun):
            problem = _problem(item.run)
            own = rows.setdefault((item.run.task, item.run.attempt or 1), {}).setdefault(_key(item.run), {})
            benchmark = str(_extra(item.run, BENCHMARK) or item.run.task)
            if problem is None and benchmark in own:
                problem = f"benchmark {benchmark!r} of the attempt has two rows"
            if problem is None:
                own[benchmark] = item.run
            else:
                hint = "a row per benchmark; map `attempt` if a task has several"
                rejected.append(Rejected(path=str(path), line=item.line, reason=problem, hint=hint))
    used = [run for agents in rows.values() for own in agents.values() for run in own.values()]
    if used and all(_extra(run, SPEEDUP) is None for run in used):
        reason = f"no row has {SPEEDUP}, the speedup over the unchanged code"
        raise MappingError(reason, where=mapping.name, hint=f'add to the mapping: {SPEEDUP} = "COLUMN"')
    trials = (
        Trial(task, {key: _agent(own) for key, own in agents.items() if own}, None, None)
        for (task, _), agents in sorted(rows.items())
    )
    return TrialFile(str(path), tuple(trial for trial in trials if trial.agents), tuple(rejected))


def _key(run: Run) -> str:
    return ":".join(filter(None, (run.agent, run.model))) or "agent"


def _extra(run: Run, name: str) -> Any:  # Any: a custom field
    return (run.extra or {}).get(name)


def _problem(run: Run) -> str | None:
    """Why the row states no speedup, if it states something else."""
    for name in (SPEEDUP, REFERENCE):
        value = _extra(run, name)
        if value is not None and (isinstance(value, (bool, str)) or value < 0):
            return f"{name} must be a number of at least 0 (got {value!r})"
    return None


def _agent(own: dict[str, Run]) -> TrialAgent:
    speedups = {name: dict(_ratios(run)) for name, run in own.items()}
    verdicts = {run.verdict for run in own.values()} - {None}
    costs = {run.cost_usd for run in own.values()} - {None}
    cost = costs.pop() if len(costs) == 1 else None  # each row states that of the attempt
    payload = {"per_benchmark_speedups": speedups, "task_cost_usd": cost}
    return trial_agent(payload, None, None, None if not verdicts else False not in verdicts)


def _ratios(run: Run) -> Iterator[tuple[str, float]]:
    for key, name in (("agent/nop", SPEEDUP), ("oracle/nop", REFERENCE)):
        value = _extra(run, name)
        if value is not None:
            yield key, value
