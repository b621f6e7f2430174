"""Versions of what an arena learned from its submissions."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, Text
from sqlalchemy.engine import Connection

METADATA = MetaData()

learned = Table(
    "arena_learned",
    METADATA,
    Column("kind", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("made_at", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("content", Text, nullable=False),
)


def upgrade(connection: Connection) -> None:
    """Make the table."""
    METADATA.create_all(connection, checkfirst=False)
