"""Options that the arena's commands share."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.surfaces.cli._options import FromOne

StoreOption = Annotated[str, Parameter(help="The store: sqlite:///file or postgresql://user@host/name.")]
PolicyOption = Annotated[
    str, Parameter(help="current: all by one baseline; as-submitted: each keeps the score of its day.")
]
AskedPolicy = Annotated[str | None, Parameter(help="current or as-submitted; the arena's by default.")]
TaskName = Annotated[str, Parameter(help="The task's id.")]
LevelOption = Annotated[float | None, Parameter(help="Level of intervals, 0.95 by default.")]
TopOption = Annotated[FromOne | None, Parameter(help="Show only the first places.")]
