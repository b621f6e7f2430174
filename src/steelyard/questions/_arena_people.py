"""Arena users and peer ratings."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from steelyard.arena import (
    Arena,
    Given,
    assign as assign_in,
    assignments_of,
    fit_arena_weights,
    party_kind,
    peer_review,
    rate as rate_in,
    read_parties,
    register as register_in,
    weight_versions,
)
from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.questions._arena import opened
from steelyard.records import Party, now_microseconds
from steelyard.results import ASSIGNMENT_SEED, Assignments, PeerReview, Rated, Registry, WeightVersions
from steelyard.statistics import check_level


def add_user(
    arena: Arena | str, kind: str, identity: str, *, name: str | None = None, team: str | None = None
) -> Registry:
    """Register or update a person, team or tool; an empty name or team removes it."""
    arena, chosen = opened(arena), party_kind(kind)

    def work(connection: Connection) -> Party:
        return register_in(connection, chosen, identity, display_name=name, team=team, now=now_microseconds())

    return Registry(users=(arena.store.in_transaction(work),))


def list_users(arena: Arena | str, kind: str | None = None) -> Registry:
    """Return the registered people, teams and tools, optionally of one kind."""
    arena, chosen = opened(arena), None if kind is None else party_kind(kind)
    with arena.read() as connection:
        return Registry(users=tuple(read_parties(connection, chosen)))


def add_rating(
    arena: Arena | str,
    submission: str,
    *,
    reviewer: str,
    score: float,
    criterion: str | None = None,
    comment: str | None = None,
) -> Rated:
    """Rate a submission from 0 to 100, by its id or the blinded name in an assignment; replaces an earlier rating."""
    return rate_in(opened(arena), Given(submission, reviewer, float(score), criterion, comment))


def assign_reviewers(
    arena: Arena | str,
    task: str,
    *,
    reviewers: Sequence[str] = (),
    per_submission: int | None = None,
    seed: int = ASSIGNMENT_SEED,
    unblind: bool = False,
) -> Assignments:
    """Assign reviewers to every submission for a task, balanced and without conflicts of interest."""
    if per_submission is not None and per_submission < 1:
        raise UsageError(
            f"{option('per_submission')} must be at least 1 (got {per_submission})", hint=option("per_submission", 3)
        )
    return assign_in(
        opened(arena), task, reviewers=tuple(reviewers), per_submission=per_submission, seed=seed, unblind=unblind
    )


def pending_ratings(
    arena: Arena | str, *, reviewer: str | None = None, task: str | None = None, unblind: bool = False
) -> Assignments:
    """Return the assigned reviews, blinded unless `unblind` is set."""
    return assignments_of(opened(arena), reviewer=reviewer, task_id=task, unblind=unblind)


def ratings(
    arena: Arena | str,
    task: str | None = None,
    *,
    criterion: str | None = None,
    confidence: float = 0.95,
    unblind: bool = False,
) -> PeerReview:
    """Ratings adjusted for reviewer severity; reviewers are blinded unless `unblind` is set."""
    check_level(confidence)
    return peer_review(opened(arena), task_id=task, criterion=criterion, confidence=confidence, unblind=unblind)


def weights(arena: Arena | str, *, fit: bool = False) -> WeightVersions:
    """Return the versions of the weights fitted to ratings; with `fit`, fit a new version first."""
    arena = opened(arena)
    if fit:
        fit_arena_weights(arena)
    return weight_versions(arena)
