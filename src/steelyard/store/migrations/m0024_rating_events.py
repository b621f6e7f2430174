"""Events whose cause is a rating."""

from __future__ import annotations

from sqlalchemy.engine import Connection


def upgrade(connection: Connection) -> None:
    """Add the rating. None has caused an event so far."""
    connection.exec_driver_sql("ALTER TABLE arena_outbox ADD COLUMN rating_number BIGINT")
