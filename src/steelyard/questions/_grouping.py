"""Default grouping, the same on every surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.tables import RunTable

VARYING = ("agent", "model", "tier")
"""Keys that identify a configuration."""


def default_keys(table: RunTable) -> tuple[str, ...]:
    """Return the keys to group by if the user names none: those of a configuration that vary, else the experiment."""
    present = [name for name in (*VARYING, "experiment") if name in table.frame.collect_schema().names()]
    columns = table.frame.select(present).collect()
    varying = [name for name in present if columns[name].n_unique() > 1]
    return tuple(name for name in VARYING if name in varying) or tuple(varying) or ("agent", "model")
