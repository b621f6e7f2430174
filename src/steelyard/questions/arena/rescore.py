"""Rescore submissions, for example under another profile.

Under the as-submitted policy, existing scores do not change: only baselines and ranks are recomputed, and a new profile
applies only to new submissions.
"""

from __future__ import annotations

from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, Policy
from steelyard.formatting import counted
from steelyard.profiles import Profile, load_profile
from steelyard.questions._answer import Rows
from steelyard.questions._options import ProfileName
from steelyard.questions._question import Options, Texts, arena_action, doc
from steelyard.questions.arena._common import ArenaAnswer
from steelyard.records import Finding


class RescoreOptions(Options):
    """Options of `arena rescore`."""

    tasks: Texts = doc("Task ids (default: all).", default=(), kw_only=False)
    profile: ProfileName | None = doc("Change the profile of the arena.", default=None, local=True)
    policy: Policy | None = doc("Change the baseline policy of the arena.", default=None)


class RescoreResult(ArenaAnswer, frozen=True, kw_only=True):
    """Result of a rescore."""

    rows: ClassVar[Rows] = Rows(keep=("submissions", "rescored", "profile", "policy"))

    submissions: int
    """Number of submissions that were ranked again."""
    rescored: int
    """Number of submissions that were rescored; 0 under `as-submitted`."""
    profile: str
    policy: Policy
    findings: tuple[Finding, ...]
    """Tasks whose category has no weights."""

    @property
    def about(self) -> str:
        """Number of rescored submissions, profile and policy."""
        return f"{self.rescored:,} of {self.submissions:,} submissions rescored; {self.profile}, {self.policy}"


@arena_action(RescoreOptions, examples=({"profile": "mine.toml"},))
def arena_rescore(arena: Arena, options: RescoreOptions) -> RescoreResult:
    """Rescore the submissions of some or all tasks, optionally under a new profile or policy."""
    named = options.profile
    profile = named if named is None or isinstance(named, Profile) else load_profile(named)
    tasks = list(options.tasks)
    count = arena.rescore_tasks(tasks or None, profile=profile, policy=options.policy)
    chosen = (task for task in arena.tasks() if not tasks or task.id in tasks)
    return RescoreResult(
        submissions=count,
        rescored=count if arena.policy == "current" else 0,
        profile=arena.rules.name,
        policy=arena.policy,
        findings=tuple(finding for task in chosen if (finding := arena.rules.finding_about(task)) is not None),
    )


def page(answer: RescoreResult) -> pages.Page:
    """Return the result of a rescore in a sentence."""
    shown = counted(answer.submissions, "submission")
    if answer.policy == "current":
        sentence = f"{shown} rescored with profile {answer.profile}, policy current."
    else:
        sentence = (
            f"Policy as-submitted: {shown} ranked by their original scores; new submissions are scored by "
            f"{answer.profile}, which also sets the baselines."
        )
    return pages.Page(name="rescore", title="What was rescored?", answer=sentence)
