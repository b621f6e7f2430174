"""Seasons: frozen leaderboards with a public, verifiable manifest."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import insert, select
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.exc import IntegrityError

from steelyard.arena.ingest import Arena, check_name
from steelyard.arena.ratings._season_manifest import (
    FORMAT,
    KIND,
    MAX_DIFFERENCES,
    Document,
    checks_of,
    digest_of,
    final_leaderboard,
    manifest_of,
)
from steelyard.errors import InputError, UnknownNameError, UsageError
from steelyard.records import is_storable, iso, now_microseconds
from steelyard.results import VerifyCheck
from steelyard.store import look_up
from steelyard.store.schema import seasons, submissions


class StoredSeason(NamedTuple):
    """A frozen leaderboard."""

    name: str
    frozen_at: str
    sha256: str
    manifest: Document


class Verified(NamedTuple):
    """A manifest with the results of its checks."""

    manifest: Document
    sha256: str
    """The recomputed SHA-256."""
    checks: tuple[VerifyCheck, ...]


def freeze(arena: Arena, name: str, *, tasks: Sequence[str] = ()) -> StoredSeason:
    """Store the current leaderboard under a name, with all its inputs. A season never changes."""
    check_name("name of a season", name)

    def work(connection: Connection) -> StoredSeason:
        arena.refresh(connection)
        if connection.execute(select(seasons.c.name).where(seasons.c.name == name)).first() is not None:
            raise _taken(name)
        now = now_microseconds()
        manifest = msgspec.to_builtins(manifest_of(connection, arena, name, tasks, now))
        digest = digest_of(manifest)
        compressed = zlib.compress(msgspec.json.encode(manifest, order="deterministic"))
        connection.execute(insert(seasons).values(name=name, frozen_at=now, sha256=digest, manifest=compressed))
        return StoredSeason(name=name, frozen_at=iso(now), sha256=digest, manifest=manifest)

    try:
        return arena.store.in_transaction(work)
    except IntegrityError as error:  # another process took the name at the same time
        raise _taken(name) from error


def _taken(name: str) -> UsageError:
    return UsageError(f"season {name!r} already exists and cannot be changed", hint="choose another name")


def find_season(arena: Arena, name: str) -> StoredSeason:
    """Return the season of that name with its manifest."""
    with arena.read() as connection:
        row = _row(connection, name)
        if row is None:
            known = connection.execute(select(seasons.c.name)).scalars()
            raise UnknownNameError("season", name[:200], known)
    return StoredSeason(
        name=row["name"],
        frozen_at=iso(row["frozen_at"]),
        sha256=row["sha256"],
        manifest=msgspec.json.decode(zlib.decompress(row["manifest"])),
    )


def verify(document: Any, *, where: str, arena: Arena | None = None) -> Verified:  # Any: a JSON value
    """Check the digest of a season, everything computed from its numbers, and the arena that stored it."""
    manifest, stated = _read(document, where)
    made = digest_of(manifest)
    checks = [VerifyCheck(what="digest", holds=made == stated, reason=None if made == stated else f"computed {made}")]
    try:
        checks += checks_of(manifest)
        checks += _leaderboard_checks(document)
        if arena is not None:
            checks += _kept_checks(arena, manifest, made)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise InputError(f"invalid manifest: {error!r}", where=where) from error
    return Verified(manifest, made, tuple(checks))


def _leaderboard_checks(document: Document) -> Iterator[VerifyCheck]:
    """Check that the leaderboard outside the manifest, which the digest does not cover, is that of the manifest."""
    if "leaderboard" in document:
        holds = document["leaderboard"] == list(msgspec.to_builtins(final_leaderboard(document["manifest"])))
        reason = None if holds else "the leaderboard differs from that of the manifest"
        yield VerifyCheck(what="leaderboard", holds=holds, reason=reason)


def _read(document: Any, where: str) -> tuple[Document, str]:  # Any: a JSON value
    manifest = document.get("manifest") if isinstance(document, dict) else None
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND or not isinstance(document.get("sha256"), str):
        hint = "create one with steelyard arena season create"
        raise InputError("not a season manifest", where=where, hint=hint)
    if manifest.get("format") != FORMAT:
        hint = "use the steelyard version that wrote it, or a newer one"
        raise InputError(
            f"unsupported manifest format {manifest.get('format')}; expected {FORMAT}", where=where, hint=hint
        )
    return manifest, document["sha256"]


def _kept_checks(arena: Arena, manifest: Document, digest: str) -> Iterator[VerifyCheck]:
    """Whether the arena kept this very season, and still has every submission with the content that it had."""
    with arena.read() as connection:
        row = _row(connection, manifest["name"])
        reason = "the store does not contain this season" if row is None else None
        if row is not None and row["sha256"] != digest:
            reason = f"the store has a different manifest for this season (SHA-256 {row['sha256']})"
        yield VerifyCheck(what="kept", holds=reason is None, reason=reason)
        for task in manifest["tasks"]:
            wanted = {entry["id"]: entry["sha256"] for entry in task["submissions"]}
            found = look_up(connection, submissions.c.id, submissions.c.digest, list(wanted))
            wrong = [
                f"{name} {'differs from the store' if name in found else 'is not in the store'}"
                for name, content in wanted.items()
                if found.get(name) != content
            ]
            yield VerifyCheck(
                what="submissions",
                task_id=task["definition"]["id"],
                holds=not wrong,
                reason="; ".join(wrong[:MAX_DIFFERENCES]) or None,
            )


def _row(connection: Connection, name: str) -> RowMapping | None:
    if not is_storable(name):
        return None
    return connection.execute(select(seasons).where(seasons.c.name == name)).mappings().first()
