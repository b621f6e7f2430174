"""Create an arena in a store.

If the store contains an arena with the same profile and policy, nothing changes.
"""

from __future__ import annotations

from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import DEFAULT_PROFILE, Policy
from steelyard.questions._answer import Rows
from steelyard.questions._arena import init_arena
from steelyard.questions._question import Options, doc, store_action
from steelyard.questions.arena._common import ArenaAnswer


class InitOptions(Options):
    """Options of `arena init`."""

    profile: str = doc(
        "Scoring profile: a built-in name (see: steelyard profiles) or a TOML file.",
        default=DEFAULT_PROFILE,
        local=True,
    )
    policy: Policy = doc(
        "Baseline policy: current (one baseline for all) or as-submitted (the one at submission time).",
        default="current",
    )


class ArenaSettings(ArenaAnswer, frozen=True, kw_only=True):
    """An arena with its store, profile and policy."""

    rows: ClassVar[Rows] = Rows(keep=("store", "profile", "policy"))

    store: str
    """URL of the store, without a password."""
    profile: str
    policy: Policy

    @property
    def about(self) -> str:
        """Store, profile and policy."""
        return f"{self.store}: {self.profile}, policy {self.policy}"


@store_action(InitOptions, examples=({"store": "sqlite:///arena.db"},))
def arena_init(store: str, options: InitOptions) -> ArenaSettings:
    """Create an arena, and return its settings."""
    arena = init_arena(store, profile=options.profile, policy=options.policy)
    try:
        return ArenaSettings(store=arena.store.address, profile=arena.rules.name, policy=arena.policy)
    finally:
        arena.store.close()


def page(answer: ArenaSettings) -> pages.Page:
    """Return the settings in a sentence."""
    sentence = f"{answer.store}: created arena with profile {answer.profile}, policy {answer.policy}."
    return pages.Page(name="settings", title="Which rules does this arena have?", answer=sentence)
