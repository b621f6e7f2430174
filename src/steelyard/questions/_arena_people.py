"""Arena users and peer ratings."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from steelyard.arena import (
    Arena,
    Given,
    assign as assign_in,
    fit_arena_weights,
    party_kind,
    rate as rate_in,
    register as register_in,
    weight_versions,
)
from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.questions._arena import opened
from steelyard.questions.arena.rating_pending import Assignments
from steelyard.questions.arena.user_list import Registry
from steelyard.records import Party, now_microseconds
from steelyard.results import ASSIGNMENT_SEED, Rated, WeightVersions


def add_user(
    arena: Arena | str, kind: str, identity: str, *, name: str | None = None, team: str | None = None
) -> Registry:
    """Register or update a person, team or tool; an empty name or team removes it."""
    arena, chosen = opened(arena), party_kind(kind)

    def work(connection: Connection) -> Party:
        return register_in(connection, chosen, identity, display_name=name, team=team, now=now_microseconds())

    return Registry(users=(arena.store.in_transaction(work),))


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
    assigned = assign_in(
        opened(arena), task, reviewers=tuple(reviewers), per_submission=per_submission, seed=seed, unblind=unblind
    )
    return Assignments(assignments=assigned)


def weights(arena: Arena | str, *, fit: bool = False) -> WeightVersions:
    """Return the versions of the weights fitted to ratings; with `fit`, fit a new version first."""
    arena = opened(arena)
    if fit:
        fit_arena_weights(arena)
    return weight_versions(arena)
