"""Who is best across the tasks of an arena."""

from __future__ import annotations

from steelyard.formatting import counted, decimal_bounds, interval_name
from steelyard.pages import Column, Page, PageTable, count_column, text_column, with_figures
from steelyard.reports._arena_lines import leader_unreported_text
from steelyard.reports._arena_tables import settings_named
from steelyard.reports.pages._task import interval_facts, score_column
from steelyard.results import Leader, Leaderboard


def leaders_page(result: Leaderboard) -> Page:
    """One row for each tool, model or submitter: over all tasks first, then within each category."""
    rows = [("all", leader) for leader in result.overall]
    rows += [(category, leader) for category, leaders in result.categories.items() for leader in leaders]
    leaders = [leader for _, leader in rows]
    intervals = [leader.confidence_interval for leader in leaders]
    columns = [count_column("rank", "rank", [leader.rank for leader in leaders])]
    columns += [text_column(key, key, [result.shown(key, leader.key[key]) for leader in leaders]) for key in result.by]
    columns += [text_column("category", "category", [category for category, _ in rows])]
    columns += [
        score_column("mean_score", "mean score", [leader.mean_score for leader in leaders]),
        Column(
            name="confidence_interval",
            title="interval",
            values=[interval.low for interval in intervals],
            decimals=2,
            texts=[decimal_bounds(interval.low, interval.high) for interval in intervals],
        ),
        count_column("tasks", "tasks", [leader.tasks for leader in leaders]),
        count_column("submissions", "submissions", [leader.submissions for leader in leaders]),
        text_column("reliable", "solid", ["yes" if leader.reliable else "too few" for leader in leaders]),
    ]
    page = Page(
        name="rank",
        title="Who leads, and how certain is that?",
        answer=_answer(result),
        notes=_categories(result),
        table=PageTable(caption=f"Mean overall score over tasks, by {', '.join(result.by)}", columns=tuple(columns)),
        facts=(
            ("scored by", settings_named(result)),
            ("mean", "mean per task, averaged over tasks"),
            *(interval_facts(intervals[0]) if intervals else ()),
        ),
    )
    return with_figures(page, result, ("dots",))


def _named(leader: Leader) -> str:
    return " / ".join(name for name in leader.key.values() if name) or "unnamed"


def _answer(result: Leaderboard) -> str:
    """The leader with its interval, and whose intervals reach into it."""
    if not result.overall:
        return "No submissions yet."
    leader, *others = result.overall
    interval = leader.confidence_interval
    answer = (
        f"{_named(leader)} leads with a mean score of {leader.mean_score:.2f} over {counted(leader.tasks, 'task')}"
        f" ({interval_name(interval.level)} {decimal_bounds(interval.low, interval.high)})."
    )
    near = [other for other in others if other.confidence_interval.high >= interval.low]
    if near:
        more = f" and {counted(len(near) - 1, 'other')}" if len(near) > 1 else ""
        answer += f" {_named(near[0])}{more} cannot be distinguished from it (overlapping intervals)."
    answer += f" Scored by a default: {text}." if (text := leader_unreported_text(leader)) else ""
    return answer + ("" if leader.reliable else " Its rank is unreliable: too few submissions.")


def _categories(result: Leaderboard) -> tuple[str, ...]:
    led = {category: leaders[0] for category, leaders in result.categories.items() if leaders}
    return tuple(
        f"{category}: {_named(leader)} leads with {leader.mean_score:.2f}."
        for category, leader in led.items()
        if len(led) > 1
    )
