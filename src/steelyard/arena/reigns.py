"""Whose rules made a score of its day: those that were in force when the submission was accepted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.known import Policy
from steelyard.arena.rules import Rules
from steelyard.arena.settings import decoded_rules
from steelyard.records.moments import iso
from steelyard.store.migrations.m0012_past_settings import past_settings
from steelyard.store.migrations.m0016_reigns import reigns


@dataclass(frozen=True, slots=True, eq=False)
class Reign:
    """Rules, their place among those that the arena has had, and since when they were in force."""

    place: int
    since: int
    """0 when it is not known."""
    rules: Rules


class ScoredBy(msgspec.Struct, frozen=True, kw_only=True):
    """How many of some scores were made by one profile."""

    profile: str
    since: str | None
    """When these rules came into force: two profiles may have one name. None when that is not known."""
    submissions: int


@dataclass(frozen=True, slots=True)
class Reigns:
    """The rules that an arena has had, in their order, and from which submission of each task they were in force."""

    all: Sequence[Reign]
    starts: Mapping[int, Sequence[int]]
    """For each task, how many submissions it had when each of the reigns began; a task that is not here had none."""

    def of(self, task_key: int, ordinal: int) -> Reign:
        """The reign in which a task's submission of that ordinal (they begin at 1) was accepted."""
        starts = self.starts.get(task_key)
        return self.all[-1] if starts is None else self.all[max(bisect_left(starts, ordinal) - 1, 0)]

    def at(self, moment: int | None) -> Reign:
        """The reign at a moment, the present one with None."""
        begun = [reign for reign in self.all if moment is None or reign.since <= moment]
        return begun[-1] if begun else self.all[0]

    def behind(self, policy: Policy, until: int | None = None) -> Reigns:
        """The reigns that made the scores of standings under the policy, now or at a moment."""
        return self if policy == "as-submitted" else Reigns([self.at(until)], {})


def read_reigns(connection: Connection, task_key: int | None = None) -> Reigns:
    """The reigns of the arena, with their starts in one task, or in every task."""
    numbers: dict[int, int] = {}
    all_reigns: list[Reign] = []
    for row in connection.execute(select(past_settings).order_by(past_settings.c.number)):
        rules = decoded_rules(row.rules)
        if not all_reigns or rules != all_reigns[-1].rules:  # a change of policy alone changes no score of its day
            numbers[row.number] = len(all_reigns)
            all_reigns.append(Reign(len(all_reigns), row.since, rules))
    starts: dict[int, list[int]] = {}
    if len(all_reigns) > 1:
        wanted = select(reigns) if task_key is None else select(reigns).where(reigns.c.task_key == task_key)
        for row in connection.execute(wanted):
            if row.number in numbers:
                starts.setdefault(row.task_key, [0] * len(all_reigns))[numbers[row.number]] = row.after_n
    return Reigns(all_reigns, starts)


def scored_by(counts: Mapping[Reign, int]) -> tuple[ScoredBy, ...]:
    """The reigns with how many scores were made in each, the earliest first."""
    return tuple(
        ScoredBy(profile=reign.rules.name, since=iso(reign.since) if reign.since else None, submissions=counts[reign])
        for reign in sorted(counts, key=lambda reign: reign.place)
    )
