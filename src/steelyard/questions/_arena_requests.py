"""Untrusted records from HTTP requests. Paths in them are never opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from steelyard.arena import Arena, SubmissionOutcome, people_among
from steelyard.errors import InputError, UsageError
from steelyard.grading import folders_of
from steelyard.prices import open_price_table
from steelyard.questions.arena.submit_runs import FromRuns, submission_of
from steelyard.questions.arena.task_add import AddedTasks, added_tasks
from steelyard.records import (
    JSON_ERRORS,
    DecodeError,
    Rejected,
    RunIds,
    Submission,
    Task,
    Token,
    convert_task,
    decode_run,
    decode_submission,
    json_problem,
)

NumberedLine = tuple[int, bytes]
"""Line of a request and its number, from 1."""
Kind = Literal["submissions", "runs"]


class Intake:
    """Processor of the lines of one request, batch by batch."""

    def __init__(self, arena: Arena, kind: Kind, *, submitter: str | None = None, token: Token | None = None) -> None:
        self._arena, self._token = arena, token
        self._read: Callable[[NumberedLine], Submission] = _submission
        if kind == "runs":
            given, ids = FromRuns(None, open_price_table(), submitter), RunIds()
            self._read = lambda line: _run(line, given, ids)

    def take(self, lines: Sequence[NumberedLine]) -> list[SubmissionOutcome]:
        """Submit the lines and return their outcomes, in order."""
        outcomes = self._arena.submit(self._by_holder([self._read_or_reject(line) for line in lines]))
        return [
            msgspec.structs.replace(outcome, line=number) if isinstance(outcome, Rejected) else outcome
            for (number, _), outcome in zip(lines, outcomes, strict=True)
        ]

    def _by_holder(self, given: list[Submission | Rejected]) -> list[Submission | Rejected]:
        """Check that the token may submit for the submitter of each submission; reject the others.

        A personal token submits only for its owner. Other tokens submit for any unregistered submitter.
        """
        token = self._token
        if token is None:
            return given
        named = {entry.submitter for entry in given if isinstance(entry, Submission) and entry.submitter is not None}
        with self._arena.read() as connection:
            people = people_among(connection, named)
        speaks_for_all = "admin" in token.scopes and token.person is None
        return [
            entry if isinstance(entry, Rejected) or speaks_for_all else _spoken_for(entry, token, people)
            for entry in given
        ]

    def _read_or_reject(self, line: NumberedLine) -> Submission | Rejected:
        try:
            submission = self._read(line)
        except DecodeError as error:
            return Rejected(path="", reason=error.reason, hint=error.hint, code="bad_submission")
        if submission.artifacts is not None:
            hint = "remove them, or run steelyard arena submit on the server"
            reason = "artifacts cannot be sent to a server"
            return Rejected(path=submission.id, reason=reason, hint=hint, code="invalid_artifacts")
        return submission


def _spoken_for(submission: Submission, token: Token, people: frozenset[str]) -> Submission | Rejected:
    named = submission.submitter
    if token.person is not None and named is None:
        return msgspec.structs.replace(submission, submitter=token.person)
    if named == token.holder or (token.person is None and named not in people):
        return submission
    reason = f"token {token.name[:200]!r} cannot submit for {(named or '')[:200]!r}"
    hint = "use a token of that person"
    return Rejected(path=submission.id, reason=reason, hint=hint, code="other_submitter")


def _submission(line: NumberedLine) -> Submission:
    return decode_submission(line[1])


def _run(line: NumberedLine, given: FromRuns, ids: RunIds) -> Submission:
    run = decode_run(line[1])
    if run.id is None:
        name = ids.admit(run, path="", line=line[0])
        assert isinstance(name, str)  # a record without an id is always new
        run = msgspec.structs.replace(run, id=name)
    return submission_of(run, run.task, given)


def refusal_status(rejected: Rejected) -> int:
    """Return the HTTP status of a rejected record."""
    return 409 if rejected.code == "id_with_other_content" else InputError.http_status


def add_task_from(arena: Arena, text: bytes) -> AddedTasks:
    """Add the task in a JSON document."""
    try:
        task = convert_task(msgspec.json.decode(text))
    except JSON_ERRORS as error:
        raise UsageError(json_problem(error), hint="send one task as a JSON object") from error
    except ValueError as error:
        raise InputError(f"invalid task: {error}", hint="steelyard schema task") from error
    _check_folders(task)
    is_new = arena.add_task(task)
    return added_tasks(arena, [(task, is_new)])


def _check_folders(task: Task) -> None:
    for folder, field in folders_of(task).items():
        hint = "run steelyard arena task add on the server"
        raise InputError(f"{field} {folder[:200]!r}: local files cannot be sent to a server", hint=hint)
