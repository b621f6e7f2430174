"""Division of submissions into transactions, with their encoded contents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from steelyard.records import DecodeError, Rejected, Submission, check_submissions, without_inputs

ROWS_PER_TRANSACTION = 20_000


class Portion(NamedTuple):
    """Submissions of one transaction: their numbers among those given, encoded contents and digests."""

    numbers: list[int]
    given: list[Submission]
    encoded: list[bytes | DecodeError]
    digests: list[str]


def read_portion(given: Sequence[Submission | Rejected], numbers: list[int]) -> Portion:
    """Return the submissions with these numbers, validated and encoded."""
    sound: list[Any] = [given[number] for number in numbers]  # Any: `portions` gives the numbers of submissions only
    encoded = check_submissions(sound)
    digests = [
        _digest(text, submission) if isinstance(text, bytes) else ""
        for text, submission in zip(encoded, sound, strict=True)
    ]
    return Portion(numbers, sound, encoded, digests)


def _digest(text: bytes, submission: Submission) -> str:
    plain = without_inputs(submission)
    return hashlib.sha256(text if plain is submission else msgspec.json.encode(plain)).hexdigest()


def portions(given: Sequence[Submission | Rejected]) -> Iterator[list[int]]:
    """The numbers of submissions, whole tasks together, as many as fit into one transaction.

    One to another task than an earlier one of the same id waits for the end: whichever was given first is to be kept.
    """
    by_task: dict[str, list[int]] = {}
    task_of: dict[str, str] = {}
    again: list[int] = []
    for number, submission in enumerate(given):
        if isinstance(submission, Submission):
            # A submission from Python may contain anything; it is validated later.
            task = submission.task_id if type(submission.task_id) is str else ""
            is_first = type(submission.id) is not str or task_of.setdefault(submission.id, task) == task
            (by_task.setdefault(task, []) if is_first else again).append(number)
    portion: list[int] = []
    for _, group in sorted(by_task.items()):
        if portion and len(portion) + len(group) > ROWS_PER_TRANSACTION:
            yield portion
            portion = []
        portion += group
    if portion:
        yield portion
    for start in range(0, len(again), ROWS_PER_TRANSACTION):
        yield again[start : start + ROWS_PER_TRANSACTION]
