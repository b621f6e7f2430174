"""Options shared by the arena commands, and the groups of `steelyard arena --help`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Group, Parameter

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
SetOption = Annotated[
    tuple[str, ...],
    Parameter(help="Set a field on every run (see: steelyard read --help); repeatable.", negative=""),
]
