"""Arena: the verbs of those who take part: people, teams and tools, and ratings by reviewers."""

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
from steelyard.records import Party, now_microseconds
from steelyard.results import ASSIGNMENT_SEED, Assignments, PeerReview, Rated, Registry, WeightVersions
from steelyard.statistics import check_level
from steelyard.workflow._arena import opened


def register(
    arena: Arena | str, kind: str, identity: str, *, name: str | None = None, team: str | None = None
) -> Registry:
    """Register a person, a team or a tool under its id, or change its display name or team (empty removes it)."""
    arena, chosen = opened(arena), party_kind(kind)

    def work(connection: Connection) -> Party:
        return register_in(connection, chosen, identity, display_name=name, team=team, now=now_microseconds())

    return Registry(parties=(arena.store.in_transaction(work),))


def registry(arena: Arena | str, kind: str | None = None) -> Registry:
    """Everybody registered, of one kind or of all."""
    arena, chosen = opened(arena), None if kind is None else party_kind(kind)
    with arena.read() as connection:
        return Registry(parties=tuple(read_parties(connection, chosen)))


def rate(
    arena: Arena | str,
    submission: str,
    *,
    reviewer: str,
    score: float,
    criterion: str | None = None,
    comment: str | None = None,
) -> Rated:
    """Rate a submission from 0 to 100, by its id or by the entry of an assignment. A later rating replaces."""
    return rate_in(opened(arena), Given(submission, reviewer, float(score), criterion, comment))


def assign(
    arena: Arena | str,
    task: str,
    *,
    reviewers: Sequence[str] = (),
    each: int | None = None,
    seed: int = ASSIGNMENT_SEED,
    names: bool = False,
) -> Assignments:
    """Give every submission to a task so many reviewers: nobody their own, all about as much, the same by one seed."""
    if each is not None and each < 1:
        raise UsageError(f"--each is {each}, and a submission needs a reviewer", hint="--each 3")
    return assign_in(opened(arena), task, reviewers=tuple(reviewers), each=each, seed=seed, names=names)


def assignments(
    arena: Arena | str, *, reviewer: str | None = None, task: str | None = None, names: bool = False
) -> Assignments:
    """Who is to rate what; submissions are blinded unless `names` are asked for."""
    return assignments_of(opened(arena), reviewer=reviewer, task_id=task, names=names)


def ratings(
    arena: Arena | str,
    task: str | None = None,
    *,
    criterion: str | None = None,
    confidence: float = 0.95,
    names: bool = False,
) -> PeerReview:
    """Ratings adjusted for reviewer severity; reviewers are blinded unless `names` are asked for."""
    check_level(confidence)
    return peer_review(opened(arena), task_id=task, criterion=criterion, confidence=confidence, names=names)


def weights(arena: Arena | str, *, fit: bool = False) -> WeightVersions:
    """Return the versions of the weights fitted to ratings; with `fit`, fit a new version first."""
    arena = opened(arena)
    if fit:
        fit_arena_weights(arena)
    return weight_versions(arena)
