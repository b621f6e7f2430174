"""Options that the arena's commands share."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.surfaces.cli._options import FromOne, OnePath

StoreOption = Annotated[str, Parameter(help="The store: sqlite:///file or postgresql://user@host/name.")]
ArenaProfile = Annotated[str, Parameter(help="A shipped profile (steelyard profiles) or a TOML file.")]
PolicyOption = Annotated[
    str, Parameter(help="current: all by one baseline; as-submitted: each keeps the score of its day.")
]
AskedPolicy = Annotated[str | None, Parameter(help="current or as-submitted; the arena's by default.")]
TaskName = Annotated[str, Parameter(help="The task's id.")]
ConfidenceOption = Annotated[float | None, Parameter(help="Confidence of the intervals, 0.95 by default.")]
LeaderboardFile = Annotated[
    OnePath | None,
    Parameter(help="Write the leaderboard of the task (of all tasks) to this file: .json, .csv, .parquet, .svg, .png."),
]
ResultFile = Annotated[
    OnePath | None, Parameter(help="Write the result to this file: .json, .csv, .parquet, .svg, .png.")
]
SetOption = Annotated[
    tuple[str, ...],
    Parameter(help="Set KEY=VALUE in every run record, as in steelyard read; may be repeated.", negative=""),
]
TopOption = Annotated[FromOne | None, Parameter(help="Show only the first places.")]
