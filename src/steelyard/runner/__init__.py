"""Running what is to be weighed: a plan expands to cells, a cell has tries and yields one Run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.runner._cell_records import (
        Cell as Cell,
        CellResult as CellResult,
        Ending as Ending,
        TryOutcome as TryOutcome,
        TryResult as TryResult,
    )
    from steelyard.runner._plan_records import (
        AgentUse as AgentUse,
        Budget as Budget,
        Endpoint as Endpoint,
        JudgeUse as JudgeUse,
        Measure as Measure,
        Plan as Plan,
        PlanTask as PlanTask,
        Tier as Tier,
        Verify as Verify,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
