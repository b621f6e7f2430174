"""List seasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlalchemy import select

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena
from steelyard.formatting import counted
from steelyard.questions._answer import Part, Rows
from steelyard.questions._question import Options, arena_question
from steelyard.questions.arena._common import ArenaAnswer
from steelyard.records import iso
from steelyard.store.schema import seasons

if TYPE_CHECKING:
    from steelyard.pages import Page


class SeasonListOptions(Options):
    """Options of `arena season list`."""


class SeasonEntry(Part, frozen=True, kw_only=True):
    """A season in a list."""

    name: str
    frozen_at: str
    sha256: str
    """SHA-256 of its manifest."""


class Seasons(ArenaAnswer, frozen=True, kw_only=True):
    """All seasons, oldest first."""

    rows: ClassVar[Rows] = Rows("seasons")

    seasons: tuple[SeasonEntry, ...]

    @property
    def about(self) -> str:
        """Number of seasons."""
        return counted(len(self.seasons), "season")


@arena_question(SeasonListOptions, path="/seasons", paged="seasons", examples=({},))
def arena_season_list(arena: Arena, options: SeasonListOptions) -> Seasons:  # noqa: ARG001 # it has no options
    """Return all seasons, oldest first, with the digests of their manifests."""
    with arena.read() as connection:
        rows = connection.execute(select(seasons.c.name, seasons.c.frozen_at, seasons.c.sha256)).mappings()
        # Collation differs between databases, so sort in Python.
        ordered = sorted(rows, key=lambda row: (row["frozen_at"], row["name"]))
    entries = [SeasonEntry(name=row["name"], frozen_at=iso(row["frozen_at"]), sha256=row["sha256"]) for row in ordered]
    return Seasons(seasons=tuple(entries))


def page(answer: Seasons) -> Page:
    """Return one row per season."""
    entries = answer.seasons
    columns = (
        pages.id_column("name", "season", "seasons", [entry.name for entry in entries]),
        pages.time_column("frozen_at", "frozen", [entry.frozen_at for entry in entries]),
        pages.text_column("sha256", "SHA-256 of the manifest", [entry.sha256 for entry in entries]),
    )
    return pages.Page(
        name="seasons",
        title="Which seasons are frozen?",
        answer=f"{answer.about}." if entries else "No seasons yet. Create one: steelyard arena season create NAME",
        table=pages.PageTable(caption="Seasons", columns=columns),
    )
