"""Which figures each result draws, by name; the first one is its main figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from steelyard.figures import WIDTH, Figure, figure_named
from steelyard.results._arena_evaluations import ProfileComparison
from steelyard.results._arena_figures import (
    bias_dots,
    leader_dots,
    leaderboard_dots,
    leaderboard_strip,
    moved_ranks,
    task_dots,
)
from steelyard.results._arena_leaderboard import AllLeaderboards, Leaderboard, TaskLeaderboard, ToolBias
from steelyard.results._base import Result

Drawing: TypeAlias = Callable[[Any, int], Figure]  # Any: each takes its own kind of result

DRAWINGS: Mapping[type[Result], Mapping[str, Drawing]] = {
    TaskLeaderboard: {"dots": leaderboard_dots, "strip": leaderboard_strip},
    AllLeaderboards: {"dots": task_dots},
    Leaderboard: {"dots": leader_dots},
    ToolBias: {"forest": bias_dots},
    ProfileComparison: {"ranks": moved_ranks},
}


def draw(result: Result, name: str | None, *, width: int | None) -> Figure:
    """Return the figure of that name, or the default one."""
    kind = type(result)
    chosen = figure_named(name, kind.figure_names(), result=kind.__name__)
    return DRAWINGS[kind][chosen](result, WIDTH if width is None else width)
