"""A person, a team or a tool of an arena, as somebody registered it."""

from __future__ import annotations

from typing import Literal, get_args

from steelyard.records._record_types import Name, Record

PartyKind = Literal["person", "team", "tool"]
PARTY_KINDS: tuple[PartyKind, ...] = get_args(PartyKind)


class Party(Record, frozen=True, kw_only=True):
    """Who or what takes part. The id identifies it; the display name is for people to read and may occur twice."""

    kind: PartyKind
    """A person submits and reviews, a team has people in it, a tool does the work."""
    id: Name
    """What submissions (`submitter`, `agent`), tokens and ratings name it by."""
    display_name: str | None = None
    """What people read beside the id; None where the id is all there is."""
    team: Name | None = None
    """The id of a person's team; None without one."""

    @property
    def shown(self) -> str:
        """The id, with the display name before it where there is one: a display name alone never identifies."""
        return self.id if self.display_name is None else f"{self.display_name} ({self.id})"
