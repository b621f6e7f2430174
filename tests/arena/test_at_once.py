"""Several work in one arena at once: none is answered from two states, and none scores by settings that are past."""

from __future__ import annotations

import random
from collections.abc import Callable
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

import steelyard.arena.ingest._rescore as rescoring_module
import steelyard.arena.scoring._receipts as receipts_module
from arena_makers import as_submission, as_task, changed_profile, make_arena, random_submission
from steelyard.arena import Arena, Receipt, open_arena
from steelyard.arena.scoring._task_state import TaskState, load_task_states
from steelyard.errors import UnknownNameError
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import Submission
from steelyard.store import Store, open_store

PATIENCE_SECONDS = 0.4
"""How long one is given to get in between, which it must not."""


def some(count: int, *, start: int = 0) -> list[Submission]:
    rng = random.Random(start)
    return [as_submission(random_submission(rng, f"s{start + number}", "task", number)) for number in range(count)]


def other_door(store: Store) -> Arena:
    """The same arena as another process sees it."""
    return open_arena(open_store(store.url.render_as_string(hide_password=False), create=False))


class Meanwhile:
    """Runs something in a thread of its own, and tells how that ended."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.is_begun = False
        self._work = work
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised again by `end`
            self._error = error

    def start(self, patience: float = PATIENCE_SECONDS) -> None:
        """Begin, and wait a little: whoever is not held back gets done."""
        self.is_begun = True
        self._thread.start()
        self._thread.join(patience)

    def end(self) -> None:
        self._thread.join()
        if self._error is not None:
            raise self._error


def after_loading(monkeypatch: pytest.MonkeyPatch, module: ModuleType, meanwhile: Meanwhile) -> None:
    """Let something come in between as soon as the module has loaded the state of tasks."""

    def load(*args: Any, **options: Any) -> dict[int, TaskState]:  # Any: as `load_task_states` takes them
        found = load_task_states(*args, **options)
        if not meanwhile.is_begun:  # what comes in between may load too
            meanwhile.start()
        return found

    monkeypatch.setattr(module, "load_task_states", load)


def check_tallies(arena: Arena) -> None:
    """What a receipt says, from tallies, is what the leaderboard sayss, from every submission."""
    shown = {one.submission_id: one for one in arena_task_leaderboard(arena, "task").leaderboard}
    again = [one for one in some(40) + some(40, start=1000) if one.id in shown]
    for receipt in arena.submit(again):
        assert isinstance(receipt, Receipt)
        place = shown[receipt.submission_id]
        assert receipt.overall_score == place.overall_score
        assert (receipt.overall_ranking, receipt.percentile) == (place.overall_ranking, place.percentile)


@pytest.mark.parametrize("count", [40, 1000])
def test_a_known_submission_is_answered_from_one_state(
    store: Store, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    arena = make_arena(store)
    arena.add_task(as_task({"id": "task"}))
    arena.submit(some(count))
    before = arena.submit(some(40))
    other = other_door(store)
    meanwhile = Meanwhile(lambda: other.submit(some(40, start=10000)))
    after_loading(monkeypatch, receipts_module, meanwhile)
    assert arena.submit(some(40)) == before
    monkeypatch.undo()
    meanwhile.end()
    assert arena_task_leaderboard(arena, "task").n == count + 40
    check_tallies(arena)


@pytest.mark.parametrize("size", [1, 40])
def test_a_submission_that_meets_a_change_of_policy_is_scored_by_the_new_one(
    store: Store, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    arena = make_arena(store)
    arena.add_task(as_task({"id": "task"}))
    arena.submit(some(40))
    other = other_door(store)
    meanwhile = Meanwhile(lambda: other.submit(some(size, start=1000)))
    after_loading(monkeypatch, rescoring_module, meanwhile)
    arena.rescore_tasks(policy="as-submitted")
    monkeypatch.undo()
    meanwhile.end()
    assert other.policy == "as-submitted"
    assert arena_task_leaderboard(arena, "task").n == 40 + size
    check_tallies(arena)


def test_every_door_follows_a_change_of_settings(store: Store) -> None:
    arena = make_arena(store)
    other = other_door(store)
    arena.rescore_tasks(profile=changed_profile(speed_exponent=0.3), policy="as-submitted")
    other.add_task(as_task({"id": "task"}))
    assert (other.rules, other.policy) == (arena.rules, "as-submitted")
    other.submit(some(5))
    arena.rescore_tasks(policy="current")
    shown = arena_task_leaderboard(other, "task")
    assert (shown.policy, shown.profile) == ("current", "mine")


def test_a_task_of_rules_that_were_made_meanwhile_can_be_submitted_to(store: Store) -> None:
    arena = make_arena(store)
    arena.add_task(as_task({"id": "task"}))
    other = other_door(store)
    other.rescore_tasks(profile=changed_profile(difficulty_factors={"expert": 1.3}))
    other.add_task(as_task({"id": "hard", "difficulty": "expert"}))
    given = [
        as_submission({"id": name, "task_id": name, "total_tokens": 9, "tool_calls": 2}) for name in ("task", "hard")
    ]
    assert [type(outcome) for outcome in arena.submit(given)] == [Receipt, Receipt]


def test_a_change_of_settings_that_fails_changes_nothing(store: Store) -> None:
    arena = make_arena(store)
    arena.add_task(as_task({"id": "task", "difficulty": "advanced"}))
    arena.submit(some(5))
    before = arena_task_leaderboard(arena, "task")
    with pytest.raises(UnknownNameError, match="advanced"):
        arena.rescore_tasks(profile=changed_profile(difficulty_factors={"beginner": 1.0}), policy="as-submitted")
    assert (arena.rules.name, arena.policy) == ("arena-1", "current")
    assert arena_task_leaderboard(arena, "task") == before
