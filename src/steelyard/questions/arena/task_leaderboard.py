"""Rank the submissions to a task.

The leaderboard shows ranks, percentiles, confidence intervals and flags, and marks default values and unverified
claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import (
    NO_CRITERIA,
    Arena,
    LeaderboardEntry,
    Policy,
    RankedScore,
    RankedTask,
    Review,
    ScoredBy,
    ScoreInterval,
    rank_task,
    score_interval,
)
from steelyard.figures import Axis, Estimate, Figure, StripValue, dots, strip
from steelyard.formatting import counted, decimal, decimal_bounds, exact_percent, interval_name, quantity
from steelyard.metrics import catalog
from steelyard.questions._answer import Drawing, Rows
from steelyard.questions._question import Names, Texts, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, score_axis, score_column, spared, weights_text
from steelyard.questions.arena._rankings import (
    DEFAULT_MARK,
    REVIEW_MARK,
    RankingOptions,
    brief_notes,
    mean_facts,
    rank_notes,
    settings_text,
    unreported_text,
)
from steelyard.records import end_of, microseconds_of

if TYPE_CHECKING:
    from steelyard.pages import Column, OnDemand, Page

PARTS = ("efficiency", "speed", "cost", "correctness")
PARTS_LEGEND = "Dots per row: efficiency, speed, cost and correctness from 0 to 100."
FILTERS = ("agent", "model", "submitter")
NOTES_SHOWN = 5


class ScoreOptions(RankingOptions):
    """Options of leaderboards of tasks."""

    score: RankedScore = doc("Score to rank by: overall, efficiency, speed, cost or correctness.", default="overall")


class TaskLeaderboardOptions(ScoreOptions):
    """Options of `arena leaderboard` with a task."""

    task: str = doc("Task id.", kw_only=False)
    until: str | None = doc("The leaderboard at the end of this day, or just before this time.", default=None)
    agent: Texts = doc("Only submissions of this agent; repeatable.", default=())
    model: Texts = doc("Only submissions of this model; repeatable.", default=())
    submitter: Texts = doc("Only submissions by this submitter; repeatable.", default=())
    metrics: Names = doc("Comma-separated agent-specific metrics (tool_metrics in the profile).", default=())


class TaskLeaderboard(ArenaAnswer, frozen=True, kw_only=True):
    """Leaderboard of a task with its settings."""

    rows: ClassVar[Rows] = Rows(
        "leaderboard",
        keep=("profile", "policy", "reliable", "confidence_interval"),
        joined=("defaulted", "claimed", "lower_bounds", "flags", "warnings"),
    )

    task_id: str
    category: str | None
    profile: str
    """The current profile, which determines flags, warnings and the interval."""
    scored_by: tuple[ScoredBy, ...]
    """The profiles of the scores; under `current`, the current one."""
    policy: Policy
    baseline_version: int
    baseline: dict[str, float | str]
    breakdown: dict[str, float]
    """Weights of the four scores in the current profile."""
    n: int
    """Number of included submissions, listed or not."""
    reliable: bool
    """Whether the task has enough submissions for reliable ranks."""
    confidence_interval: ScoreInterval
    """Interval of the task's mean overall score."""
    leaderboard: tuple[LeaderboardEntry, ...]
    sorted_by: RankedScore
    """The score by which the leaderboard is sorted."""
    reliable_from: int
    """Number of submissions required for reliable ranks."""
    criteria: int
    """Number of success criteria; with 0, correctness is 100 by the specification."""
    excluded: tuple[Review, ...]
    """Excluded submissions with the decision."""
    extra_score_versions: dict[str, int]
    """The model version of each score in `extra_scores`."""

    @property
    def about(self) -> str:
        """Number of submissions, task and settings."""
        return f"{len(self.leaderboard):,} of {self.n:,} submissions to {self.task_id}; {self.profile}, {self.policy}"

    @property
    def extra_score_names(self) -> list[str]:
        """The names of extra scores that at least one listed submission has."""
        names = self.leaderboard[0].extra_scores if self.leaderboard else {}
        return [name for name in names if any(one.extra_scores[name] is not None for one in self.leaderboard)]


