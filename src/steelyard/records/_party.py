"""A registered person, team or tool of an arena."""

from __future__ import annotations

from typing import Literal, get_args

from steelyard.records._record_types import Name, Record

PartyKind = Literal["person", "team", "tool"]
PARTY_KINDS: tuple[PartyKind, ...] = get_args(PartyKind)


class Party(Record, frozen=True, kw_only=True):
    """A registered person, team or tool. The id is unique for each kind; the display name need not be unique."""

    kind: PartyKind
    """`person` (submits and reviews), `team` (has people as members) or `tool` (an agent)."""
    id: Name
    """Id used in submissions (`submitter`, `agent`), tokens and ratings."""
    display_name: str | None = None
    """Display name, shown with the id; None if there is none."""
    team: Name | None = None
    """Team id of a person; None without a team."""

    @property
    def shown(self) -> str:
        """Return the id, preceded by the display name if there is one; display names alone are ambiguous."""
        return self.id if self.display_name is None else f"{self.display_name} ({self.id})"
