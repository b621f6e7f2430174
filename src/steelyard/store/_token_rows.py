"""Stored tokens: created, used, revoked, never deleted. A token is `sytk_<id>_<secret>`; only its digest is stored.

The secret has 256 random bits, so that its plain SHA-256 cannot be turned around by trying.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from steelyard.errors import AuthenticationError, StoreUnavailableError, UnknownNameError, UsageError
from steelyard.records import Scope, Token, is_storable, now_microseconds
from steelyard.store._store import Store
from steelyard.store.schema import parties, tokens

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
        if connection.execute(_in_force(name)).first() is not None:
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
        row = connection.execute(_in_force(name)).mappings().first() if is_storable(name) else None
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


def _in_force(name: str) -> Any:  # Any: a SELECT over all columns
    return select(tokens).where(tokens.c.name == name, tokens.c.revoked_at.is_(None))


def _name_taken(name: str) -> UsageError:
    hint = f"choose another name or revoke it: steelyard serve token revoke {name}"
    return UsageError(f"token {name!r} already exists", hint=hint)


def _digest(whole: str) -> str:
    return hashlib.sha256(whole.encode()).hexdigest()


def _token(row: Mapping[Any, Any]) -> Token:  # Any: a row of the table
    fields = {name: row[name] for name in Token.__struct_fields__}
    return Token(**{**fields, "scopes": tuple(row["scopes"].split(","))})
