"""Real agents' logs as submissions."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena_makers import make_arena
from steelyard.arena import LocatedSubmission, Receipt
from steelyard.prices import open_price_table
from steelyard.questions.arena.submit_runs import FromRuns, submissions_from_runs
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import Task
from steelyard.store import open_store

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
LOGS = ("claude-code", "codex", "gemini-cli")

pytestmark = pytest.mark.skipif(
    not all((SAMPLES / name).is_dir() for name in LOGS), reason="the real samples are not beside this checkout"
)


def test_real_logs_can_be_submitted_and_ranked(tmp_path: Path) -> None:
    price_table = open_price_table("genai-prices")
    nowhere = FromRuns(task_map={}, price_table=price_table, submitter=None)
    found = [one for name in LOGS for one in submissions_from_runs([SAMPLES / name], nowhere)]
    assert found
    assert not [one for one in found if isinstance(one, LocatedSubmission)]  # an empty map names no task
    given = [one for name in LOGS for one in submissions_from_runs([SAMPLES / name], FromRuns(None, price_table, None))]
    read = [one.submission for one in given if isinstance(one, LocatedSubmission)]
    assert len(read) > len(given) / 2
    store = open_store(f"sqlite:///{tmp_path}/arena.db")
    arena = make_arena(store)
    for name in {one.task_id for one in read}:
        arena.add_task(Task(id=name))
    outcomes = arena.submit(read)
    assert all(isinstance(outcome, Receipt) for outcome in outcomes)
    assert sum(arena_task_leaderboard(arena, name).n for name in {one.task_id for one in read}) == len(
        {one.id for one in read}
    )
    store.close()
