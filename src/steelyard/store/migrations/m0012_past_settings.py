"""What an arena was scored by in the past: leaderboard of an earlier moment are made by the rules of that moment."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Identity, MetaData, String, Table, Text, insert, select
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import Serial, settings

METADATA = MetaData()

# One row for each time the rules or the policy were set; the last one is what arena_settings holds.
past_settings = Table(
    "arena_past_settings",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("rules", Text, nullable=False),
    Column("policy", String(64), nullable=False),
)


def upgrade(connection: Connection) -> None:
    """Make the table. An arena that is there is taken to have had its present settings from the beginning."""
    METADATA.create_all(connection, checkfirst=False)
    present = {row.name: row.value for row in connection.execute(select(settings))}
    if "rules" in present and "policy" in present:
        connection.execute(insert(past_settings), {"since": 0, "rules": present["rules"], "policy": present["policy"]})
