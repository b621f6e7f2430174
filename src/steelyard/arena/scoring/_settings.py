"""The rules and the policy of an arena in the store, and which rules were in force when."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import msgspec
from sqlalchemy import insert, literal, select, text, update
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Policy, ScoredBy
from steelyard.arena.scoring._rules import Rules
from steelyard.errors import StoreError
from steelyard.records import iso
from steelyard.store.schema import past_settings, settings, settings_in_effect, states

POLICIES: tuple[str, ...] = get_args(Policy)


def lock_settings(connection: Connection, *, alone: bool = False) -> None:
    """Lock the settings until the transaction ends; with `alone`, exclusively, to change them.

    Taken before any task is locked. SQLite has one writer anyhow.
    """
    if connection.dialect.name == "postgresql":
        mode = "EXCLUSIVE" if alone else "ROW SHARE"
        connection.execute(text(f"LOCK TABLE {settings.name} IN {mode} MODE"))


def write_settings(connection: Connection, rules: Rules, policy: Policy, now: int) -> None:
    """Keep the rules, whole, and the policy: the store knows by itself how its scores are and were made."""
    values = {"rules": msgspec.json.encode(rules, order="deterministic").decode(), "policy": policy}
    for name, value in values.items():
        updated = connection.execute(update(settings).where(settings.c.name == name).values(value=value))
        if updated.rowcount == 0:
            connection.execute(insert(settings), {"name": name, "value": value})
    added = insert(past_settings).values(since=now, **values).returning(past_settings.c.number)
    number = connection.execute(added).scalar_one()
    starts = select(states.c.task_key, literal(number), states.c.accepted).where(states.c.accepted > 0)
    connection.execute(insert(settings_in_effect).from_select(["task_key", "number", "after_n"], starts))


def read_settings(connection: Connection, where: str) -> tuple[Rules, Policy]:
    """The rules and the policy of the arena in this store."""
    values = {row.name: row.value for row in connection.execute(select(settings))}
    if "rules" not in values or values.get("policy") not in POLICIES:
        raise StoreError("no arena in this store", where=where, hint="create one: steelyard arena init")
    return _decoded(values["rules"], values["policy"])


def settings_at(connection: Connection, until: int) -> tuple[Rules, Policy]:
    """Return the rules and policy at a time; the first ones for a time before the arena."""
    query = select(past_settings.c.rules, past_settings.c.policy)
    latest = query.where(past_settings.c.since <= until).order_by(past_settings.c.number.desc()).limit(1)
    first = query.order_by(past_settings.c.number).limit(1)
    return _decoded(*(connection.execute(latest).first() or connection.execute(first).one()))


def _decoded(rules: str, policy: str) -> tuple[Rules, Policy]:
    return decoded_rules(rules), "current" if policy == "current" else "as-submitted"


def decoded_rules(kept: str) -> Rules:
    """Rules as `write_settings` kept them."""
    try:
        return msgspec.json.decode(kept, type=Rules)
    except msgspec.MsgspecError as error:  # rules stored by an older version without this check
        raise StoreError(f"invalid rules in the arena: {error}", hint="create a new arena and submit again") from error


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
