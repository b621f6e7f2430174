"""Learned versions as they are told: which one, learned when and from how much."""

from __future__ import annotations

from steelyard.records import iso
from steelyard.results import LearnedKind, VersionOf
from steelyard.store import KeptVersion, LearnedVersion


def version_of(kept: LearnedVersion | None) -> VersionOf | None:
    """The version without what it holds; None while there is none."""
    if kept is None:
        return None
    return VersionOf(kind=kept.kind, number=kept.number, made_at=iso(kept.made_at), seen=kept.seen, digest=kept.digest)


def learned_kind(kept: KeptVersion, reason: str | None) -> LearnedKind:
    """What learning came to; `reason` says why nothing could be learned."""
    version, is_new = kept
    return LearnedKind(
        kind=version.kind,
        number=version.number,
        made_at=iso(version.made_at),
        seen=version.seen,
        digest=version.digest,
        is_new=is_new,
        reason=reason,
    )
