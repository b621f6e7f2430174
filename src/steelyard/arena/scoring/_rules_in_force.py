"""Whose rules made a score of its day: those that were in force when the submission was accepted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._settings import decoded_rules
from steelyard.arena.scoring._stored_receipts import Policy
from steelyard.records import iso
from steelyard.store import past_settings, reigns


@dataclass(frozen=True, slots=True, eq=False)
class RulesInForce:
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
class RulesHistory:
    """The rules that an arena has had, in their order, and from which submission of each task they were in force."""

    all: Sequence[RulesInForce]
    starts: Mapping[int, Sequence[int]]
    """For each task, how many submissions it had when each of the reigns began; a task that is not here had none."""

    def of(self, task_key: int, ordinal: int) -> RulesInForce:
        """The reign in which a task's submission of that ordinal (they begin at 1) was accepted."""
        starts = self.starts.get(task_key)
        return self.all[-1] if starts is None else self.all[max(bisect_left(starts, ordinal) - 1, 0)]

    def at(self, moment: int | None) -> RulesInForce:
        """The reign at a moment, the present one with None."""
        begun = [reign for reign in self.all if moment is None or reign.since <= moment]
        return begun[-1] if begun else self.all[0]

    def behind(self, policy: Policy, until: int | None = None) -> RulesHistory:
        """The reigns that made the scores of standings under the policy, now or at a moment."""
        return self if policy == "as-submitted" else RulesHistory([self.at(until)], {})


def read_rules_history(connection: Connection, task_key: int | None = None) -> RulesHistory:
    """The reigns of the arena, with their starts in one task, or in every task."""
    numbers: dict[int, int] = {}
    all_reigns: list[RulesInForce] = []
    for row in connection.execute(select(past_settings).order_by(past_settings.c.number)):
        rules = decoded_rules(row.rules)
        if not all_reigns or rules != all_reigns[-1].rules:  # a change of policy alone changes no score of its day
            numbers[row.number] = len(all_reigns)
            all_reigns.append(RulesInForce(len(all_reigns), row.since, rules))
    starts: dict[int, list[int]] = {}
    if len(all_reigns) > 1:
        wanted = select(reigns) if task_key is None else select(reigns).where(reigns.c.task_key == task_key)
        for row in connection.execute(wanted):
            if row.number in numbers:
                starts.setdefault(row.task_key, [0] * len(all_reigns))[numbers[row.number]] = row.after_n
    return RulesHistory(all_reigns, starts)


def scored_by(counts: Mapping[RulesInForce, int]) -> tuple[ScoredBy, ...]:
    """The reigns with how many scores were made in each, the earliest first."""
    return tuple(
        ScoredBy(profile=reign.rules.name, since=iso(reign.since) if reign.since else None, submissions=counts[reign])
        for reign in sorted(counts, key=lambda reign: reign.place)
    )
