"""An arena on a server: the verbs of the one that is opened here, over HTTP."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from steelyard.errors import InputError, RequestError, UsageError
from steelyard.records import (
    DecodeError,
    Rejected,
    Submission,
    Task,
    check_submission,
    check_task,
    convert_submission,
    convert_task,
)
from steelyard.results import (
    ASSIGNMENT_SEED,
    AbilityRanking,
    Assignments,
    CorrectnessEstimates,
    Evaluation,
    Leaderboard,
    LeaderboardChanges,
    Outliers,
    PeerReview,
    PredictedScores,
    Rated,
    Receipt,
    Registry,
    Reviewed,
    ReviewLog,
    ScoreHistory,
    Season,
    Seasons,
    TaskDetails,
    TaskLeaderboard,
    TaskList,
    ToolBias,
    ToolMetrics,
    WeightVersions,
)
from steelyard.settings import TOKEN
from steelyard.surfaces.client._transport import Transport
from steelyard.workflow import submit_files, submit_runs

LINES_AT_ONCE = 1_000
BYTES_AT_ONCE = 4 << 20
PAGE = 1_000
TIMEOUT_SECONDS = 120.0
TIMES_ANEW = 5
"""How often a list is begun again whose version the server no longer has."""
GONE = 410

Answer = TypeVar("Answer")
Outcome = Receipt | Rejected


def connect(url: str, *, token: str | None = None, timeout: float = TIMEOUT_SECONDS) -> RemoteArena:
    """The arena that a server shows at the address. To write it takes a token: given, or in `STEELYARD_TOKEN`.

    An error there is the error that the same call raises on an arena that is opened here. `timeout` is in seconds.
    """
    arena = RemoteArena(Transport(url, token or os.environ.get(TOKEN) or None, timeout=timeout))
    arena.check()
    return arena


class RemoteArena:
    """An arena on a server. Its verbs are those of `sy.open_arena()`."""

    def __init__(self, transport: Transport) -> None:
        self._server = transport

    def __repr__(self) -> str:
        return f"RemoteArena({self._server.url!r})"

    submit_files = submit_files
    submit_runs = submit_runs

    def check(self) -> None:
        """Ask whether the server answers."""
        self._server.get("/healthz")

    def tasks(self) -> list[Task]:
        """Every task, in the order in which they were added."""
        return list(self._whole("/tasks", {}, "tasks", TaskList).tasks)

    def add_task(
        self, given: Task | Mapping[str, Any], *, base_dir: Path | None = None
    ) -> bool:  # Any: the task's fields as JSON has them
        """Add a task; False when the very same one is there. One that names folders is added where they lie."""
        if base_dir is not None:
            raise UsageError(
                "a task with files cannot be added through the server",
                hint="run steelyard arena task add on the server",
            )
        try:
            task = given if isinstance(given, Task) else convert_task(given)
            check_task(task)
        except ValueError as error:
            raise UsageError(f"not a task: {error}") from error
        added = self._server.post("/tasks", task)
        return bool(added["tasks"][0]["new"])

    def submit(
        self,
        given: Iterable[Submission | Mapping[str, Any] | Rejected],
        *,
        artifacts_root: Path | None = None,  # noqa: ARG002 # the server refuses what names artifacts, and says so
        told: Callable[[Sequence[Outcome]], None] | None = None,
    ) -> list[Outcome]:  # Any: the submission's fields as JSON has them
        """The outcome of each submission, in their order. They are sent in portions; each may be sent again safely."""
        outcomes: list[Outcome] = []
        for portion in _portions(map(_line, given)):
            lines = [line for line in portion if isinstance(line, bytes)]
            answers = iter(self._server.post_lines("/submissions", lines)[:-1] if lines else ())
            settled = [line if isinstance(line, Rejected) else _outcome(next(answers)) for line in portion]
            if told is not None:
                told(settled)
            outcomes += settled
        return outcomes

    def review(self, submission_id: str, verb: str, *, by: str | None = None, reason: str | None = None) -> Reviewed:
        """Settle the review of a submission: `accept`, `exclude`, or `reinstate`. The log names the token."""
        _refuse_by(by)
        body = {"decision": verb, "reason": reason}
        return _converted(self._server.post(f"/submissions/{_segment(submission_id)}/review", body), Reviewed)

    def withdraw(self, submission_id: str, *, by: str | None = None, reason: str | None = None) -> Reviewed:
        """Exclude a submission as its submitter, who is the one that the token is named for."""
        _refuse_by(by)
        body = {"reason": reason}
        return _converted(self._server.post(f"/submissions/{_segment(submission_id)}/withdraw", body), Reviewed)

    def task(self, task: str) -> TaskDetails:
        """A task with its baseline, overall and of each tool and model."""
        return _converted(self._server.get(f"/tasks/{_segment(task)}"), TaskDetails)

    def task_leaderboard(
        self,
        task: str,
        *,
        policy: str | None = None,
        confidence: float | None = None,
        sort: str = "overall",
        top: int | None = None,
        until: str | None = None,
        submitter: str | None = None,
        metrics: Sequence[str] = (),
    ) -> TaskLeaderboard:
        """Who leads a task, ordered by one score; `top` leaves out lower places, not their weight.

        With `until`, as they stood at the end of a day or before a time; with `submitter`, only that one's places; with
        `metrics`, what the profile measures of each tool, in `extra_scores`.
        """
        query: dict[str, object] = {"policy": policy, "confidence": confidence, "score": sort, "until": until}
        query |= {"submitter": submitter, "metrics": metrics or None}
        return self._whole(f"/tasks/{_segment(task)}/leaderboard", query, "leaderboard", TaskLeaderboard, top=top)

    def leaderboard(
        self,
        *,
        by: Sequence[str] = ("agent", "model"),
        policy: str | None = None,
        confidence: float | None = None,
        top: int | None = None,
    ) -> Leaderboard:
        """Who leads across all tasks and within each category."""
        query = {"by": by, "policy": policy, "confidence": confidence}
        return _converted(self._server.get("/leaderboard", query), Leaderboard).first(top)

    def show(self, submission: str, *, score: str | None = None) -> Evaluation:
        """One evaluation, explained; `score` explains only that one."""
        return _converted(self._server.get(f"/submissions/{_segment(submission)}", {"score": score}), Evaluation)

    def outliers(self, task: str | None = None) -> Outliers:
        """The submissions to a task (to all) that look too good and that a person should look at."""
        return self._whole("/outliers", {"task": task}, "outliers", Outliers)

    def review_log(self, task: str | None = None) -> ReviewLog:
        """Every decision about the submissions to a task (to all): what, who, when and why."""
        return self._whole("/reviews", {"task": task}, "reviews", ReviewLog)

    def history(
        self, *, task: str | None = None, submitter: str | None = None, team: str | None = None
    ) -> ScoreHistory:
        """How the scores of a task, of a submitter, of a team or of all went, with their trend."""
        path = "/history" if task is None else f"/tasks/{_segment(task)}/history"
        return self._whole(path, {"submitter": submitter, "team": team}, "moments", ScoreHistory)

    def changes(self, *, since: str, task: str | None = None) -> LeaderboardChanges:
        """What changed on the leaderboard since a date or time."""
        return _converted(self._server.get("/changes", {"since": since, "task": task}), LeaderboardChanges)

    def bias(self, *, policy: str | None = None, confidence: float = 0.95) -> ToolBias:
        """Whether a tool does systematically better or worse than the others across tasks."""
        return _converted(self._server.get("/bias", {"policy": policy, "confidence": confidence}), ToolBias)

    def add_user(self, kind: str, identity: str, *, name: str | None = None, team: str | None = None) -> Registry:
        """Register a person, a team or a tool under its id, or change its display name or team."""
        body = {"kind": kind, "id": identity, "name": name, "team": team}
        return _converted(self._server.post("/users", body), Registry)

    def users(self, kind: str | None = None) -> Registry:
        """Everybody registered, of one kind or of all."""
        return self._whole("/users", {"kind": kind}, "parties", Registry)

    def add_rating(
        self,
        submission: str,
        *,
        reviewer: str,
        score: float,
        criterion: str | None = None,
        comment: str | None = None,
    ) -> Rated:
        """Rate a submission from 0 to 100 as the holder of the token, whose id the reviewer's must be."""
        body = {"score": score, "criterion": criterion, "comment": comment}
        rated = _converted(self._server.post(f"/submissions/{_segment(submission)}/ratings", body), Rated)
        if rated.reviewer != reviewer:
            raise UsageError(f"the token rates as {rated.reviewer!r}", hint=f"reviewer={rated.reviewer!r}")
        return rated

    def assign_reviewers(
        self,
        task: str,
        *,
        reviewers: Sequence[str] = (),
        per_submission: int | None = None,
        seed: int = ASSIGNMENT_SEED,
        unblind: bool = False,
    ) -> Assignments:
        """Give every submission to a task so many reviewers: nobody their own, all about as much."""
        _reject_unblind(unblind=unblind)
        body = {"task": task, "reviewers": list(reviewers), "per_submission": per_submission, "seed": seed}
        return _converted(self._server.post("/assignments", body), Assignments)

    def pending_ratings(
        self, *, reviewer: str | None = None, task: str | None = None, unblind: bool = False
    ) -> Assignments:
        """Who is to rate what, blinded."""
        _reject_unblind(unblind=unblind)
        return self._whole("/assignments", {"reviewer": reviewer, "task": task}, "assignments", Assignments)

    def ratings(
        self,
        task: str | None = None,
        *,
        criterion: str | None = None,
        confidence: float = 0.95,
        unblind: bool = False,
    ) -> PeerReview:
        """Ratings adjusted for reviewer severity, blinded."""
        _reject_unblind(unblind=unblind)
        query = {"task": task, "criterion": criterion, "confidence": confidence}
        return _converted(self._server.get("/ratings", query), PeerReview)

    def create_season(self, name: str, *, tasks: Sequence[str] = ()) -> Season:
        """Keep the leaderboard of this moment under a name, with all that made it."""
        return _converted(self._server.post("/seasons", {"name": name, "tasks": list(tasks)}), Season)

    def season(self, name: str) -> Season:
        """The season of that name with its manifest."""
        return _converted(self._server.get(f"/seasons/{_segment(name)}"), Season)

    def seasons(self) -> Seasons:
        """Every season, the first frozen first."""
        return self._whole("/seasons", {}, "seasons", Seasons)

    def agent(self, agent: str) -> ToolMetrics:
        """What the profile measures of one tool, ranked within the tool."""
        return _converted(self._server.get(f"/agents/{_segment(agent)}"), ToolMetrics)

    def weights(self, *, fit: bool = False) -> WeightVersions:
        """Return the versions of the weights fitted to ratings; with `fit`, fit a new version first."""
        told = self._server.post("/weights", {}) if fit else self._server.get("/weights")
        return _converted(told, WeightVersions)

    def abilities(self, *, version: int | None = None) -> AbilityRanking:
        """Tools by ability, beside their plain mean, and tasks by difficulty."""
        return _converted(self._server.get("/abilities", {"version": version}), AbilityRanking)

    def predict(self, task: str, *, version: int | None = None) -> PredictedScores:
        """Return the predicted score of every tool on a task, attempted or not."""
        return _converted(
            self._server.get(f"/tasks/{_segment(task)}/predictions", {"version": version}), PredictedScores
        )

    def correctness(self, task: str | None = None, *, version: int | None = None) -> CorrectnessEstimates:
        """Return the correctness model and its calibration; for a task without tests, also the predictions."""
        return _converted(self._server.get("/correctness", {"task": task, "version": version}), CorrectnessEstimates)

    def _whole(
        self, path: str, query: Mapping[str, object], rows: str, kind: type[Answer], *, top: int | None = None
    ) -> Answer:
        """A list that is told page by page, all of it or its first rows, at one version of the arena."""
        for attempt in range(TIMES_ANEW):
            try:
                return self._pages(path, query, rows, kind, top)
            except RequestError as error:
                if error.http_status != GONE or attempt == TIMES_ANEW - 1:
                    raise
        raise AssertionError("the last attempt either returns or raises")

    def _pages(self, path: str, query: Mapping[str, object], rows: str, kind: type[Answer], top: int | None) -> Answer:
        whole: dict[str, Any] = {}  # Any: JSON values
        items: list[Any] = []  # Any: as above
        after: str | None = None
        while not whole or (after is not None and (top is None or len(items) < top)):
            limit = PAGE if top is None else max(1, min(PAGE, top - len(items)))
            whole = self._server.get(path, {**query, "limit": limit, "after": after})
            items += whole.pop("items")
            after = whole.pop("next")
        return _converted({**whole, rows: items[:top]}, kind)


