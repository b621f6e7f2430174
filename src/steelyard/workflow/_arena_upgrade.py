"""Arena upgrade: bringing a store that an older version made to the present schema."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.results import AppliedMigration, StoreUpgrade
from steelyard.settings import DEFAULT_STORE
from steelyard.store import Migration, upgrade_store


def upgrade_arena(
    address: str = DEFAULT_STORE, *, told: Callable[[AppliedMigration], None] | None = None
) -> StoreUpgrade:
    """Upgrade the store, canons and arena alike; `told` before each migration.

    A SQLite file is copied first. All migrations are applied or none: when one fails, the store is as it was.
    """

    def step(migration: Migration) -> AppliedMigration:
        return AppliedMigration(migration.number, migration.name.replace("_", " "))

    done = upgrade_store(address, told=None if told is None else lambda migration: told(step(migration)))
    steps = tuple(step(migration) for migration in done.migrations)
    return StoreUpgrade(
        store=done.address,
        store_version_before=done.version,
        store_version_after=steps[-1].number if steps else done.version,
        migrations=steps,
        copy=None if done.copy is None else str(done.copy),
    )
