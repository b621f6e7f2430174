"""Balanced assignment of reviewers to submissions, never to their own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from steelyard.errors import UsageError
from steelyard.option_names import option


class Entry(NamedTuple):
    """A submission that is to be rated."""

    submission_id: str
    submitter: str | None
    reviewers: frozenset[str]
    """Who is to rate it already."""


def is_own(reviewer: str, submitter: str | None, teams: Mapping[str, str]) -> bool:
    """Whether a submission is a reviewer's own: submitted by them, or by a member of their team."""
    if submitter is None:
        return False
    team = teams.get(reviewer)
    return reviewer == submitter or (team is not None and team == teams.get(submitter))


def choose_reviewers(
    entries: Sequence[Entry], reviewers: Iterable[str], *, per_submission: int, teams: Mapping[str, str], seed: int
) -> dict[str, list[str]]:
    """Return the additional reviewers of each submission.

    The same seed and the same names give the same, whatever their order: a submission's turn and who comes first among
    reviewers with equally much to do go by a digest of the names.
    """
    pool = sorted(set(reviewers))
    load = dict.fromkeys(pool, 0)
    for entry in entries:
        for reviewer in entry.reviewers & load.keys():
            load[reviewer] += 1
    able = {
        entry.submission_id: [reviewer for reviewer in pool if not is_own(reviewer, entry.submitter, teams)]
        for entry in entries
    }
    for entry in entries:
        whole = entry.reviewers.union(able[entry.submission_id])
        if len(whole) < per_submission:
            message = (
                f"not enough eligible reviewers for {entry.submission_id[:200]!r}: {len(whole)} of {per_submission}"
            )
            raise UsageError(message, hint=f"add reviewers, or reduce {option('per_submission')}")
    turns = sorted(entries, key=lambda entry: _digest(seed, entry.submission_id))
    chosen: dict[str, list[str]] = {entry.submission_id: [] for entry in entries}
    for place in range(per_submission):
        for entry in turns:
            identity = entry.submission_id
            if len(entry.reviewers) + len(chosen[identity]) > place:
                continue
            taken = entry.reviewers.union(chosen[identity])
            free = [reviewer for reviewer in able[identity] if reviewer not in taken]
            reviewer = min(free, key=lambda name: (load[name], _digest(seed, identity, name)))
            chosen[identity].append(reviewer)
            load[reviewer] += 1
    _level(turns, chosen, able, load)
    return chosen


def _level(
    entries: Sequence[Entry], chosen: dict[str, list[str]], able: Mapping[str, list[str]], load: dict[str, int]
) -> None:
    """Hand new work from those with most to those with least while their loads differ by more than one."""
    for entry in entries:
        own = chosen[entry.submission_id]
        for place, giver in enumerate(own):
            taken = entry.reviewers.union(own)
            takers = [name for name in able[entry.submission_id] if name not in taken and load[name] + 1 < load[giver]]
            if takers:
                taker = min(takers, key=lambda name: (load[name], name))
                own[place] = taker
                load[giver] -= 1
                load[taker] += 1


def _digest(seed: int, *names: str) -> str:
    return hashlib.sha256("\0".join([str(seed), *names]).encode()).hexdigest()
