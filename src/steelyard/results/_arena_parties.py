"""Registered people, teams and tools."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.records import Party
from steelyard.results._arena_rows import FieldsResult
from steelyard.results._base import Row


@dataclass(frozen=True, kw_only=True, repr=False)
class Registry(FieldsResult):
    """Registered people, teams and tools, by kind and id."""

    users: tuple[Party, ...]

    def _about(self) -> str:
        kinds = [party.kind for party in self.users]
        return f"{kinds.count('person'):,} people, {kinds.count('team'):,} teams, {kinds.count('tool'):,} tools"

    def to_dicts(self) -> list[Row]:
        """Return one row per user."""
        return [{name: getattr(party, name) for name in msgspec.structs.asdict(party)} for party in self.users]
