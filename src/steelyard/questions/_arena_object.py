"""The arena as an object: the commands of `steelyard arena` as its methods.

`sy.connect` returns an object with the same methods for an arena on a server; a test compares the two. Methods for the
owner of the store (`compare_profiles`, `season_verify`, `watch`, `notify`) work only here.
"""

from __future__ import annotations

from pathlib import Path

from steelyard import arena
from steelyard.arena import DEFAULT_PROFILE
from steelyard.questions import _arena
from steelyard.questions._question import ArenaMethods
from steelyard.questions.arena.season_verify import Verification, verify_manifest
from steelyard.settings import DEFAULT_STORE


class Arena(ArenaMethods, arena.Arena):
    """Arena in a store opened by this process."""

    def season_verify(self, manifest: Path | str) -> Verification:
        """Verify a manifest file against this arena."""
        return verify_manifest(Path(manifest), self)


def init_arena(address: str = DEFAULT_STORE, *, profile: str = DEFAULT_PROFILE, policy: str = "current") -> Arena:
    """Create an arena in the store, or open an existing one with the same rules.

    >>> import steelyard as sy
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     arena = sy.init_arena(f"sqlite:///{folder}/arena.db")
    ...     _ = arena.add_task({"id": "fix-race"})
    ...     _ = arena.submit([{"id": "s1", "task_id": "fix-race", "total_tokens": 900, "tool_calls": 3}])
    ...     places = arena.task_leaderboard("fix-race").leaderboard
    >>> [(place.submission_id, place.overall_ranking) for place in places]
    [('s1', 1)]
    """
    return _with_verbs(_arena.init_arena(address, profile=profile, policy=policy))


def open_arena(address: str = DEFAULT_STORE) -> Arena:
    """Open the arena in a store.

    >>> import steelyard as sy
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = sy.init_arena(f"sqlite:///{folder}/arena.db")
    ...     answer = sy.open_arena(f"sqlite:///{folder}/arena.db").task_list()
    >>> answer.tasks
    ()
    """
    return _with_verbs(_arena.open_arena(address))


def _with_verbs(opened: arena.Arena) -> Arena:
    return Arena(opened.store, rules=opened.rules, policy=opened.policy, fitter=opened.fitter)
