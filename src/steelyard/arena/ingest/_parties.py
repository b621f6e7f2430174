"""Registered people, teams and tools: display names and team membership."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import insert, select, update
from sqlalchemy.engine import Connection, RowMapping

from steelyard.errors import UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.records import MAX_NAME_BYTES, PARTY_KINDS, Party, PartyKind, is_storable, is_too_long
from steelyard.store.schema import parties

MAX_DISPLAY_NAME_LENGTH = 200
"""Characters."""


def check_name(what: str, name: str) -> None:
    """Reject a name that cannot be stored or typed."""
    if not name.strip() or not is_storable(name) or not name.isprintable():
        raise UsageError(f"invalid {what}: {name[:200]!r}", hint="use printable characters on one line")
    if is_too_long(name):
        raise UsageError(f"the {what} is longer than {MAX_NAME_BYTES} bytes in UTF-8", hint="make it shorter")


def register(
    connection: Connection, kind: PartyKind, identity: str, *, display_name: str | None, team: str | None, now: int
) -> Party:
    """The party as it is kept from now on. What is None stays as it was; an empty text takes it away."""
    check_name(f"id of a {kind}", identity)
    if display_name:
        check_name("display name", display_name)
        if len(display_name) > MAX_DISPLAY_NAME_LENGTH:
            raise UsageError(f"the display name is longer than {MAX_DISPLAY_NAME_LENGTH} characters", hint="shorten it")
    if team is not None and kind != "person":
        raise UsageError(f"a {kind} cannot have a team", hint=f"remove {option('team')}")
    teams = select(parties.c.id).where(parties.c.kind == "team")
    if team:
        found = is_storable(team) and connection.execute(teams.where(parties.c.id == team)).first()
        if not found:
            raise UnknownNameError("team", team[:200], connection.execute(teams).scalars())
    own = (parties.c.kind == kind) & (parties.c.id == identity)
    before = connection.execute(select(parties).where(own)).mappings().first()
    given = {"display_name": display_name, "team": team}
    row = {name: value or None for name, value in given.items() if value is not None} | {"registered_at": now}
    if before is None:
        connection.execute(insert(parties).values(kind=kind, id=identity, **row))
    elif any(before[name] != value for name, value in row.items() if name != "registered_at"):
        connection.execute(update(parties).where(own).values(**row))
    return _party(connection.execute(select(parties).where(own)).mappings().one())


def read_parties(connection: Connection, kind: PartyKind | None = None) -> list[Party]:
    """Return the registered parties, of one kind or of all, by kind and id."""
    wanted = select(parties) if kind is None else select(parties).where(parties.c.kind == kind)
    # Collation differs between databases, so sort in Python.
    found = map(_party, connection.execute(wanted).mappings())
    return sorted(found, key=lambda party: (PARTY_KINDS.index(party.kind), party.id))


def teams_of(connection: Connection) -> dict[str, str]:
    """The team of each registered person who is in one."""
    return {party.id: party.team for party in read_parties(connection, "person") if party.team is not None}


def people_among(connection: Connection, names: Iterable[str]) -> frozenset[str]:
    """Those of the names that are ids of registered people."""
    ids = select(parties.c.id).where(parties.c.kind == "person")
    return frozenset(names).intersection(connection.execute(ids).scalars())


def _party(row: RowMapping) -> Party:
    return Party(**{name: row[name] for name in Party.__struct_fields__})
