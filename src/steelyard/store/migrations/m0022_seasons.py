"""Seasons: the leaderboard of a moment, kept with all that made it."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, String, Table
from sqlalchemy.engine import Connection

METADATA = MetaData()

seasons = Table(
    "arena_seasons",
    METADATA,
    Column("name", String(1024), primary_key=True),
    Column("frozen_at", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("manifest", LargeBinary, nullable=False),
)


def upgrade(connection: Connection) -> None:
    """Make the table."""
    METADATA.create_all(connection, checkfirst=False)
