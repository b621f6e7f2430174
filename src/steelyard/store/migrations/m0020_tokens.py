"""Tokens by which a server knows who may read and write: only their digests are kept."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Identity, Index, MetaData, String, Table
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import Serial

METADATA = MetaData()

tokens = Table(
    "tokens",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True),
    Column("id", String(16), nullable=False, unique=True),
    Column("name", String(1024), nullable=False),
    Column("scopes", String(64), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
)

# The database itself refuses a second token of a name, whoever makes it at the same moment.
Index(
    "tokens_one_of_a_name",
    tokens.c.name,
    unique=True,
    sqlite_where=tokens.c.revoked_at.is_(None),
    postgresql_where=tokens.c.revoked_at.is_(None),
)


def upgrade(connection: Connection) -> None:
    """Make the table."""
    METADATA.create_all(connection, checkfirst=False)
