from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._options import Json
from steelyard.cli._print import console, print_json, print_lines
from steelyard.pages import clean
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.results import AppliedMigration, StoreUpgrade


def upgrade(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """Upgrade the schema of a store.

    Upgrades a store created by an older version, including its canons. SQLite files are backed up first. Back up
    PostgreSQL databases with pg_dump. If the upgrade fails, the store is unchanged.

    Example: steelyard arena upgrade --store sqlite:///arena.db
    """
    from steelyard.questions import upgrade_arena  # brings SQLAlchemy

    done = upgrade_arena(store, progress=_print_step)
    if json:
        print_json(done.to_dict())
    else:
        print_lines(_lines(done))
    return 0


def _print_step(step: AppliedMigration) -> None:
    console(stderr=True).print(clean(f"migration {step.number}: {step.name}"))


def _lines(done: StoreUpgrade) -> list[str]:
    if not done.migrations:
        return [f"{done.store}: already up to date (schema version {done.store_version_after})"]
    change = f"schema version {done.store_version_before} -> {done.store_version_after}"
    copied = f"backup: {done.copy}" if done.copy else "no backup was made (use pg_dump)"
    return [f"{done.store}: upgraded, {change}", copied]
