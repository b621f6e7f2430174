"""Whose rules made a score of its day: those that were in force when the submission was accepted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._settings import decoded_rules
from steelyard.records import iso
from steelyard.results import Policy, ScoredBy
from steelyard.store.schema import past_settings, settings_in_effect


@dataclass(frozen=True, slots=True, eq=False)
class RulesInForce:
    """Rules, their place among those that the arena has had, and since when they were in force."""

    place: int
    since: int
    """0 when it is not known."""
    rules: Rules


@dataclass(frozen=True, slots=True)
class RulesHistory:
    """The rules that an arena has had, in their order, and from which submission of each task they were in force."""

    all: Sequence[RulesInForce]
    starts: Mapping[int, Sequence[int]]
    """For each task, how many it had accepted when each came into force; a task that is not here had none."""

    def of(self, task_key: int, ordinal: int) -> RulesInForce:
        """The rules under which a task's submission of that ordinal (they begin at 1) was accepted."""
        starts = self.starts.get(task_key)
        return self.all[-1] if starts is None else self.all[max(bisect_left(starts, ordinal) - 1, 0)]

    def at(self, moment: int | None) -> RulesInForce:
        """Return the rules at a time (default: now)."""
        begun = [in_force for in_force in self.all if moment is None or in_force.since <= moment]
        return begun[-1] if begun else self.all[0]

    def behind(self, policy: Policy, until: int | None = None) -> RulesHistory:
        """Return the rules of the leaderboard scores under the policy, now or at a time."""
        return self if policy == "as-submitted" else RulesHistory([self.at(until)], {})


def read_rules_history(connection: Connection, task_key: int | None = None) -> RulesHistory:
    """The rules that the arena has had, with their starts in one task, or in every task."""
    numbers: dict[int, int] = {}
    all_rules: list[RulesInForce] = []
    for row in connection.execute(select(past_settings).order_by(past_settings.c.number)):
        rules = decoded_rules(row.rules)
        if not all_rules or rules != all_rules[-1].rules:  # a change of policy alone changes no score of its day
            numbers[row.number] = len(all_rules)
            all_rules.append(RulesInForce(len(all_rules), row.since, rules))
    starts: dict[int, list[int]] = {}
    if len(all_rules) > 1:
        wanted = (
            select(settings_in_effect)
            if task_key is None
            else select(settings_in_effect).where(settings_in_effect.c.task_key == task_key)
        )
        for row in connection.execute(wanted):
            if row.number in numbers:
                starts.setdefault(row.task_key, [0] * len(all_rules))[numbers[row.number]] = row.after_n
    return RulesHistory(all_rules, starts)


def scored_by(counts: Mapping[RulesInForce, int]) -> tuple[ScoredBy, ...]:
    """The profiles with how many scores each made, the earliest first."""
    return tuple(
        ScoredBy(
            profile=made_by.rules.name, since=iso(made_by.since) if made_by.since else None, submissions=counts[made_by]
        )
        for made_by in sorted(counts, key=lambda in_force: in_force.place)
    )
