"""How scores went over time, and what changed since a moment."""

from __future__ import annotations

from steelyard.formatting import counted
from steelyard.pages import (
    Page,
    PageLink,
    PageTable,
    count_column,
    id_column,
    id_path,
    number_column,
    text_column,
    time_column,
    with_figures,
)
from steelyard.reports.pages._task import score_column
from steelyard.results import LeaderboardChange, LeaderboardChanges, Review, ScoreHistory, ScoreMoment

REVIEWS_SHOWN = 20


def history_page(result: ScoreHistory) -> Page:
    """One row a submission: its score of the day and the best until then."""
    moments = result.moments
    leads = {moment.submission_id for moment in leads_of(result)}
    columns = (
        time_column("submitted_at", "submitted", [moment.submitted_at for moment in moments]),
        id_column("submission_id", "submission", "submissions", [moment.submission_id for moment in moments]),
        id_column("task_id", "task", "tasks", [moment.task_id for moment in moments]),
        text_column("submitter", "submitter", [moment.submitter for moment in moments]),
        score_column("overall_score", "original score", [moment.overall_score for moment in moments]),
        score_column("best_so_far", "best so far", [moment.best_so_far for moment in moments]),
        text_column("lead", "took the lead", ["yes" if moment.submission_id in leads else None for moment in moments]),
        count_column("baseline_version", "baseline", [moment.baseline_version for moment in moments]),
        text_column("profile", "profile", [moment.profile for moment in moments]),
    )
    page = Page(
        name="history",
        title="Are scores improving? Who took the lead, and when?",
        answer=_answer(result),
        notes=tuple(review_sentence(review) for review in result.reviews[-REVIEWS_SHOWN:]),
        table=PageTable(caption="Original scores", columns=columns),
        links=(PageLink(f"Leaderboard of {result.task_id}", id_path("tasks", result.task_id)),)
        if result.task_id
        else (),
        facts=(
            ("submissions", f"{result.n:,}"),
            ("task", result.task_id or "all"),
            ("submitter", result.submitter or "all"),
            ("trend", "least squares over time"),
            ("baseline versions", f"{len(result.baselines):,}"),
        ),
    )
    return with_figures(page, result, ("trend",))


def leads_of(result: ScoreHistory) -> list[ScoreMoment]:
    """Return the submissions that were better than all earlier ones; none if there are several tasks."""
    leads: list[ScoreMoment] = []
    for moment in result.moments if result.task_id else ():
        if not leads or moment.overall_score > leads[-1].overall_score:
            leads.append(moment)
    return leads


def _answer(result: ScoreHistory) -> str:
    if not result.n:
        return "No submissions yet."
    if result.trend_per_day is None:
        summary = f"{counted(result.n, 'submission')}; no trend: {result.reason}."
    else:
        way = "rise" if result.trend_per_day > 0 else "fall" if result.trend_per_day < 0 else "are constant"
        by = f" by {abs(result.trend_per_day):.4g} points per day" if result.trend_per_day else ""
        summary = f"Scores {way}{by} over {counted(result.n, 'submission')}."
    leads = leads_of(result)
    if not leads:
        return summary
    last = leads[-1]
    return f"{summary} {last.submission_id} took the lead on {last.submitted_at[:10]} with {last.overall_score:.2f}."


def review_sentence(review: Review) -> str:
    """One decision: what, who, when and why."""
    who = f" by {review.by}" if review.by else ""
    why = f": {review.reason}" if review.reason else "."
    return f"{review.submission_id} in {review.task_id} was {review.decision}{who} on {review.decided_at[:10]}{why}"


def changes_page(result: LeaderboardChanges) -> Page:
    """One row for each submission that is new, moved or was excluded."""
    rows: list[tuple[str, LeaderboardChange]] = [(task.task_id, move) for task in result.changes for move in task.moved]
    columns = (
        id_column("task_id", "task", "tasks", [task for task, _ in rows]),
        id_column("submission_id", "submission", "submissions", [move.submission_id for _, move in rows]),
        text_column("change", "change", [_change(move) for _, move in rows]),
        count_column("then_ranking", "rank then", [move.then_ranking for _, move in rows]),
        count_column("now_ranking", "rank now", [move.now_ranking for _, move in rows]),
        number_column("then_score", "score then", [move.then_score for _, move in rows], places=2),
        number_column("now_score", "score now", [move.now_score for _, move in rows], places=2),
    )
    leads = sum(task.then_leader != task.now_leader for task in result.changes)
    since = result.changes[0].since if result.changes else ""
    answer = f"{counted(len(result.changes), 'task')} changed since {since}; {leads:,} with a new leader."
    return Page(
        name="history",
        title="What changed on the leaderboard?",
        answer=answer if result.changes else "Nothing changed.",
        table=PageTable(caption="Changes", columns=columns),
    )


def _change(move: LeaderboardChange) -> str:
    if move.now_ranking is None:
        return "excluded"
    if move.then_ranking is None:
        return "new"
    return "up" if move.now_ranking < move.then_ranking else "down" if move.now_ranking > move.then_ranking else "score"
