"""Who leads a task of an arena, and the tasks that there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from steelyard.formatting import counted, decimal_bounds, exact_percent, interval_name
from steelyard.pages import (
    DASH,
    Column,
    Facts,
    OnDemand,
    Page,
    PageLink,
    PageTable,
    count_column,
    id_path,
    minute_of,
    text_column,
    with_figures,
)
from steelyard.reports._arena_lines import REPORTS_FAILURE, unreported_text
from steelyard.reports._arena_tables import settings_named
from steelyard.results import AllLeaderboards, LeaderboardEntry, ScoreInterval, TaskLeaderboard

PARTS = ("efficiency", "speed", "cost", "correctness")
CONTENDERS = 2


def task_page(result: TaskLeaderboard) -> Page:
    """One row a submission: its rank, its score, and the four scores that make it."""
    page = Page(
        name="task",
        title=f"Who leads {result.task_id}, and how reliable is that?",
        answer=_answer(result),
        notes=_notes(result),
        table=PageTable(caption=f"Submissions to {result.task_id}", columns=tuple(_columns(result))),
        legend=("Dots per row: efficiency, speed, cost and correctness from 0 to 100.",) if result.leaderboard else (),
        links=(PageLink(f"History of {result.task_id}", f"{id_path('tasks', result.task_id)}/history"),),
        facts=_facts(result),
    )
    return with_figures(page, result, ("strip",))


def who(agent: str | None, model: str | None) -> str:
    """Whose submission it is, in brackets after its id."""
    names = " / ".join(name for name in (agent, model) if name)
    return f" ({names})" if names else ""


def _named(entry: LeaderboardEntry) -> str:
    return entry.submission_id + who(entry.agent, entry.model)


def _answer(result: TaskLeaderboard) -> str:
    """The leader, how far ahead, and what speaks against trusting it."""
    if not result.leaderboard:
        return "No submissions yet." if not result.n else f"{counted(result.n, 'submission')}, none shown."
    leader = result.leaderboard[0]
    score = getattr(leader, f"{result.sorted_by}_score")
    level = [each for each in result.leaderboard if getattr(each, f"{result.sorted_by}_score") == score]
    by = "" if result.sorted_by == "overall" else f" by {result.sorted_by}"
    if len(level) > 1:
        others = counted(len(level) - 1, "other submission")
        lead = f"{_named(leader)} leads{by} with {score:.2f}, tied with {others}"
    elif len(result.leaderboard) < CONTENDERS:
        lead = f"{_named(leader)} leads{by} with {score:.2f}"
    else:
        second = result.leaderboard[1]
        gap = score - getattr(second, f"{result.sorted_by}_score")
        lead = f"{_named(leader)} leads{by} with {score:.2f}, {gap:.2f} points ahead of {_named(second)}"
    return f"{lead}.{_against(result, leader)}"


def _against(result: TaskLeaderboard, leader: LeaderboardEntry) -> str:
    notes = []
    if not result.reliable:
        notes.append(f"Ranks are unreliable below {result.reliable_from:,} submissions (this task has {result.n:,}).")
    if leader.recommended_action:
        notes.append(f"Flagged for review: {', '.join(leader.flags)}.")
    elif leader.claimed:
        notes.append(f"Its correctness is based on unverified claims: {', '.join(leader.claimed)}.")
    notes += [f"It has no {text}."] if (text := unreported_text(leader.defaulted)) else []
    return "".join(f" {sentence}" for sentence in notes)


def _notes(result: TaskLeaderboard) -> tuple[str, ...]:
    mean = result.confidence_interval
    notes = []
    if mean.estimate is not None:
        notes.append(
            f"The mean score is {mean.estimate:.2f} ({interval_name(mean.level)} {decimal_bounds(mean.low, mean.high)},"
            f" {counted(result.n, 'submission')})."
        )
    flagged = sum(entry.recommended_action is not None for entry in result.leaderboard)
    notes += [f"{counted(flagged, 'submission')} flagged for review."] if flagged else []
    notes += [f"{counted(len(result.excluded), 'submission')} excluded."] if result.excluded else []
    return tuple(notes)


def _columns(result: TaskLeaderboard) -> Iterator[Column]:
    rows, by = result.leaderboard, result.sorted_by
    yield Column(name=f"{by}_ranking", title="rank", values=_each(rows, f"{by}_ranking"), decimals=0)
    yield text_column(
        "submission_id",
        "submission",
        _each(rows, "submission_id"),
        links=OnDemand(rows, lambda row: id_path("submissions", row.submission_id)),
    )
    for name in ("agent", "model", "submitter"):
        if any(getattr(row, name) for row in rows):
            yield text_column(name, name, _each(rows, name))
    yield score_column("overall_score", "overall", _each(rows, "overall_score"))
    parts = OnDemand(rows, lambda row: [getattr(row, f"{name}_score") for name in PARTS])
    yield Column(name="parts", title="parts", values=OnDemand(rows, lambda _: ""), dots=parts)
    for name in PARTS:
        yield score_column(f"{name}_score", name, _each(rows, f"{name}_score"))
    for name in result.extra_score_names():
        yield score_column(name, name.replace("_", " "), [row.extra_scores[name] for row in rows])
    yield Column(name="percentile", title="percentile", values=_each(rows, "percentile"), decimals=1)
    yield text_column("submitted_at", "submitted", OnDemand(rows, lambda row: minute_of(row.submitted_at)))
    if len(result.scored_by) > 1:
        yield text_column("profile", "profile", _each(rows, "profile"))
    if any(row.flags or row.claimed or row.defaulted or row.lower_bounds or row.warnings for row in rows) or any(
        row.hides_failure for row in rows
    ):
        yield text_column("notes", "notes", OnDemand(rows, lambda row: _short_notes(row) or None))


def _each(rows: Sequence[LeaderboardEntry], name: str) -> OnDemand[Any]:  # Any: fields of any type
    return OnDemand(rows, attrgetter(name))


def _short_notes(entry: LeaderboardEntry) -> str:
    """Return the doubts about a rank, short enough for a row; the submission's page lists them in full."""
    flags = counted(len(entry.flags), "flag")
    notes = [f"review ({flags})"] if entry.recommended_action else [flags] if entry.flags else []
    notes += [REPORTS_FAILURE] if entry.hides_failure else []
    for what, names in (
        ("claimed", entry.claimed),
        ("defaulted", entry.defaulted),
        ("lower bound", entry.lower_bounds),
        ("warned", entry.warnings),
    ):
        notes += [f"{len(names)} {what}"] if names else []
    return ", ".join(notes)


