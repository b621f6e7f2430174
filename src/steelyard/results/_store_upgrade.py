from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """One step of the store's schema."""

    number: int
    """The version of the schema that it makes."""
    name: str
    """What it is about, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUpgrade:
    """What `arena upgrade` did to a store."""

    store: str
    """The store's address, without a password."""
    store_version_before: int
    """The version of the store's schema before."""
    store_version_after: int
    """The version of the store's schema now."""
    migrations: tuple[AppliedMigration, ...]
    """What was applied, in order; nothing when the store was up to date."""
    copy: str | None
    """The file that holds the store as it was; None when nothing was applied, and on PostgreSQL."""

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The documented JSON shape."""
        return {
            "schema_version": SCHEMA_VERSION,
            "store": self.store,
            "store_version_before": self.store_version_before,
            "store_version_after": self.store_version_after,
            "migrations": [{"number": step.number, "name": step.name} for step in self.migrations],
            "copy": self.copy,
        }
