"""Which figures each result draws, by name; the first one is its main figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from steelyard.errors import UnknownNameError, UsageError
from steelyard.figures import WIDTH, Figure
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
from steelyard.results._review_desk import ReviewDesk

Drawing: TypeAlias = Callable[[Any, int], Figure]  # Any: each takes its own kind of result

DRAWINGS: Mapping[type[Result], Mapping[str, Drawing]] = {
    TaskLeaderboard: {"dots": leaderboard_dots, "strip": leaderboard_strip},
    AllLeaderboards: {"dots": task_dots},
    Leaderboard: {"dots": leader_dots},
    ToolBias: {"forest": bias_dots},
    ReviewDesk: {"forest": bias_dots},
    ProfileComparison: {"ranks": moved_ranks},
}


def figure_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the figures of a kind of result or answer, the default first."""
    if not issubclass(kind, Result):
        names: tuple[str, ...] = kind.figure_names()
        return names
    return tuple(DRAWINGS.get(kind, ()))


def check_figure(kind: type[Any], name: str | None) -> str:
    """Return the name of the figure (default: the first); an unknown name is an error with a suggestion."""
    names = figure_names(kind)
    if not names:
        raise UsageError(f"{kind.__name__} has no figure")
    if name is not None and name not in names:
        error = UnknownNameError("figure", name, names)
        error.hint = f"{error.hint} known: {', '.join(names)}" if error.nearest else error.hint
        raise error
    return name or names[0]


def check_keywords(kind: type[Any], unknown: Iterable[str]) -> None:
    """Reject options that figures do not have, listing the valid options and figures."""
    for keyword in unknown:
        names = ", ".join(repr(name) for name in figure_names(kind))
        drawn = f", where name is {names}" if names else ""
        hint = f"figure(name, width=720){drawn}; select metrics and groups in the call that returned the result"
        raise UsageError(f"figure has no option {keyword!r}", hint=hint)


def draw(result: Result, name: str | None, *, width: int | None) -> Figure:
    """Return the figure of that name, or the default one."""
    kind = type(result)
    chosen = check_figure(kind, name)
    return DRAWINGS[kind][chosen](result, WIDTH if width is None else width)
