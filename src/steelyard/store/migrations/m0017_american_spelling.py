"""Columns of canons under the names that records and JSON have for them."""

from __future__ import annotations

from sqlalchemy.engine import Connection


def upgrade(connection: Connection) -> None:
    """Rename the two columns; no value changes."""
    connection.exec_driver_sql("ALTER TABLE canons RENAME COLUMN normalised TO normalized")
    connection.exec_driver_sql("ALTER TABLE canons RENAME COLUMN normalisation_version TO normalization_version")
