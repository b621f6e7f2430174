"""Which engine a table of runs is evaluated by."""

from __future__ import annotations

from steelyard.engines._local import LocalEngine
from steelyard.engines._protocol import Engine
from steelyard.profiles import Profile
from steelyard.statistics import WeightBy
from steelyard.tables import RunTable


def engine_of(table: RunTable, profile: Profile, weight_by: WeightBy = "runs") -> Engine:
    """The engine that evaluates metrics over the table."""
    return LocalEngine(table.frame, table.n, profile, weight_by)