@arena_question(
    TaskLeaderboardOptions,
    command="arena leaderboard {task}",
    path="/tasks/{task}/leaderboard",
    paged="leaderboard",
    filters=FILTERS,
    examples=({"task": "fix-race", "top": 10}, {"task": "fix-race", "until": "2026-10-31"}),
)
def arena_task_leaderboard(arena: Arena, options: TaskLeaderboardOptions) -> TaskLeaderboard:
    """Return the leaderboard of a task, sorted by one score."""
    is_filtered = any(getattr(options, name) for name in FILTERS)
    ranked = rank_task(
        arena,
        options.task,
        policy=options.policy,
        until=None if options.until is None else microseconds_of(end_of(options.until, option="until")) - 1,
        by=options.score,
        top=None if is_filtered else options.top,
        metrics=options.metrics,
    )
    return leaderboard_of(ranked, options)


def leaderboard_of(ranked: RankedTask, options: ScoreOptions) -> TaskLeaderboard:
    """Return the leaderboard of a ranked task."""
    view, rules = ranked.view, ranked.rules
    task = view.stored_task.task
    n = len(view.rows)
    return TaskLeaderboard(
        task_id=task.id,
        category=task.category,
        profile=rules.name,
        scored_by=ranked.scored_by,
        policy=view.policy,
        baseline_version=view.version,
        baseline=ranked.baseline,
        breakdown=ranked.weights,
        n=n,
        reliable=n >= rules.leaderboard.reliable_from,
        confidence_interval=score_interval(view.counts(), rules.interval, confidence=options.confidence),
        leaderboard=ranked.entries,
        sorted_by=options.score,
        reliable_from=rules.leaderboard.reliable_from,
        criteria=len(task.success_criteria),
        excluded=tuple(logged.review for _, logged in sorted(view.decisions.excluded.items())),
        extra_score_versions=ranked.versions,
    )


def page(answer: TaskLeaderboard) -> Page:
    """Return one row per submission: its rank, its scores, and what limits its rank."""
    task = f"{answer.task_id} ({answer.category})" if answer.category else answer.task_id
    caption = f"Submissions to {task}, {settings_text(answer)}, baseline version {answer.baseline_version}"
    made = pages.Page(
        name="task",
        title=f"Who leads {answer.task_id}, and how reliable is that?",
        answer=_sentence(answer),
        notes=tuple(_notes(answer)),
        table=pages.PageTable(caption=caption, columns=tuple(_columns(answer))),
        links=(pages.PageLink(f"History of {answer.task_id}", f"{pages.id_path('tasks', answer.task_id)}/history"),),
        facts=(
            ("submissions", f"{answer.n:,}" + (f", {len(answer.excluded):,} excluded" if answer.excluded else "")),
            ("scored by", settings_text(answer)),
            (
                "baseline",
                f"version {answer.baseline_version}, last updated {answer.baseline.get('last_updated', pages.DASH)}",
            ),
            ("weights", weights_text(answer.breakdown)),
            *mean_facts(answer.confidence_interval),
        ),
    )
    return pages.with_figures(made, answer, ("strip",))


def entry_name(entry: LeaderboardEntry) -> str:
    """Return the id of a submission with its agent and model."""
    names = " / ".join(name for name in (entry.agent, entry.model) if name)
    return f"{entry.submission_id} ({names})" if names else entry.submission_id


def _sentence(answer: TaskLeaderboard) -> str:
    """Return the leader, its distance to the next one, and what limits its rank."""
    if not answer.leaderboard:
        return "No submissions yet." if not answer.n else f"{counted(answer.n, 'submission')}, none shown."
    leader = answer.leaderboard[0]
    score = getattr(leader, f"{answer.sorted_by}_score")
    level = [each for each in answer.leaderboard if getattr(each, f"{answer.sorted_by}_score") == score]
    by = "" if answer.sorted_by == "overall" else f" by {answer.sorted_by}"
    lead = f"{entry_name(leader)} leads{by} with {score:.2f}"
    if len(level) > 1:
        lead += f", tied with {counted(len(level) - 1, 'other submission')}"
    elif len(answer.leaderboard) > 1:
        second = answer.leaderboard[1]
        gap = score - getattr(second, f"{answer.sorted_by}_score")
        lead += f", {gap:.2f} points ahead of {entry_name(second)}"
    return " ".join([f"{lead}.", *_doubts(answer, leader)])