def score_column(name: str, title: str, values: Sequence[float | None]) -> Column:
    """A column of scores, which have two decimals."""
    return Column(name=name, title=title, values=values, decimals=2)


def _facts(result: TaskLeaderboard) -> Facts:
    mean = result.confidence_interval
    return (
        ("submissions", f"{result.n:,}" + (f", {len(result.excluded):,} excluded" if result.excluded else "")),
        ("scored by", settings_named(result)),
        ("baseline", f"version {result.baseline_version}, last updated {result.baseline.get('last_updated', DASH)}"),
        (
            "weights",
            ", ".join(f"{name.removesuffix('_weight')} {weight:g}" for name, weight in result.breakdown.items()),
        ),
        *interval_facts(mean),
    )


def interval_facts(mean: ScoreInterval) -> Facts:
    """How the interval for a mean score was made."""
    return (("interval method", f"{mean.method}, n {mean.n:,}"), ("confidence level", exact_percent(mean.level)))


def all_tasks_page(result: AllLeaderboards) -> Page:
    """One row a task: who leads it, and the distribution of its scores."""
    tasks = result.tasks
    leaders = [task.leaderboard[0] if task.leaderboard else None for task in tasks]
    means = [task.confidence_interval for task in tasks]
    columns = (
        text_column(
            "task_id", "task", [task.task_id for task in tasks], links=_links([task.task_id for task in tasks])
        ),
        text_column("category", "category", [task.category for task in tasks]),
        count_column("submissions", "submissions", [task.n for task in tasks]),
        text_column("leader", "leader", [None if leader is None else _named(leader) for leader in leaders]),
        score_column("overall_score", "its score", [None if each is None else each.overall_score for each in leaders]),
        score_column("mean_overall_score", "mean score", [mean.estimate for mean in means]),
        Column(
            name="confidence_interval",
            title="interval",
            values=[None if mean.estimate is None else mean.low for mean in means],
            decimals=2,
            texts=[DASH if mean.estimate is None else decimal_bounds(mean.low, mean.high) for mean in means],
        ),
        text_column("reliable", "solid", ["yes" if task.reliable else "too few" for task in tasks]),
    )
    solid = sum(task.reliable for task in tasks)
    scores = sum(len(task.leaderboard) for task in tasks)
    page = Page(
        name="tasks",
        title="Who leads each task, and how reliable is that?",
        answer=f"{counted(len(tasks), 'task')}; {solid:,} with enough submissions for reliable ranks.",
        notes=(f"{counted(scores, 'submission')}.",) if scores else (),
        table=PageTable(caption="Tasks", columns=columns),
        facts=(("scored by", settings_named(tasks[0])), *interval_facts(means[0])) if tasks else (),
    )
    return with_figures(page, result, ("dots",), tall=False)


def _links(task_ids: Sequence[str]) -> list[str | None]:
    return [id_path("tasks", task_id) for task_id in task_ids]
