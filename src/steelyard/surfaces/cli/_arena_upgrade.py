from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.reports import clean
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import StoreOption
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json, print_lines

if TYPE_CHECKING:
    from steelyard.results import AppliedMigration, StoreUpgrade


def upgrade(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """Upgrade a store that an older version made, canons included. A SQLite file is copied first.

    A PostgreSQL database is not copied: make a backup with pg_dump first. If the upgrade fails, the store stays as it
    was. No other command changes the schema of a store.

    Example: steelyard arena upgrade --store sqlite:///arena.db
    """
    from steelyard.workflow import upgrade_arena  # brings SQLAlchemy

    done = upgrade_arena(store, told=_say)
    if json:
        print_json(done.to_dict())
    else:
        print_lines(_lines(done))
    return 0


def _say(step: AppliedMigration) -> None:
    console(stderr=True).print(clean(f"migration {step.number}: {step.name}"))


def _lines(done: StoreUpgrade) -> list[str]:
    if not done.migrations:
        return [f"{done.store}: already up to date (schema version {done.store_version_after})"]
    change = f"schema version {done.store_version_before} -> {done.store_version_after}"
    copied = f"the store as it was is kept in {done.copy}" if done.copy else "no copy was made: use pg_dump for backups"
    return [f"{done.store}: upgraded, {change}", copied]
