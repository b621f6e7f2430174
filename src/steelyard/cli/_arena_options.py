"""Options shared by the arena commands, and the groups of `steelyard arena --help`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Group, Parameter

from steelyard.cli._options import DRAWN_FORMATS, FromOne, OnePath

SET_UP, SUBMIT, LEADERBOARD, MODERATE, PEER_REVIEW, MODELS, SEASONS, NOTIFY = (
    Group(title, sort_key=position)
    for position, title in enumerate(
        ("Set up", "Submit", "Leaderboard", "Moderate", "Peer review", "Models", "Seasons", "Notify")
    )
)

StoreOption = Annotated[str, Parameter(help="Store URL: sqlite:///FILE, postgresql://USER@HOST/NAME.")]
ArenaProfile = Annotated[
    str, Parameter(help="Scoring profile: a built-in name (see: steelyard profiles) or a TOML file.")
]
PolicyOption = Annotated[
    str, Parameter(help="Baseline policy: current (one baseline for all) or as-submitted (the one at submission time).")
]
AskedPolicy = Annotated[
    str | None, Parameter(help="Baseline policy: current or as-submitted (default: the policy of the arena).")
]
TaskName = Annotated[str, Parameter(help="Task id.")]
ConfidenceOption = Annotated[float | None, Parameter(help="Confidence level, between 0 and 1 (default: 0.95).")]
LeaderboardFile = Annotated[
    OnePath | None,
    Parameter(alias="-o", help=f"Write the leaderboard of the task, or of all tasks, to FILE; {DRAWN_FORMATS}"),
]
ResultFile = Annotated[OnePath | None, Parameter(alias="-o", help=f"Write the result to FILE; {DRAWN_FORMATS}")]
SetOption = Annotated[
    tuple[str, ...],
    Parameter(help="Set a field on every run (see: steelyard read --help); repeatable.", negative=""),
]
TopOption = Annotated[FromOne | None, Parameter(help="Number of ranks to show (default: all).")]
