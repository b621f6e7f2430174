"""What the whole arena is scored by: its rules and its policy, kept in the store."""

from __future__ import annotations

from typing import get_args

import msgspec
from sqlalchemy import insert, select, text, update
from sqlalchemy.engine import Connection

from steelyard.arena.known import Policy
from steelyard.arena.rules import Rules
from steelyard.errors import BadStore
from steelyard.store.migrations.m0001_arena import settings

POLICIES: tuple[str, ...] = get_args(Policy)


def hold_settings(connection: Connection, *, alone: bool = False) -> None:
    """Let nobody change the settings until the transaction ends; `alone`, to change them when nobody works by them.

    Taken before any task is locked. SQLite has one writer anyhow.
    """
    if connection.dialect.name == "postgresql":
        mode = "EXCLUSIVE" if alone else "ROW SHARE"
        connection.execute(text(f"LOCK TABLE {settings.name} IN {mode} MODE"))


def write_settings(connection: Connection, rules: Rules, policy: Policy) -> None:
    """Keep the rules, whole, and the policy: the store knows by itself how its scores are made."""
    values = {"rules": msgspec.json.encode(rules, order="deterministic").decode(), "policy": policy}
    for name, value in values.items():
        found = connection.execute(update(settings).where(settings.c.name == name).values(value=value))
        if found.rowcount == 0:
            connection.execute(insert(settings), {"name": name, "value": value})


def read_settings(connection: Connection, where: str) -> tuple[Rules, Policy]:
    """The rules and the policy of the arena in this store."""
    held = {row.name: row.value for row in connection.execute(select(settings))}
    if "rules" not in held or held.get("policy") not in POLICIES:
        raise BadStore("there is no arena in this store", where=where, hint="steelyard arena init makes one")
    policy: Policy = "current" if held["policy"] == "current" else "as-submitted"
    return msgspec.json.decode(held["rules"], type=Rules), policy
