"""Top submissions of a task that lost their rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steelyard.arena.scoring._stored_tallies import rank_and_percentile

NOTIFIED_RANKS = 10
"""Ranks whose loss is an event. Notifying about every rank would take as many events as there are pairs of
submissions."""


class RankedRows(NamedTuple):
    """Submissions to one task: their ordinals, and their overall scores in cents."""

    ordinals: np.ndarray
    overall: np.ndarray


class LostRank(NamedTuple):
    """A submission with a lower rank than before."""

    ordinal: int
    overall: int
    previous_ranking: int
    overall_ranking: int
    percentile: float


def lost_ranks(before: RankedRows, after: RankedRows) -> list[LostRank]:
    """Return the top submissions with a lower rank now, best first; those in only one of the two lists lost none."""
    ranks_before = _ranks(before.overall)
    is_notified = ranks_before <= NOTIFIED_RANKS
    previous = dict(zip(before.ordinals[is_notified].tolist(), ranks_before[is_notified].tolist(), strict=True))
    ranks_now, n = _ranks(after.overall), len(after.overall)
    lost = []
    for place in np.flatnonzero(np.isin(after.ordinals, list(previous))).tolist():
        ordinal, rank = int(after.ordinals[place]), int(ranks_now[place])
        if rank > previous[ordinal]:
            overall = int(after.overall[place])
            _, percentile = rank_and_percentile(rank - 1, int((after.overall == overall).sum()), n)
            lost.append(LostRank(ordinal, overall, previous[ordinal], rank, percentile))
    return sorted(lost, key=lambda row: (row.previous_ranking, row.ordinal))


def _ranks(overall: np.ndarray) -> np.ndarray:
    """Competition ranks.

    >>> _ranks(np.array([5, 9, 5, 1])).tolist()
    [2, 1, 2, 4]
    """
    ranks: np.ndarray = len(overall) - np.searchsorted(np.sort(overall), overall, side="right") + 1
    return ranks
