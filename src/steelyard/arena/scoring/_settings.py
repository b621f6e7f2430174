"""What the whole arena is scored by: its rules and its policy, kept in the store."""

from __future__ import annotations

from typing import get_args

import msgspec
from sqlalchemy import insert, literal, select, text, update
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._rules import Rules
from steelyard.errors import StoreError
from steelyard.results import Policy
from steelyard.store.schema import past_settings, settings, settings_in_effect, states

POLICIES: tuple[str, ...] = get_args(Policy)


def lock_settings(connection: Connection, *, alone: bool = False) -> None:
    """Lock the settings until the transaction ends; with `alone`, exclusively, to change them.

    Taken before any task is locked. SQLite has one writer anyhow.
    """
    if connection.dialect.name == "postgresql":
        mode = "EXCLUSIVE" if alone else "ROW SHARE"
        connection.execute(text(f"LOCK TABLE {settings.name} IN {mode} MODE"))


def write_settings(connection: Connection, rules: Rules, policy: Policy, now: int) -> None:
    """Keep the rules, whole, and the policy: the store knows by itself how its scores are and were made."""
    values = {"rules": msgspec.json.encode(rules, order="deterministic").decode(), "policy": policy}
    for name, value in values.items():
        updated = connection.execute(update(settings).where(settings.c.name == name).values(value=value))
        if updated.rowcount == 0:
            connection.execute(insert(settings), {"name": name, "value": value})
    added = insert(past_settings).values(since=now, **values).returning(past_settings.c.number)
    number = connection.execute(added).scalar_one()
    starts = select(states.c.task_key, literal(number), states.c.accepted).where(states.c.accepted > 0)
    connection.execute(insert(settings_in_effect).from_select(["task_key", "number", "after_n"], starts))


def read_settings(connection: Connection, where: str) -> tuple[Rules, Policy]:
    """The rules and the policy of the arena in this store."""
    values = {row.name: row.value for row in connection.execute(select(settings))}
    if "rules" not in values or values.get("policy") not in POLICIES:
        raise StoreError("no arena in this store", where=where, hint="create one: steelyard arena init")
    return _decoded(values["rules"], values["policy"])


def settings_at(connection: Connection, until: int) -> tuple[Rules, Policy]:
    """Return the rules and policy at a time; the first ones for a time before the arena."""
    query = select(past_settings.c.rules, past_settings.c.policy)
    latest = query.where(past_settings.c.since <= until).order_by(past_settings.c.number.desc()).limit(1)
    first = query.order_by(past_settings.c.number).limit(1)
    return _decoded(*(connection.execute(latest).first() or connection.execute(first).one()))


def _decoded(rules: str, policy: str) -> tuple[Rules, Policy]:
    return decoded_rules(rules), "current" if policy == "current" else "as-submitted"


def decoded_rules(kept: str) -> Rules:
    """Rules as `write_settings` kept them."""
    try:
        return msgspec.json.decode(kept, type=Rules)
    except msgspec.MsgspecError as error:  # rules stored by an older version without this check
        raise StoreError(f"invalid rules in the arena: {error}", hint="create a new arena and submit again") from error
