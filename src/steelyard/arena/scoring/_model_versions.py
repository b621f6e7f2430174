"""Model versions with their metadata."""

from __future__ import annotations

from steelyard.records import iso
from steelyard.results import FittedModel, VersionOf
from steelyard.store import KeptVersion, ModelVersion


def version_of(kept: ModelVersion | None) -> VersionOf | None:
    """The version without what it holds; None while there is none."""
    if kept is None:
        return None
    return VersionOf(kind=kept.kind, number=kept.number, made_at=iso(kept.made_at), seen=kept.seen, digest=kept.digest)


def fitted_model(kept: KeptVersion, reason: str | None) -> FittedModel:
    """Return the result of a fit; `reason` explains a missing model."""
    version, is_new = kept
    return FittedModel(
        kind=version.kind,
        number=version.number,
        made_at=iso(version.made_at),
        seen=version.seen,
        digest=version.digest,
        is_new=is_new,
        reason=reason,
    )
