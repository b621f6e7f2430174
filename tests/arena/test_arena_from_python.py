"""The arena from Python: plain values are submissions and tasks, and nothing that is given goes unanswered."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from arena_makers import make_arena
from steelyard.arena import Receipt
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import Rejected
from steelyard.store import Store

PAGE = Path(__file__).parent.parent.parent / "docs" / "arena.md"


def good(name: str) -> dict[str, Any]:
    return {"id": name, "task_id": "task", "total_tokens": 1, "tool_calls": 2}


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        ({"id": "half"}, "task_id is missing"),
        ({**good("x"), "id": 5}, "id: expected str, got int"),
        ({**good("x"), "total_tokens": 10**400}, "total_tokens: expected int <= 9007199254740992"),
        (3, "expected object, got int"),
        (None, "expected object, got null"),
        (sy.Submission(id=None, task_id="task", total_tokens=1, tool_calls=1), "id: expected str, got null"),  # type: ignore[arg-type]
        (sy.Submission(id="x", task_id=["task"], total_tokens=1, tool_calls=1), "task_id: expected str, got array"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_submission_is_refused_in_its_place(store: Store, one: Any, reason: str) -> None:
    arena = make_arena(store)
    arena.add_task({"id": "task"})
    first, refused, last = arena.submit([good("a"), one, good("b")])
    assert isinstance(first, Receipt)
    assert isinstance(last, Receipt)
    assert isinstance(refused, Rejected)
    assert refused.reason == reason
    assert arena_task_leaderboard(arena, "task").n == 2


def test_plain_values_are_what_a_submission_says(store: Store) -> None:
    arena = make_arena(store)
    arena.add_task({"id": "task"})
    (first,) = arena.submit([good("a")])
    (again,) = arena.submit([sy.Submission(**good("a"))])
    assert isinstance(first, Receipt)
    assert isinstance(again, Receipt)
    assert (first.status, again.status) == ("accepted", "known")


def test_what_is_no_task_is_an_error(store: Store) -> None:
    with pytest.raises(sy.SteelyardError, match="invalid task"):
        make_arena(store).add_task({"id": "task", "titel": "x"})


@pytest.mark.checkout
def test_the_page_s_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.search(r"```python\n(import steelyard.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    exec(compile(found[1], str(PAGE), "exec"), {})  # noqa: S102 - our own page
    assert capsys.readouterr().out.split()[:2] == ["1", "bee-1"]


def test_the_verbs_of_the_command_line_are_methods(store: Store) -> None:
    arena = sy.open_arena(make_arena(store).store.url.render_as_string(hide_password=False))
    arena.add_task({"id": "task"})
    arena.submit([good("a"), good("b")])
    arena.decide("a", "excluded", reason="odd")
    assert [place.submission_id for place in arena.task_leaderboard("task").leaderboard] == ["b"]
    assert arena.show("b").receipt.submission_id == "b"
    assert [review.submission_id for review in arena.review_log().reviews] == ["a"]
    assert arena.task_show("task").submissions == 1
    assert arena.leaderboard().overall[0].submissions == 1
    assert arena.history(task="task").n == 1
    arena.store.close()


def test_unknown_options_of_an_arena_name_what_has_them(store: Store) -> None:
    arena = sy.open_arena(make_arena(store).store.url.render_as_string(hide_password=False))
    arena.add_task({"id": "task"})
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: arena.leaderboard(until="2026-13"), "unknown option of leaderboard 'until' (use task_leaderboard)"),
        (lambda: arena.leaderboard(confidnce=0.9), "'confidnce' (did you mean 'confidence'?)"),
        (
            lambda: arena.history("task"),
            "history: too many positional arguments (got 'task') (use keywords: task, submitter, team)",
        ),
        (lambda: arena.task_leaderboard("task", until="2026-13"), "until '2026-13' is not a date"),
    ]
    for call, message in wrong:
        with pytest.raises(sy.SteelyardError, match=re.escape(message)) as caught:
            call()
        assert "arena_" not in str(caught.value)
    arena.store.close()
