"""A run that several files tell of: what is added up, and what is then only a lower bound."""

from __future__ import annotations

import pytest

from steelyard.formats import PlacedRun, RunPart, run_from
from steelyard.records import Usage
from steelyard.tables._joining import assemble


def session(name: str, *, cost_usd: float | None, parent: str | None = None) -> RunPart:
    path = f"logs/{name}.json"
    run = run_from(
        format="opencode", path=path, id=name, task="t", cost_usd=cost_usd, usage=Usage(input_tokens=7), tool_calls=2
    )
    return RunPart(run=run, path=path, role="session", parent=parent)


@pytest.mark.parametrize(
    ("helper_cost", "cost", "how"),
    [(0.25, 1.25, None), (None, 1.0, "lower_bound")],  # 1.0 + 0.25; the helper's is not known
)
def test_a_subagent_is_part_of_its_session_and_its_unknown_cost_leaves_a_lower_bound(
    helper_cost: float | None, cost: float, how: str | None
) -> None:
    parts = [session("main", cost_usd=1.0), session("helper", cost_usd=helper_cost, parent="main")]
    (placed,) = [item for item in assemble(parts) if isinstance(item, PlacedRun)]
    run = placed.run
    assert (run.id, run.cost_usd, run.tool_calls) == ("main", cost, 4)
    assert run.usage == Usage(input_tokens=14)
    assert (run.provenance or {}).get("cost_usd") == how
