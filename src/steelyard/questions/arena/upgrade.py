"""Upgrade the schema of a store.

Upgrades a store created by an older version, including its canons (reference outputs of `repeatability`). SQLite
files are backed up first. Back up PostgreSQL databases with pg_dump. If the upgrade fails, the store is unchanged.
"""

from __future__ import annotations

from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.questions._answer import Part, Rows
from steelyard.questions._question import Options, store_action
from steelyard.questions._run_input import current_progress
from steelyard.questions.arena._common import ArenaAnswer
from steelyard.store import Migration, upgrade_store


class UpgradeOptions(Options):
    """Options of `arena upgrade`."""


class AppliedMigration(Part, frozen=True, kw_only=True):
    """One step of the store's schema."""

    number: int
    """Version of the schema that it creates."""
    name: str
    """Subject, in a few words."""


class StoreUpgrade(ArenaAnswer, frozen=True, kw_only=True):
    """Upgrade of a store."""

    rows: ClassVar[Rows] = Rows("migrations", keep=("store",))

    store: str
    """URL of the store, without a password."""
    store_version_before: int
    """Version of the schema before the upgrade."""
    store_version_after: int
    """Version of the schema now."""
    migrations: tuple[AppliedMigration, ...]
    """Applied migrations, in order; empty if the store was up to date."""
    copy: str | None
    """Backup of the store; None if no migration was applied, and for PostgreSQL."""

    @property
    def about(self) -> str:
        """Versions before and after."""
        return f"schema version {self.store_version_before} -> {self.store_version_after}"


@store_action(UpgradeOptions, examples=({"store": "sqlite:///arena.db"},))
def arena_upgrade(store: str, options: UpgradeOptions) -> StoreUpgrade:  # noqa: ARG001 # it has no options
    """Upgrade a store; the progress names each migration before it begins."""
    progress = current_progress()

    def begin(migration: Migration) -> None:
        if progress is not None:
            step = _applied(migration)
            progress(f"migration {step.number}: {step.name}", 1)

    done = upgrade_store(store, progress=begin)
    steps = tuple(map(_applied, done.migrations))
    return StoreUpgrade(
        store=done.address,
        store_version_before=done.version,
        store_version_after=steps[-1].number if steps else done.version,
        migrations=steps,
        copy=None if done.copy is None else str(done.copy),
    )


def _applied(migration: Migration) -> AppliedMigration:
    return AppliedMigration(number=migration.number, name=migration.name.replace("_", " "))


def page(answer: StoreUpgrade) -> pages.Page:
    """Return the versions and the backup."""
    if not answer.migrations:
        sentence = f"{answer.store}: already up to date (schema version {answer.store_version_after})."
        notes: tuple[str, ...] = ()
    else:
        sentence = f"{answer.store}: upgraded, {answer.about}."
        notes = (f"backup: {answer.copy}" if answer.copy else "no backup was made (use pg_dump)",)
    return pages.Page(name="upgrade", title="Is the store up to date?", answer=sentence, notes=notes)
