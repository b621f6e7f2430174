"""Figures of an arena: leaderboard, scores over time, bias of agents, ranks under two profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.figures import (
    Axis,
    Change,
    Estimate,
    Figure,
    StripValue,
    dots,
    slopes,
    strip,
)
from steelyard.formatting import counted, decimal, decimal_bounds, exact_percent
from steelyard.pages import confidence_text, key_name

if TYPE_CHECKING:
    from steelyard.results._arena_evaluations import ProfileComparison
    from steelyard.results._arena_leaderboard import (
        AllLeaderboards,
        Leaderboard,
        ScoreInterval,
        TaskLeaderboard,
        ToolBias,
    )


def _score(title: str = "Overall score") -> Axis:
    return Axis(title=f"{title}, higher is better", low=0, high=100)


def leaderboard_dots(result: TaskLeaderboard, width: int) -> Figure:
    """The score of each submission, by the score that the leaderboard is ordered by."""
    rows = []
    for entry in result.leaderboard:
        score = getattr(entry, f"{result.sorted_by}_score")
        who = " / ".join(name for name in (entry.agent, entry.model) if name)
        label = f"{entry.submission_id} ({who})" if who else entry.submission_id
        rank = str(getattr(entry, f"{result.sorted_by}_ranking"))
        note = "; ".join(entry.flags) or f"percentile {entry.percentile:g}"
        is_flagged = bool(entry.flags)
        rows.append(Estimate(label=label, value=score, rank=rank, note=note, faint=is_flagged, text=f"{score:.2f}"))
    mean = result.confidence_interval
    note = f"{_submissions_text(result.n)}; {_mean_text(mean)}; profile {result.profile}, {result.policy}"
    note += "" if result.reliable else f"; ranks are unreliable below {result.reliable_from:,} submissions"
    title = f"Leaderboard of {result.task_id}"
    axis = _score(f"{result.sorted_by.capitalize()} score")
    return dots(rows, title=title, axis=axis, note=note, width=width)


def leaderboard_strip(result: TaskLeaderboard, width: int) -> Figure:
    """All scores on one axis, by the score that the leaderboard is ordered by."""
    scores = [
        StripValue(entry.submission_id, getattr(entry, f"{result.sorted_by}_score")) for entry in result.leaderboard
    ]
    mean = result.confidence_interval if result.sorted_by == "overall" else None
    shown = f"{len(scores):,} of {result.n:,}" if len(scores) < result.n else f"{result.n:,}"
    return strip(
        scores,
        title=f"Scores of {result.task_id}",
        axis=_score(f"{result.sorted_by.capitalize()} score"),
        low=None if mean is None or mean.estimate is None else mean.low,
        high=None if mean is None or mean.estimate is None else mean.high,
        note=f"{shown} submissions; {_mean_text(result.confidence_interval)}; baseline v{result.baseline_version}",
        width=width,
    )


def _mean_text(mean: ScoreInterval) -> str:
    if mean.estimate is None:
        return "no scores"
    return f"mean {decimal(mean.estimate)} ({exact_percent(mean.level)} CI {decimal_bounds(mean.low, mean.high)})"


def task_dots(result: AllLeaderboards, width: int) -> Figure:
    """The mean score of each task with its interval."""
    rows = [
        Estimate(
            label=task.task_id,
            value=task.confidence_interval.estimate,
            low=task.confidence_interval.low,
            high=task.confidence_interval.high,
            note=_submissions_text(task.n),
            faint=not task.reliable,
        )
        for task in result.tasks
    ]
    note = f"{counted(len(result.tasks), 'task')}; hollow: too few submissions"
    return dots(rows, title="Mean score by task", axis=_score("Mean overall score"), note=note, width=width)


def leader_dots(result: Leaderboard, width: int) -> Figure:
    """Mean scores over tasks with their intervals."""
    rows = [
        Estimate(
            label=key_name(leader.key, None),
            value=leader.mean_score,
            low=leader.confidence_interval.low,
            high=leader.confidence_interval.high,
            rank=str(leader.rank),
            note=f"{counted(leader.tasks, 'task')}, {_submissions_text(leader.submissions)}",
            text=f"{leader.mean_score:.2f}",
            faint=not leader.reliable,
        )
        for leader in result.overall
    ]
    level = confidence_text(result.overall[0].confidence_interval.level) if result.overall else "no intervals"
    note = f"{level} over tasks; hollow: too few submissions; profile {result.profile}, {result.policy}"
    title = f"Mean score by {', '.join(result.by)}"
    return dots(rows, title=title, axis=_score("Mean overall score"), note=note, width=width)


def bias_dots(result: ToolBias, width: int) -> Figure:
    """Plot the score difference of each tool from the others on shared tasks."""
    rows = [
        Estimate(
            label=each.agent,
            value=each.mean_difference,
            low=each.low,
            high=each.high,
            faint=not each.systematic,
            note=f"{each.tasks:,} tasks" + (f"; {each.reason}" if each.reason else ""),
            text="" if each.mean_difference is None else f"{each.mean_difference:+.2f}",
        )
        for each in result.advantages
    ]
    level = confidence_text(result.advantages[0].level) if result.advantages else "no intervals"
    axis = Axis(title="Score difference from other tools on the same tasks")
    note = f"{level} over tasks; hollow: interval includes 0"
    return dots(rows, title="Systematic advantage by tool", axis=axis, note=note, reference=0.0, width=width)


def moved_ranks(result: ProfileComparison, width: int) -> Figure:
    """Plot the largest rank changes between two profiles."""
    changes = [
        Change(f"{each.submission_id} in {each.task_id}", float(each.first_ranking), float(each.second_ranking))
        for each in result.movers
    ]
    tau = "" if result.mean_kendall_tau is None else f"; mean Kendall's tau {result.mean_kendall_tau:.3f}"
    return slopes(
        changes,
        title=f"Ranks under {result.first} and {result.second}",
        axis=Axis(title="Rank in the task", low=1, down=True),
        before=result.first,
        after=result.second,
        note=f"the {len(changes):,} largest changes among {result.submissions:,} submissions{tau}",
        width=width,
    )


def _submissions_text(count: int) -> str:
    return "1 submission" if count == 1 else f"{count:,} submissions"