def _doubts(answer: TaskLeaderboard, leader: LeaderboardEntry) -> Iterator[str]:
    if not answer.reliable:
        yield f"Ranks are unreliable below {answer.reliable_from:,} submissions (this task has {answer.n:,})."
    if leader.recommended_action:
        yield f"Flagged for review: {', '.join(leader.flags)}."
    elif leader.claimed:
        yield f"Its correctness is based on unverified claims: {', '.join(leader.claimed)}."
    if text := unreported_text(leader.defaulted):
        yield f"It has no {text}."


def _notes(answer: TaskLeaderboard) -> Iterator[str]:
    mean = answer.confidence_interval
    if mean.estimate is not None:
        yield (
            f"The mean score is {mean.estimate:.2f} ({interval_name(mean.level)} {decimal_bounds(mean.low, mean.high)},"
            f" {mean.method}, {counted(answer.n, 'submission')})."
        )
    if flagged := sum(entry.recommended_action is not None for entry in answer.leaderboard):
        yield f"{counted(flagged, 'submission')} flagged for review."
    if answer.excluded:
        yield f"{counted(len(answer.excluded), 'submission')} excluded."
    if not answer.criteria:
        yield f"The task has {NO_CRITERIA}."


def _columns(answer: TaskLeaderboard) -> Iterator[Column]:
    """Yield the columns; cells are created on demand, because a page shows few rows of many."""
    rows, by = answer.leaderboard, answer.sorted_by
    spare = {"overall": 0, "efficiency": 2, "speed": 1, "cost": 1, "correctness": 1}
    rank = "rank" if by == "overall" else f"{by} rank"
    yield pages.Column(name=f"{by}_ranking", title=rank, values=_each(rows, f"{by}_ranking"), decimals=0)
    yield pages.Column(
        name="submission_id",
        title="submission",
        values=_each(rows, "submission_id"),
        texts=_on_demand(rows, lambda row: f"{row.submission_id}{REVIEW_MARK if row.recommended_action else ''}"),
        links=_on_demand(rows, lambda row: pages.id_path("submissions", row.submission_id)),
    )
    for name, dropped in (("agent", 0), ("model", 0), ("submitter", 4)):
        if any(getattr(row, name) for row in rows):
            yield spared(pages.text_column(name, name, _each(rows, name)), dropped)
    yield pages.Column(name="percentile", title="percentile", values=_each(rows, "percentile"), decimals=1, spare=3)
    submitted = _on_demand(rows, lambda row: pages.minute_of(row.submitted_at))
    yield spared(pages.text_column("submitted_at", "submitted", submitted), 6)
    yield spared(score_column("overall_score", "overall", _each(rows, "overall_score")), 0)
    dots_of = _on_demand(rows, lambda row: [getattr(row, f"{name}_score") for name in PARTS])
    blank = _on_demand(rows, lambda _: "")
    yield pages.Column(name="parts", title="parts", values=blank, dots=dots_of, legend=PARTS_LEGEND)
    for name in PARTS:
        column = score_column(f"{name}_score", name, _each(rows, f"{name}_score"))
        yield spared(_marked(column, rows), 0 if name == by else spare[name])
    yield spared(score_column("adjusted_score", "adjusted", _each(rows, "adjusted_score")), 5)
    for name in answer.extra_score_names:
        values = [row.extra_scores[name] for row in rows]
        texts = [_extra_text(name, value) for value in values]
        title = name.replace("_", " ")
        yield pages.Column(name=name, title=title, values=values, decimals=2, texts=texts, spare=3)
    if len(answer.scored_by) > 1:
        yield pages.text_column("profile", "profile", _each(rows, "profile"))
    yield pages.Column(
        name="notes",
        title="notes",
        values=_on_demand(rows, lambda row: "; ".join(rank_notes(row)) or None),
        brief=_on_demand(rows, brief_notes),
        spare=4,
        instead=lambda: _counted_notes(rows),
    )


