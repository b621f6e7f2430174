"""Register or update a person, team or tool.

A submission belongs to the person whose id matches its submitter and to the tool whose id matches its agent. Over the
API, registered people need a personal token (see: steelyard serve token create) to submit results, rate submissions or
withdraw their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.arena import Arena, register
from steelyard.questions._question import Options, arena_action, doc
from steelyard.questions.arena.user_list import Registry
from steelyard.records import Party, PartyKind, now_microseconds

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


class UserAddOptions(Options):
    """Options of `arena user add`."""

    kind: PartyKind = doc("person, team or tool.", kw_only=False)
    id: str = doc("Id used in submissions, tokens and ratings.", kw_only=False)
    name: str | None = doc("Display name; an empty string removes it.", default=None)
    team: str | None = doc("Team id of a person; an empty string removes it.", default=None)


@arena_action(
    UserAddOptions,
    path="/users",
    examples=(
        {"kind": "team", "id": "blue", "name": "The Blue Team"},
        {"kind": "person", "id": "ada", "name": "Ada Lovelace", "team": "blue"},
    ),
)
def arena_user_add(arena: Arena, options: UserAddOptions) -> Registry:
    """Register or update a person, team or tool, and return it; an empty name or team removes it."""

    def work(connection: Connection) -> Party:
        return register(
            connection,
            options.kind,
            options.id,
            display_name=options.name,
            team=options.team,
            now=now_microseconds(),
        )

    return Registry(users=(arena.store.in_transaction(work),))
