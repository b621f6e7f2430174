"""How ranks would move under other rules, on the submissions that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection

from steelyard.arena.ingest import Arena, find_task, load_tasks
from steelyard.arena.scoring import Rules, ScoringContext, StoredTask, bounds_now, load_task_states, points, read_rules
from steelyard.arena.views._task_leaderboard import ranked
from steelyard.arena.views._task_view import view_task
from steelyard.profiles import Profile
from steelyard.records import Finding, Task, exact_mean
from steelyard.results import Mover, ProfileComparison, TaskUnderProfiles
from steelyard.statistics import kendall_tau

if TYPE_CHECKING:
    import polars as pl


def compare_profiles(
    arena: Arena, first: Profile, second: Profile, *, task_id: str | None = None, movers: int = 10
) -> ProfileComparison:
    """How leaderboard under policy `current` would differ between the two profiles."""
    pair = (read_rules(first), read_rules(second))
    compared: list[TaskUnderProfiles] = []
    moved: list[Mover] = []
    with arena.read() as connection:
        if task_id is not None:
            chosen = {task_id: find_task(connection, task_id, arena.rules)}
        else:
            chosen = load_tasks(connection, arena.rules)
        for name in chosen:
            under_first, under_second = (_under(connection, name, rules) for rules in pair)
            if not len(under_first):
                continue
            both = under_first.join(under_second, on="id", suffix="_second", validate="1:1").sort("id")
            compared.append(_compare(name, both))
            moved += _movers(name, both, movers)
    taus = [comparison.kendall_tau for comparison in compared if comparison.kendall_tau is not None]
    moved.sort(key=lambda mover: (-abs(mover.first_ranking - mover.second_ranking), mover.task_id, mover.submission_id))
    return ProfileComparison(
        first=pair[0].name,
        second=pair[1].name,
        submissions=sum(comparison.n for comparison in compared),
        mean_kendall_tau=exact_mean(taus) if taus else None,
        tasks=tuple(compared),
        movers=tuple(moved[:movers]),
        findings=_findings(pair, [stored.task for stored in chosen.values()]),
    )


def _findings(pair: tuple[Rules, Rules], tasks: Sequence[Task]) -> tuple[Finding, ...]:
    different = pair if pair[0] != pair[1] else pair[:1]
    return tuple(doubt for task in tasks for rules in different if (doubt := rules.finding_about(task)) is not None)


def _under(connection: Connection, task_id: str, rules: Rules) -> pl.DataFrame:
    stored_task: StoredTask = find_task(connection, task_id, rules)
    state = load_task_states(connection, [stored_task], rules, lock=False)[stored_task.key]
    context = ScoringContext(bounds_now(connection, state), stored_task.constants)
    view = view_task(connection, stored_task, policy="current", context=context)
    return ranked(view).select("id", "overall", "overall_ranking")


def _compare(task_id: str, both: pl.DataFrame) -> TaskUnderProfiles:
    n = len(both)
    tau = kendall_tau(both["overall"].to_numpy(), both["overall_second"].to_numpy())
    reason = None
    if n < 2:
        reason = f"not enough submissions for a correlation: {n} of 2"
    elif tau is None:
        reason = "all scores are equal under one of the profiles"
    leads = [set(both.filter(both[name] == 1)["id"]) for name in ("overall_ranking", "overall_ranking_second")]
    return TaskUnderProfiles(
        task_id=task_id,
        n=n,
        kendall_tau=tau,
        reason=reason,
        changed=int((both["overall_ranking"] != both["overall_ranking_second"]).sum()),
        leader_changes=leads[0] != leads[1],
    )


def _movers(task_id: str, both: pl.DataFrame, most: int) -> list[Mover]:
    distance = (both["overall_ranking"] - both["overall_ranking_second"]).abs().alias("distance")
    rows = both.with_columns(distance).sort(["distance", "id"], descending=[True, False]).head(most)
    return [
        Mover(
            submission_id=row["id"],
            task_id=task_id,
            first_ranking=row["overall_ranking"],
            second_ranking=row["overall_ranking_second"],
            first_score=points(row["overall"]),
            second_score=points(row["overall_second"]),
        )
        for row in rows.iter_rows(named=True)
        if row["distance"]
    ]
