"""Stored model versions: numbered within their kind, written once, never changed.

A fit reads in one transaction, computes outside of any, and stores the version in another, so it blocks no writer.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, insert, select
from sqlalchemy.engine import Connection

from steelyard.errors import UnknownNameError
from steelyard.records import now_microseconds
from steelyard.store.schema import models


class ModelVersion(NamedTuple):
    """One version of a model."""

    kind: str
    number: int
    made_at: int
    """Microseconds since 1970."""
    seen: int
    """Number of submissions (or ratings) by then."""
    digest: str
    """Digest of the data in the fit."""
    content: str
    """Fitted model as JSON."""


class KeptVersion(NamedTuple):
    """Result of storing a version."""

    version: ModelVersion
    is_new: bool
    """False if the latest version was fitted to the same data."""


def save_model(connection: Connection, kind: str, *, digest: str, seen: int, content: str) -> KeptVersion:
    """Store the next version, unless the latest one was fitted to the same data."""
    latest = model_version(connection, kind)
    if latest is not None and latest.digest == digest:
        return KeptVersion(latest, is_new=False)
    number = 1 if latest is None else latest.number + 1
    version = ModelVersion(kind, number, now_microseconds(), seen, digest, content)
    # Of two writers at once, PostgreSQL rejects the second number: its transaction is run again and finds the first.
    connection.execute(insert(models), version._asdict())
    return KeptVersion(version, is_new=True)


def model_version(
    connection: Connection, kind: str, number: int | None = None, *, until: int | None = None
) -> ModelVersion | None:
    """Return the version with this number, or the latest (up to a given time); None if there is none."""
    wanted = select(models).where(models.c.kind == kind)
    if until is not None:
        wanted = wanted.where(models.c.made_at <= until)
    if number is not None:
        row = connection.execute(wanted.where(models.c.number == number)).first()
        if row is None:
            known = [str(each.number) for each in model_versions(connection, kind)]
            raise UnknownNameError(f"{kind} version", str(number), known)
    else:
        row = connection.execute(wanted.order_by(models.c.number.desc()).limit(1)).first()
    return None if row is None else ModelVersion(*row)


def model_versions(connection: Connection, kind: str) -> list[ModelVersion]:
    """Return all versions of the kind, oldest first."""
    wanted = select(models).where(models.c.kind == kind).order_by(models.c.number)
    return [ModelVersion(*row) for row in connection.execute(wanted)]


def model_seen(connection: Connection, kind: str) -> int:
    """Return the number of submissions (or ratings) at the latest version; 0 if there is none."""
    seen: int | None = connection.execute(select(func.max(models.c.seen)).where(models.c.kind == kind)).scalar()
    return seen or 0
