"""Rows that are added and retired, never deleted: tokens, canons and model versions.

A token is `sytk_<id>_<secret>`; only its digest is stored. The secret has 256 random bits, so a plain SHA-256 cannot be
reversed by trying. Model versions are numbered within their kind. A fit reads in one transaction, computes outside of
any, and stores the version in another, so it blocks no writer.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import func, insert, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from steelyard.errors import AuthenticationError, CanonExistsError, StoreUnavailableError, UnknownNameError, UsageError
from steelyard.records import Canon, Scope, Token, is_storable, now_microseconds
from steelyard.store._store import Store
from steelyard.store.schema import canons, models, parties, tokens

_CANON_FIELDS = Canon.__struct_fields__


def set_canon(store: Store, canon: Canon) -> Canon:
    """Set the canon of a prompt; raise CanonExistsError if there is an active one, also one set concurrently."""
    row = {name: getattr(canon, name) for name in _CANON_FIELDS}
    row |= {"set_at": now_microseconds(), "retired_at": None}

    def write(connection: Connection) -> None:
        current = _active_canon(connection, canon.prompt)
        if current is not None:
            raise CanonExistsError(canon.prompt, signature=current.signature)
        connection.execute(insert(canons), row)

    try:
        store.in_transaction(write)
    except IntegrityError as error:
        current = canon_of(store, canon.prompt)
        raise CanonExistsError(canon.prompt, signature=current.signature if current else canon.signature) from error
    return Canon(**row)


def canon_of(store: Store, prompt: str) -> Canon | None:
    """Return the active canon of the prompt; None if there is none."""
    with store.read() as connection:
        return _active_canon(connection, prompt)


def canon_history(store: Store, prompt: str | None = None) -> list[Canon]:
    """Return all canons, including retired ones, of one or all prompts, by prompt and time."""
    query = select(canons).order_by(canons.c.canon_key)
    if prompt is not None and not is_storable(prompt):
        return []
    if prompt is not None:
        query = query.where(canons.c.prompt == prompt)
    with store.read() as connection:
        all_canons = [_canon(row) for row in connection.execute(query).mappings()]
    return sorted(all_canons, key=lambda canon: canon.prompt)  # collation differs between databases


def retire_canon(store: Store, prompt: str) -> Canon:
    """Retire the active canon of the prompt; raise UnknownNameError if there is none."""

    def write(connection: Connection) -> Canon:
        current = _active_canon(connection, prompt)
        if current is None:
            known = select(canons.c.prompt).where(canons.c.retired_at.is_(None))
            raise UnknownNameError("prompt with a canon", prompt, connection.execute(known).scalars())
        at = now_microseconds()
        in_force = (canons.c.prompt == prompt) & canons.c.retired_at.is_(None)
        connection.execute(update(canons).where(in_force).values(retired_at=at))
        return Canon(**{**{name: getattr(current, name) for name in _CANON_FIELDS}, "retired_at": at})

    return store.in_transaction(write)


def _active_canon(connection: Connection, prompt: str) -> Canon | None:
    if not is_storable(prompt):
        return None
    query = select(canons).where(canons.c.prompt == prompt, canons.c.retired_at.is_(None))
    row = connection.execute(query).mappings().first()
    return None if row is None else _canon(row)


def _canon(row: Mapping[Any, Any]) -> Canon:  # Any: a row of the table
    return Canon(**{name: row[name] for name in _CANON_FIELDS})


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


USE_NOTED_EVERY = 10 * 60 * 1_000_000
"""Microseconds between updates of `last_used_at`; each update is a write that makes servers check their views."""
_TOKEN = re.compile(r"sytk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")


def create_token(
    store: Store, name: str, scopes: Iterable[Scope], *, expires_at: int, person: str | None = None
) -> tuple[str, Token]:
    """Create a token and return it with its record; `person` must be registered."""
    token_id = secrets.token_hex(8)
    whole = f"sytk_{token_id}_{secrets.token_urlsafe(32)}"
    token = Token(
        id=token_id,
        name=name,
        scopes=tuple(scopes),
        created_at=now_microseconds(),
        expires_at=expires_at,
        person=person,
    )
    row = {
        "id": token.id,
        "name": name,
        "scopes": ",".join(token.scopes),
        "sha256": _digest(whole),
        "created_at": token.created_at,
        "expires_at": expires_at,
        "person": person,
    }

    def write(connection: Connection) -> None:
        if connection.execute(_active_token(name)).first() is not None:
            raise _name_taken(name)
        people = select(parties.c.id).where(parties.c.kind == "person")
        if person is not None:
            known = is_storable(person) and connection.execute(people.where(parties.c.id == person)).first()
            if not known:
                raise UnknownNameError("person", person[:200], connection.execute(people).scalars())
        connection.execute(insert(tokens), row)

    try:
        store.in_transaction(write)
    except IntegrityError as error:
        raise _name_taken(name) from error
    return whole, token


def list_tokens(store: Store) -> list[Token]:
    """Return all tokens, oldest first."""
    with store.read() as connection:
        return [_token(row) for row in connection.execute(select(tokens).order_by(tokens.c.number)).mappings()]


def revoke_token(store: Store, name: str) -> Token:
    """Revoke the token with this name."""

    def write(connection: Connection) -> Token:
        row = connection.execute(_active_token(name)).mappings().first() if is_storable(name) else None
        if row is None:
            known = select(tokens.c.name).where(tokens.c.revoked_at.is_(None))
            raise UnknownNameError("token", name, connection.execute(known).scalars())
        now = now_microseconds()
        connection.execute(update(tokens).where(tokens.c.number == row["number"]).values(revoked_at=now))
        return _token({**row, "revoked_at": now})

    return store.in_transaction(write)


def authenticate(store: Store, whole: str) -> Token:
    """Return the token; raise AuthenticationError if it is invalid, expired or revoked."""
    match = _TOKEN.fullmatch(whole)
    if match is None:
        raise AuthenticationError("invalid token format")
    with store.read() as connection:
        row = connection.execute(select(tokens).where(tokens.c.id == match[1])).mappings().first()
    if not hmac.compare_digest(_digest(whole), row["sha256"] if row is not None else "") or row is None:
        raise AuthenticationError("unknown token")
    token, now = _token(row), now_microseconds()
    if (state := token.state(now)) != "active":
        raise AuthenticationError(f"token {token.name!r} {'was revoked' if state == 'revoked' else 'has expired'}")
    if token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY:
        noted = update(tokens).where(tokens.c.id == token.id).values(last_used_at=now)
        with suppress(
            StoreUnavailableError
        ):  # a use that cannot be noted, as on a disk that is full, is a use all the same
            store.in_transaction(lambda connection: connection.execute(noted))
    return token


def _active_token(name: str) -> Any:  # Any: a SELECT over all columns
    return select(tokens).where(tokens.c.name == name, tokens.c.revoked_at.is_(None))


def _name_taken(name: str) -> UsageError:
    hint = f"choose another name or revoke it: steelyard serve token revoke {name}"
    return UsageError(f"token {name!r} already exists", hint=hint)


def _digest(whole: str) -> str:
    return hashlib.sha256(whole.encode()).hexdigest()


def _token(row: Mapping[Any, Any]) -> Token:  # Any: a row of the table
    fields = {name: row[name] for name in Token.__struct_fields__}
    return Token(**{**fields, "scopes": tuple(row["scopes"].split(","))})
