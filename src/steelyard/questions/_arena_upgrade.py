"""Upgrade of a store created by an older version."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.results import AppliedMigration, StoreUpgrade
from steelyard.settings import DEFAULT_STORE
from steelyard.store import Migration, upgrade_store


def upgrade_arena(
    address: str = DEFAULT_STORE, *, progress: Callable[[AppliedMigration], None] | None = None
) -> StoreUpgrade:
    """Upgrade the schema of a store; call `progress` before each migration.

    A SQLite file is copied first. If a migration fails, the store is unchanged.
    """

    def step(migration: Migration) -> AppliedMigration:
        return AppliedMigration(migration.number, migration.name.replace("_", " "))

    done = upgrade_store(address, progress=None if progress is None else lambda migration: progress(step(migration)))
    steps = tuple(step(migration) for migration in done.migrations)
    return StoreUpgrade(
        store=done.address,
        store_version_before=done.version,
        store_version_after=steps[-1].number if steps else done.version,
        migrations=steps,
        copy=None if done.copy is None else str(done.copy),
    )
