"""Baselines of each tool and model alone."""

from __future__ import annotations

from steelyard.arena.ingest import Arena, find_task
from steelyard.arena.scoring import BaselineInputs, own_baseline
from steelyard.arena.views._task_view import view_task
from steelyard.records import Missing, iso
from steelyard.results import CombinationBaseline


def combination_baselines(arena: Arena, task_id: str) -> tuple[CombinationBaseline, ...]:
    """The baseline of each tool and model alone; none, with the reason, where there are too few submissions."""
    with arena.read() as connection:
        stored_task = find_task(connection, task_id, arena.rules)
        rows = view_task(connection, stored_task, policy="as-submitted").rows
    combinations = []
    for (agent, model), part in rows.group_by("agent", "model"):
        inputs = BaselineInputs(*(part[name].to_list() for name in BaselineInputs._fields))
        own = own_baseline(inputs, least=arena.rules.baseline.submissions)
        combinations.append(
            CombinationBaseline(
                agent=agent,
                model=model,
                submissions=len(part),
                baseline=None if isinstance(own, Missing) else {**own, "last_updated": iso(max(part["accepted_at"]))},
                reason=str(own.reason) if isinstance(own, Missing) else None,
            )
        )
    return tuple(sorted(combinations, key=lambda combination: (combination.agent or "", combination.model or "")))