def _converted(told: dict[str, Any], kind: type[Answer]) -> Answer:  # Any: JSON values
    """The result that a JSON object tells of."""
    if kind is TaskLeaderboard:
        told["task_id"] = told.pop("task")
    return msgspec.convert(told, kind)


def _line(given: Submission | Mapping[str, Any] | Rejected) -> bytes | Rejected:  # Any: JSON values
    """The submission as one line, checked as it would be here."""
    if isinstance(given, Rejected):
        return given
    identity = given.get("id") if isinstance(given, Mapping) else getattr(given, "id", None)
    try:
        return check_submission(given if isinstance(given, Submission) else convert_submission(given))
    except DecodeError as error:
        shown = identity[:200] if isinstance(identity, str) else ""
        return Rejected(path=shown, reason=error.reason, hint=error.hint, code="bad_submission")


def _portions(lines: Iterable[bytes | Rejected]) -> Iterator[list[bytes | Rejected]]:
    """The lines in portions of bounded number and size."""
    portion: list[bytes | Rejected] = []
    size = 0
    for line in lines:
        more = len(line) if isinstance(line, bytes) else 0
        if portion and (len(portion) == LINES_AT_ONCE or size + more > BYTES_AT_ONCE):
            yield portion
            portion, size = [], 0
        portion.append(line)
        size += more
    if portion:
        yield portion


def _outcome(told: dict[str, Any]) -> Outcome:  # Any: JSON values
    if "submission_id" in told:
        return msgspec.convert(told, Receipt)
    return Rejected(path=told.get("where") or "", reason=told["detail"], hint=told.get("hint"), code=told["kind"])


def _segment(name: str) -> str:
    """A name as one part of a path."""
    try:
        return quote(name, safe="")
    except UnicodeEncodeError as error:
        raise InputError(f"{name[:200]!r} is not a string", hint="use plain text") from error


def _reject_unblind(*, unblind: bool) -> None:
    if unblind:
        raise UsageError("a server shows ratings blinded", hint="names=True is for whoever keeps the store")


def _refuse_by(by: str | None) -> None:
    if by is not None:
        raise UsageError("a server logs a decision under the name of the token", hint="leave by= out")
