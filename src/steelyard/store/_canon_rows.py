"""Stored canons: never changed, only retired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from steelyard.errors import CanonExistsError, UnknownNameError
from steelyard.records import Canon, is_storable, now_microseconds
from steelyard.store._store import Store
from steelyard.store.schema import canons

_FIELDS = Canon.__struct_fields__


def set_canon(store: Store, canon: Canon) -> Canon:
    """Set the canon of a prompt; raise CanonExistsError if there is an active one, also one set concurrently."""
    row = {name: getattr(canon, name) for name in _FIELDS}
    row |= {"set_at": now_microseconds(), "retired_at": None}

    def write(connection: Connection) -> None:
        current = _in_force(connection, canon.prompt)
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
        return _in_force(connection, prompt)


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
        current = _in_force(connection, prompt)
        if current is None:
            known = select(canons.c.prompt).where(canons.c.retired_at.is_(None))
            raise UnknownNameError("prompt with a canon", prompt, connection.execute(known).scalars())
        at = now_microseconds()
        in_force = (canons.c.prompt == prompt) & canons.c.retired_at.is_(None)
        connection.execute(update(canons).where(in_force).values(retired_at=at))
        return Canon(**{**{name: getattr(current, name) for name in _FIELDS}, "retired_at": at})

    return store.in_transaction(write)


def _in_force(connection: Connection, prompt: str) -> Canon | None:
    if not is_storable(prompt):
        return None
    query = select(canons).where(canons.c.prompt == prompt, canons.c.retired_at.is_(None))
    row = connection.execute(query).mappings().first()
    return None if row is None else _canon(row)


def _canon(row: Mapping[Any, Any]) -> Canon:  # Any: a row of the table
    return Canon(**{name: row[name] for name in _FIELDS})
