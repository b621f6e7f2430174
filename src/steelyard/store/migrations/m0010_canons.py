"""Canons: at most one in force for each prompt, all earlier ones kept."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Identity, Index, Integer, MetaData, String, Table, Text
from sqlalchemy.engine import Connection

METADATA = MetaData()

canons = Table(
    "canons",
    METADATA,
    Column("canon_key", BigInteger().with_variant(Integer, "sqlite"), Identity(), primary_key=True),
    Column("prompt", String(1024), nullable=False),
    Column("code", Text, nullable=False),
    Column("normalised", Text, nullable=False),
    Column("signature", String(64), nullable=False),
    Column("contract", Text, nullable=False),
    Column("normalisation_version", String(200), nullable=False),
    Column("oracle_version", String(200), nullable=False),
    Column("distance_version", String(200), nullable=False),
    Column("origin", Text),
    Column("set_at", BigInteger, nullable=False),
    Column("retired_at", BigInteger),
)

# The database itself refuses a second canon in force, whoever sets it at the same moment.
Index(
    "canons_one_in_force",
    canons.c.prompt,
    unique=True,
    sqlite_where=canons.c.retired_at.is_(None),
    postgresql_where=canons.c.retired_at.is_(None),
)


def upgrade(connection: Connection) -> None:
    """Make the table."""
    METADATA.create_all(connection)