def _on_demand(rows: Sequence[LeaderboardEntry], made: Callable[[LeaderboardEntry], Any]) -> OnDemand[Any]:
    return pages.OnDemand(rows, made)


def _each(rows: Sequence[LeaderboardEntry], name: str) -> OnDemand[Any]:  # Any: fields of any type
    return pages.OnDemand(rows, attrgetter(name))


def _marked(column: Column, rows: Sequence[LeaderboardEntry]) -> Column:
    """Return a column of scores with a mark at default scores."""
    unreported = {"cost_score": "estimated_cost", "speed_score": "execution_time"}.get(column.name)
    if unreported is None:
        return column
    return replace(
        column,
        texts=_on_demand(
            rows,
            lambda row: f"{getattr(row, column.name):.2f}{DEFAULT_MARK if unreported in row.defaulted else ''}",
        ),
    )


def _extra_text(name: str, value: float | None) -> str:
    if value is None:
        return pages.DASH
    if name in catalog():
        return quantity(value, catalog()[name].unit)
    return f"{value:.0f}" if name.endswith("_ranking") else f"{value:.2f}"


def _counted_notes(rows: Sequence[LeaderboardEntry]) -> str:
    """Return each note with its number of rows, for terminals without room for the notes."""
    counts = Counter(note for entry in rows for note in rank_notes(entry))
    notes = [f"{note} ({counted(count, 'row')})" for note, count in counts.most_common(NOTES_SHOWN)]
    notes += [f"{len(counts) - NOTES_SHOWN:,} more"] if len(counts) > NOTES_SHOWN else []
    return f"Notes: {'; '.join(notes)}" if notes else ""


def _dots(answer: TaskLeaderboard, width: int) -> Figure:
    """Draw the score of each submission, by which the leaderboard is sorted."""
    rows = []
    for entry in answer.leaderboard:
        score = getattr(entry, f"{answer.sorted_by}_score")
        rank = str(getattr(entry, f"{answer.sorted_by}_ranking"))
        note = "; ".join(entry.flags) or f"percentile {entry.percentile:g}"
        rows.append(
            Estimate(
                label=entry_name(entry), value=score, rank=rank, note=note, faint=bool(entry.flags), text=f"{score:.2f}"
            )
        )
    mean = answer.confidence_interval
    note = f"{counted(answer.n, 'submission')}; {_mean_text(mean)}; profile {answer.profile}, {answer.policy}"
    note += "" if answer.reliable else f"; ranks are unreliable below {answer.reliable_from:,} submissions"
    title = f"Leaderboard of {answer.task_id}"
    return dots(rows, title=title, axis=_axis(answer), note=note, width=width)


def _strip(answer: TaskLeaderboard, width: int) -> Figure:
    """Draw all scores on one axis."""
    scores = [
        StripValue(entry.submission_id, getattr(entry, f"{answer.sorted_by}_score")) for entry in answer.leaderboard
    ]
    mean = answer.confidence_interval if answer.sorted_by == "overall" else None
    shown = f"{len(scores):,} of {answer.n:,}" if len(scores) < answer.n else f"{answer.n:,}"
    return strip(
        scores,
        title=f"Scores of {answer.task_id}",
        axis=_axis(answer),
        low=None if mean is None or mean.estimate is None else mean.low,
        high=None if mean is None or mean.estimate is None else mean.high,
        note=f"{shown} submissions; {_mean_text(answer.confidence_interval)}; baseline v{answer.baseline_version}",
        width=width,
    )


def _axis(answer: TaskLeaderboard) -> Axis:
    return score_axis(f"{answer.sorted_by.capitalize()} score")


def _mean_text(mean: ScoreInterval) -> str:
    if mean.estimate is None:
        return "no scores"
    return f"mean {decimal(mean.estimate)} ({exact_percent(mean.level)} CI {decimal_bounds(mean.low, mean.high)})"


DRAWINGS: Mapping[str, Drawing] = {"dots": _dots, "strip": _strip}
"""Figures of the answer."""
