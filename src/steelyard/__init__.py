"""Steelyard weighs what AI coding agents deliver against what they cost.

>>> import steelyard as sy
>>> runs = sy.demo_runs()
>>> result = sy.measure(runs, by=["tier"])
>>> result.groups[0].key["tier"]
'T0'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from steelyard._version import __version__

if TYPE_CHECKING:
    from steelyard.arena.arena import Arena
    from steelyard.arena.standings import standings as task_standings
    from steelyard.demo import demo_runs
    from steelyard.errors import SteelyardError
    from steelyard.profiles import Profile, load_profile
    from steelyard.records.finding import Finding
    from steelyard.records.missing import Missing
    from steelyard.records.run import Run
    from steelyard.records.submission import Submission
    from steelyard.records.task import Task
    from steelyard.workflow._open import read_runs as read
    from steelyard.workflow.arena import arena_at as open_arena
    from steelyard.workflow.arena import init_arena
    from steelyard.workflow.compare import compare
    from steelyard.workflow.explain import explain_run as explain
    from steelyard.workflow.gate import gate
    from steelyard.workflow.judges import judges
    from steelyard.workflow.measure import measure
    from steelyard.workflow.options import DifferenceOptions, StandingOptions
    from steelyard.workflow.rank import rank
    from steelyard.workflow.repeat import RepeatOptions, repeat
    from steelyard.workflow.speedup import TaskFiles, speedup

_HOMES = {
    "Arena": "steelyard.arena.arena:Arena",
    "DifferenceOptions": "steelyard.workflow.options:DifferenceOptions",
    "Finding": "steelyard.records.finding:Finding",
    "Missing": "steelyard.records.missing:Missing",
    "Profile": "steelyard.profiles:Profile",
    "RepeatOptions": "steelyard.workflow.repeat:RepeatOptions",
    "Run": "steelyard.records.run:Run",
    "StandingOptions": "steelyard.workflow.options:StandingOptions",
    "SteelyardError": "steelyard.errors:SteelyardError",
    "Submission": "steelyard.records.submission:Submission",
    "Task": "steelyard.records.task:Task",
    "TaskFiles": "steelyard.workflow.speedup:TaskFiles",
    "compare": "steelyard.workflow.compare:compare",
    "demo_runs": "steelyard.demo:demo_runs",
    "explain": "steelyard.workflow.explain:explain_run",
    "gate": "steelyard.workflow.gate:gate",
    "init_arena": "steelyard.workflow.arena:init_arena",
    "judges": "steelyard.workflow.judges:judges",
    "load_profile": "steelyard.profiles:load_profile",
    "measure": "steelyard.workflow.measure:measure",
    "open_arena": "steelyard.workflow.arena:arena_at",
    "rank": "steelyard.workflow.rank:rank",
    "read": "steelyard.workflow._open:read_runs",
    "repeat": "steelyard.workflow.repeat:repeat",
    "speedup": "steelyard.workflow.speedup:speedup",
    "task_standings": "steelyard.arena.standings:standings",
}
"""Where each public name lives; it is imported when it is first used, so `import steelyard` costs nothing."""

__all__ = [
    "Arena",
    "DifferenceOptions",
    "Finding",
    "Missing",
    "Profile",
    "RepeatOptions",
    "Run",
    "StandingOptions",
    "SteelyardError",
    "Submission",
    "Task",
    "TaskFiles",
    "__version__",
    "compare",
    "demo_runs",
    "explain",
    "gate",
    "init_arena",
    "judges",
    "load_profile",
    "measure",
    "open_arena",
    "rank",
    "read",
    "repeat",
    "speedup",
    "task_standings",
]


def __getattr__(name: str) -> Any:  # Any: each public name has its own type, which TYPE_CHECKING shows
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name].split(":")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
