"""List registered people, teams and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, read_parties
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer
from steelyard.records import Party, PartyKind

if TYPE_CHECKING:
    from steelyard.pages import Page


class UserListOptions(Options):
    """Options of `arena user list`."""

    kind: PartyKind | None = doc("Only this kind: person, team or tool.", default=None, kw_only=False)


class Registry(ArenaAnswer, frozen=True, kw_only=True):
    """Registered people, teams and tools, by kind and id."""

    rows: ClassVar[Rows] = Rows("users")

    users: tuple[Party, ...]

    @property
    def about(self) -> str:
        """Number of users of each kind."""
        kinds = [party.kind for party in self.users]
        names = {"person": "people", "team": "teams", "tool": "tools"}
        counts = [counted(kinds.count(kind), kind, several) for kind, several in names.items() if kind in kinds]
        return ", ".join(counts) or "no users"


@arena_question(UserListOptions, path="/users", paged="users", examples=({"kind": "person"},))
def arena_user_list(arena: Arena, options: UserListOptions) -> Registry:
    """Return the registered people, teams and tools, optionally of one kind."""
    with arena.read() as connection:
        return Registry(users=tuple(read_parties(connection, options.kind)))


def page(answer: Registry) -> Page:
    """Return one row per user."""
    users = answer.users
    columns = (
        pages.text_column("kind", "kind", [party.kind for party in users]),
        pages.text_column("id", "id", [party.id for party in users]),
        pages.text_column("display_name", "display name", [party.display_name for party in users]),
        pages.text_column("team", "team", [party.team for party in users]),
    )
    return pages.Page(
        name="registry",
        title="Registered users",
        answer=f"{answer.about}." if users else "No users registered. Add one: steelyard arena user add person ID",
        table=pages.PageTable(caption="People, teams and tools", columns=columns),
    )
