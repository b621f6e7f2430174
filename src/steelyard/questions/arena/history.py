"""Show scores over time.

Scores are those at the time of submission. The trend is the least-squares slope over time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from sqlalchemy import select

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, Review, find_task, points, read_parties, read_reviews, read_rules_history, teams_of
from steelyard.errors import UnknownNameError
from steelyard.figures import Figure, TrendMark, TrendPoint, trend
from steelyard.formatting import counted
from steelyard.questions._answer import Drawing, Part, Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, score_axis, score_column, spared, time_from
from steelyard.records import DAY, is_storable, iso
from steelyard.store.schema import baselines, submissions, tasks

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from steelyard.pages import Page

MAX_NAMES = 10_000
"""Number of names searched for a suggestion."""
NOTES_SHOWN = 20
"""Latest baselines and review decisions in notes."""


class HistoryOptions(Options):
    """Options of `arena history`."""

    task: str | None = doc("Only this task.", default=None)
    submitter: str | None = doc("Only this submitter.", default=None)
    team: str | None = doc("Only members of this team.", default=None)


class ScoreMoment(Part, frozen=True, kw_only=True):
    """A submission with its original score."""

    submission_id: str
    task_id: str
    submitter: str | None
    submitted_at: str
    overall_score: float
    best_so_far: float
    baseline_version: int
    profile: str
    """The profile in effect at that time."""


class ScoreHistory(ArenaAnswer, frozen=True, kw_only=True):
    """Original scores in order of submission, with their trend."""

    rows: ClassVar[Rows] = Rows("moments")

    task_id: str | None
    submitter: str | None
    team: str | None
    """The selected team; None for all."""
    n: int
    trend_per_day: float | None
    """Score points per day by least squares; None with a reason."""
    reason: str | None
    moments: tuple[ScoreMoment, ...]
    baselines: tuple[dict[str, float | str], ...]
    """Versions of the task's baseline, with the number of submissions at which each started."""
    reviews: tuple[Review, ...]
    """Review decisions, in order. Submissions that are excluded now are not in the history."""

    @property
    def about(self) -> str:
        """Number of submissions, task and submitter."""
        return f"{counted(self.n, 'submission')}, task {self.task_id or 'any'}, submitter {self.submitter or 'any'}"

    @property
    def leads(self) -> list[ScoreMoment]:
        """Submissions that were better than all earlier ones; none if there are several tasks."""
        leads: list[ScoreMoment] = []
        for moment in self.moments if self.task_id else ():
            if not leads or moment.overall_score > leads[-1].overall_score:
                leads.append(moment)
        return leads


@arena_question(HistoryOptions, path="/history", paged="moments", examples=({"submitter": "ada"}, {"task": "fix-race"}))
def arena_history(arena: Arena, options: HistoryOptions) -> ScoreHistory:
    """Return original scores in order of submission, with their trend."""
    wanted = select(submissions, tasks.c.id.label("task_id")).join(tasks, tasks.c.task_key == submissions.c.task_key)
    versions: list[dict[str, float | str]] = []
    with arena.read() as connection:
        if options.task is not None:
            key = find_task(connection, options.task, arena.rules).key
            wanted = wanted.where(submissions.c.task_key == key)
            versions = _versions(connection, key)
        if options.submitter is not None:
            _check_submitter(connection, options.submitter)
            wanted = wanted.where(submissions.c.submitter == options.submitter)
        if options.team is not None:
            wanted = wanted.where(submissions.c.submitter.in_(_members(connection, options.team)))
        # Collation differs between databases, so sort in Python.
        selected = connection.execute(wanted).mappings()
        rows = sorted(selected, key=lambda row: (row["submitted_at"], row["id"]))
        rules_history = read_rules_history(connection)
        own_rows = {(row["task_key"], row["ordinal"]) for row in rows}
        log = [logged for logged in read_reviews(connection) if (logged.task_key, logged.ordinal) in own_rows]
    rows = [row for row in rows if row["excluded_at"] is None]
    moments = []
    best = 0
    for row in rows:
        best = max(best, row["overall"])
        moments.append(
            ScoreMoment(
                submission_id=row["id"],
                task_id=row["task_id"],
                submitter=row["submitter"],
                submitted_at=iso(row["submitted_at"]),
                overall_score=points(row["overall"]),
                best_so_far=points(best),
                baseline_version=row["baseline_version"],
                profile=rules_history.of(row["task_key"], row["ordinal"]).rules.name,
            )
        )
    trend, reason = slope_per_day([row["submitted_at"] for row in rows], [row["overall"] for row in rows])
    return ScoreHistory(
        task_id=options.task,
        submitter=options.submitter,
        team=options.team,
        n=len(rows),
        trend_per_day=trend,
        reason=reason,
        moments=tuple(moments),
        baselines=tuple(versions),
        reviews=tuple(logged.review for logged in log),
    )


def _versions(connection: Connection, task_key: int) -> list[dict[str, float | str]]:
    """Return the versions of a task's baseline, in order."""
    own = select(baselines).where(baselines.c.task_key == task_key).order_by(baselines.c.version)
    left_out = ("task_key", "created_at")
    return [
        {name: value for name, value in row.items() if name not in left_out} | {"created_at": iso(row["created_at"])}
        for row in connection.execute(own).mappings()
    ]


def _check_submitter(connection: Connection, name: str) -> None:
    """Reject a name without submissions."""
    if is_storable(name):
        by_name = select(submissions.c.ordinal).where(submissions.c.submitter == name)
        if connection.execute(by_name.limit(1)).first() is not None:
            return
    names = select(submissions.c.submitter).where(submissions.c.submitter.is_not(None)).distinct()
    raise UnknownNameError("submitter", name[:200], connection.execute(names.limit(MAX_NAMES)).scalars())


def _members(connection: Connection, team: str) -> list[str]:
    """Return the people who are in a team now."""
    known = [party.id for party in read_parties(connection, "team")]
    if team not in known:
        raise UnknownNameError("team", team[:200], known)
    return [person for person, own in teams_of(connection).items() if own == team]


def slope_per_day(moments: list[int], scores: list[int]) -> tuple[float | None, str | None]:
    """Return points per day by least squares, or None and the reason. Sums are of integers, so order has no effect."""
    n = len(moments)
    if n < 3:
        return None, f"not enough submissions for a trend: {n} of 3"
    first = min(moments)
    times = [moment - first for moment in moments]
    spread = n * sum(time * time for time in times) - sum(times) ** 2
    if spread == 0:
        return None, "all submissions have the same timestamp"
    together = n * sum(time * value for time, value in zip(times, scores, strict=True)) - sum(times) * sum(scores)
    slope = together / spread * DAY / 100
    return (slope, None) if math.isfinite(slope) else (None, "submission times are too close together")


def page(answer: ScoreHistory) -> Page:
    """Return one row per submission: its original score and the best until then."""
    moments = answer.moments
    leads = {moment.submission_id for moment in answer.leads}
    columns = (
        pages.time_column("submitted_at", "submitted", [moment.submitted_at for moment in moments]),
        pages.id_column("submission_id", "submission", "submissions", [moment.submission_id for moment in moments]),
        pages.id_column("task_id", "task", "tasks", [moment.task_id for moment in moments]),
        spared(pages.text_column("submitter", "submitter", [moment.submitter for moment in moments])),
        score_column("overall_score", "original score", [moment.overall_score for moment in moments]),
        score_column("best_so_far", "best so far", [moment.best_so_far for moment in moments]),
        spared(
            pages.text_column(
                "lead", "took the lead", ["yes" if moment.submission_id in leads else None for moment in moments]
            ),
            3,
        ),
        spared(pages.count_column("baseline_version", "baseline", [moment.baseline_version for moment in moments]), 2),
        spared(pages.text_column("profile", "profile", [moment.profile for moment in moments]), 3),
    )
    notes = [
        f"Baseline {version['version']} from {counted(int(version['from_n']), 'submission')}."
        for version in answer.baselines[-NOTES_SHOWN:]
    ]
    notes += [review.sentence for review in answer.reviews[-NOTES_SHOWN:]]
    made = pages.Page(
        name="history",
        title="Are scores improving? Who took the lead, and when?",
        answer=_sentence(answer),
        notes=tuple(notes),
        table=pages.PageTable(caption="Original scores", columns=columns),
        links=(pages.PageLink(f"Leaderboard of {answer.task_id}", pages.id_path("tasks", answer.task_id)),)
        if answer.task_id
        else (),
        facts=(
            ("submissions", f"{answer.n:,}"),
            ("task", answer.task_id or "all"),
            ("submitter", answer.submitter or "all"),
            ("trend", "least squares over time"),
            ("baseline versions", f"{len(answer.baselines):,}"),
        ),
    )
    return pages.with_figures(made, answer, ("trend",))


def _sentence(answer: ScoreHistory) -> str:
    if not answer.n:
        return "No submissions yet."
    if answer.trend_per_day is None:
        summary = f"{counted(answer.n, 'submission')}; no trend: {answer.reason}."
    else:
        way = "rise" if answer.trend_per_day > 0 else "fall" if answer.trend_per_day < 0 else "are constant"
        by = f" by {abs(answer.trend_per_day):.4g} points per day" if answer.trend_per_day else ""
        summary = f"Scores {way}{by} over {counted(answer.n, 'submission')}."
    if not answer.leads:
        return summary
    last = answer.leads[-1]
    return f"{summary} {last.submission_id} took the lead on {last.submitted_at[:10]} with {last.overall_score:.2f}."


def _trend(answer: ScoreHistory, width: int) -> Figure:
    """Draw original scores, the best so far, and changes of baseline or profile."""
    points = [
        TrendPoint(time_from(each.submitted_at), each.overall_score, each.submission_id, each.best_so_far)
        for each in answer.moments
    ]
    whose = " of ".join(name for name in (answer.task_id, answer.submitter) if name) or "all tasks"
    slope = "" if answer.trend_per_day is None else f", {answer.trend_per_day:+.2f} points per day"
    return trend(
        points,
        title=f"Scores over time: {whose}",
        axis=score_axis("Original overall score"),
        marks=_changes(answer.moments) if answer.task_id else (),
        note=f"{counted(answer.n, 'submission')}{slope}; line: best so far",
        width=width,
    )


def _changes(moments: tuple[ScoreMoment, ...]) -> list[TrendMark]:
    """Return where the baseline or the profile differs from that of the submission before."""
    marks = []
    for before, after in pairwise(moments):
        if after.profile != before.profile:
            marks.append(TrendMark(time_from(after.submitted_at), f"profile {after.profile}"))
        elif after.baseline_version != before.baseline_version:
            marks.append(TrendMark(time_from(after.submitted_at), f"baseline {after.baseline_version}"))
    return marks


DRAWINGS: Mapping[str, Drawing] = {"trend": _trend}
"""Figures of the answer."""
