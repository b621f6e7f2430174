"""Excluded, a submission leaves its task as if it had never come; reinstated, as if it had never left."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from sqlalchemy import select

from arena_makers import changed_profile, make_arena, random_submission, random_task
from steelyard import open_arena
from steelyard.arena import (
    Arena,
    Decision,
    Policy,
    Receipt,
    combination_baselines,
    evaluation,
    open_arena as open_own,
    outliers,
)
from steelyard.cli import run
from steelyard.errors import UnknownNameError, UsageError
from steelyard.profiles import load_profile
from steelyard.questions.arena.bias import arena_bias
from steelyard.questions.arena.changes import arena_changes
from steelyard.questions.arena.compare_profiles import arena_compare_profiles
from steelyard.questions.arena.history import arena_history
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.review_log import arena_review_log
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.questions.arena.task_show import arena_task_show
from steelyard.records import Rejected, iso
from steelyard.store import Store, open_store
from steelyard.store.schema import reviews, states, submissions, tallies

KILLED = Path(__file__).parents[1] / "support" / "arena_review_kill.py"
COUNTERS = {"baseline_version", "last_updated"}
"""What counts upward, and so is not what it was."""


def without(values: Any, *names: str) -> Any:  # Any: JSON values
    """The values without these names, however deep they stand."""
    if isinstance(values, dict):
        return {name: without(value, *names) for name, value in values.items() if name not in names}
    return [without(value, *names) for value in values] if isinstance(values, list) else values


def told(arena: Arena) -> dict[str, Any]:  # Any: JSON values
    """What an arena says of its submissions under both policies, but for counters and the log of decisions."""
    answers: dict[str, Any] = {}
    policies: tuple[Policy, ...] = ("current", "as-submitted")
    for policy in policies:
        for task in arena.tasks():
            shown = arena_task_leaderboard(arena, task.id, policy=policy)
            answers[f"{policy} {task.id}"] = [shown.to_dict()["leaderboard"], shown.baseline, shown.n]
        answers[f"{policy} leaders"] = arena_leaderboard(arena, policy=policy).to_dict()
        answers[f"{policy} bias"] = arena_bias(arena, policy=policy).to_dict()
    answers["outliers"] = [msgspec.to_builtins(each) for each in outliers(arena)]
    answers["profiles"] = arena_compare_profiles(
        arena, load_profile("arena-1"), changed_profile(speed_exponent=0.2)
    ).to_dict()
    shown = without(answers, *COUNTERS, "evaluated_at", "since")
    assert isinstance(shown, dict)
    return shown


def counts(store: Store) -> list[Any]:  # Any: column values
    """What is counted of each task: tallies, extremes, medians."""
    kept = [column for column in states.columns if column.name not in ("version", "accepted")]
    with store.read() as connection:
        return [
            sorted(map(tuple, connection.execute(select(tallies)))),
            sorted(map(tuple, connection.execute(select(*kept))), key=lambda row: row[0]),
        ]


def give(arena: Arena, rows: list[dict[str, Any]], *, sizes: tuple[int, ...], seed: int) -> None:
    rng = random.Random(seed)
    left = list(rows)
    while left:
        size = rng.choice(sizes)
        outcomes = arena.submit(left[:size])
        assert all(isinstance(outcome, Receipt) for outcome in outcomes)
        left = left[size:]


def made(seed: int, sizes: tuple[int, ...]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rng = random.Random(seed)
    tasks = [random_task(rng, f"t{number}") for number in range(len(sizes))]
    rows = [
        random_submission(rng, f"{task}-{number}", f"t{task}", number)
        for task, size in enumerate(sizes)
        for number in range(size)
    ]
    rng.shuffle(rows)
    return tasks, rows


def filled(store: Store, tasks: list[dict[str, Any]], policy: Policy) -> Arena:
    arena = make_arena(store, policy=policy)
    for task in tasks:
        arena.add_task(task)
    return arena


@pytest.mark.parametrize("sizes", [(1,), (2, 30, 250)], ids=["single", "batches"])
@pytest.mark.parametrize("seed", range(3))
def test_an_exclusion_leaves_an_arena_that_never_saw_the_submission(
    store: Store, tmp_path: Path, seed: int, sizes: tuple[int, ...]
) -> None:
    tasks, rows = made(seed, (5, 6, 1, 40) if sizes == (1,) else (5, 6, 1, 230))
    arena = filled(store, tasks, "current")
    half = len(rows) // 2
    give(arena, rows[:half], sizes=sizes, seed=seed)
    rng = random.Random(seed)
    early = rng.sample(rows[:half], 3)
    for row in early:
        assert arena.decide(row["id"], "excluded", by="rev", reason="odd").changed
    give(arena, rows[half:], sizes=sizes, seed=seed + 1)
    full = told(arena)
    # Of the task with five too, so that it falls below the number that makes a baseline.
    late = [*rng.sample([row for row in rows if row not in early], 4), *(row for row in rows if row["task_id"] == "t0")]
    gone = {row["id"]: row for row in (*early, *late[:5])}
    for name in gone.keys() - {row["id"] for row in early}:
        arena.decide(name, "excluded", by="rev", reason="odd")
    other = open_store(f"sqlite:///{tmp_path}/never.db")
    never = filled(other, tasks, "current")
    give(never, [row for row in rows if row["id"] not in gone], sizes=sizes, seed=seed + 2)
    current = [name for name in told(never) if not name.startswith("as-submitted")]
    ours, theirs = told(arena), told(never)
    for name in current:
        assert ours[name] == theirs[name], name
    assert counts(store) == counts(other)
    arena.rescore_tasks()  # nothing is left to be made anew
    assert told(arena) == ours
    for name in gone.keys() - {row["id"] for row in early}:
        arena.decide(name, "reinstated", by="rev")
    assert told(arena) == full
    other.close()


@pytest.mark.parametrize("sizes", [(1,), (3, 40)], ids=["single", "batches"])
@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_reinstated_it_is_as_it_was(store: Store, policy: Policy, sizes: tuple[int, ...]) -> None:
    tasks, rows = made(7, (5, 4, 60))
    arena = filled(store, tasks, policy)
    give(arena, rows, sizes=sizes, seed=7)
    first, counted = told(arena), counts(store)
    chosen = random.Random(7).sample([row["id"] for row in rows], 12)
    for name in chosen:
        arena.decide(name, "excluded", reason="odd")
    assert told(arena) != first
    random.Random(8).shuffle(chosen)
    for name in chosen:
        arena.decide(name, "reinstated")
    assert told(arena) == first
    assert counts(store) == counted


@pytest.mark.parametrize("sizes", [(1,), (3, 40)], ids=["single", "batches"])
def test_as_submitted_the_others_keep_their_scores(store: Store, sizes: tuple[int, ...]) -> None:
    tasks, rows = made(9, (6, 50))
    arena = filled(store, tasks, "as-submitted")
    give(arena, rows, sizes=sizes, seed=9)
    before = {row.submission_id: row for task in tasks for row in arena_task_leaderboard(arena, task["id"]).leaderboard}
    gone = {row["id"] for row in random.Random(9).sample(rows, 8)}
    for name in gone:
        arena.decide(name, "excluded", reason="odd")
    for task in tasks:
        leaderboard = arena_task_leaderboard(arena, task["id"]).leaderboard
        scores = [row.overall_score for row in leaderboard]
        for row in leaderboard:
            earlier = before[row.submission_id]
            assert (row.overall_score, row.baseline_version) == (earlier.overall_score, earlier.baseline_version)
            assert row.overall_ranking == 1 + sum(score > row.overall_score for score in scores)
            known = evaluation(arena, row.submission_id).receipt
            assert (known.overall_ranking, known.percentile) == (row.overall_ranking, row.percentile)
        assert {row.submission_id for row in leaderboard} == {
            name for name, row in before.items() if row.task_id == task["id"] and name not in gone
        }


SIX = [
    {"id": f"s{n}", "task_id": "task", "total_tokens": 1000 * n, "tool_calls": n + 1, "submitter": f"u{n % 2}"}
    | {"execution_time": 60.0 * n, "estimated_cost": n / 100, "submitted_at": f"2026-01-0{n}T00:00:00Z", "agent": "a"}
    for n in range(1, 7)
]


@pytest.fixture
def arena(store: Store, clock: list[int]) -> Arena:
    """Six submissions, the first the best in everything; then a second goes by."""
    filled_arena = make_arena(store)
    filled_arena.add_task({"id": "task"})
    filled_arena.submit(SIX)
    clock[0] += 1_000_000
    return filled_arena


def test_the_log_tells_who_decided_what_when_and_why(arena: Arena, clock: list[int]) -> None:
    done = arena.decide("s2", "excluded", by="rev", reason="copied")
    assert (done.status, done.changed, done.submissions, done.task_id) == ("excluded", True, 5, "task")
    clock[0] += 1_000_000
    again = arena.decide("s2", "excluded", by="other", reason="another")
    assert (again.status, again.changed) == ("excluded", False)
    assert again.review is not None
    assert (again.review.by, again.review.reason) == ("rev", "copied")
    arena.decide("s2", "reinstated", by="chief")
    assert arena.decide("s2", "reinstated").changed is False
    arena.decide("s3", "accepted", by="rev")
    log = arena_history(arena, task="task").reviews
    assert [(entry.submission_id, entry.decision, entry.by, entry.reason, entry.decided_at) for entry in log] == [
        ("s2", "excluded", "rev", "copied", "1970-01-01T00:00:02+00:00"),
        ("s2", "reinstated", "chief", None, "1970-01-01T00:00:03+00:00"),
        ("s3", "accepted", "rev", None, "1970-01-01T00:00:03+00:00"),
    ]
    assert evaluation(arena, "s2").reviews == log[:2]
    assert arena_history(arena, submitter="u1").reviews == log[2:]  # s1, s3 and s5


def test_an_excluded_submission_is_shown_and_its_id_stays_taken(arena: Arena) -> None:
    arena.decide("s1", "excluded", by="rev", reason="copied")
    leaderboard = arena_task_leaderboard(arena, "task")
    assert [row.submission_id for row in leaderboard.leaderboard] == ["s2", "s3", "s4", "s5", "s6"]
    assert [(entry.submission_id, entry.by, entry.reason) for entry in leaderboard.excluded] == [
        ("s1", "rev", "copied")
    ]
    (again,) = arena.submit(SIX[:1])
    assert isinstance(again, Receipt)
    assert (again.status, again.overall_ranking, again.percentile) == ("excluded", None, None)
    (changed,) = arena.submit([SIX[0] | {"total_tokens": 7}])
    assert isinstance(changed, Rejected)
    assert changed.code == "id_with_other_content"
    shown = evaluation(arena, "s1")
    assert (shown.receipt.status, shown.receipt.overall_ranking) == ("excluded", None)
    assert [moment.submission_id for moment in arena_history(arena, task="task").moments] == [
        f"s{n}" for n in range(2, 7)
    ]
    (new,) = arena.submit([SIX[0] | {"id": "s7"}])
    assert isinstance(new, Receipt)
    assert new.overall_ranking == 1


def test_below_five_the_defaults_hold_again(arena: Arena) -> None:
    assert arena_task_leaderboard(arena, "task").baseline["max_tokens"] == 6000
    arena.decide("s6", "excluded", reason="odd")
    assert arena_task_leaderboard(arena, "task").baseline["max_tokens"] == 5000  # five are left, from 1,000 to 5,000
    done = arena.decide("s5", "excluded", reason="odd")
    assert done.submissions == 4
    assert arena_task_leaderboard(arena, "task").baseline["max_tokens"] == 200_000  # the default
    assert evaluation(arena, "s1").sources["max_tokens"] == "default of the profile"
    for name in ("s1", "s2", "s3", "s4"):
        assert arena.decide(name, "excluded", reason="odd").changed
    assert arena_task_leaderboard(arena, "task").leaderboard == ()
    assert evaluation(arena, "s1").receipt.overall_ranking is None
    assert outliers(arena) == []


def test_standings_of_a_moment_are_of_what_counted_then(arena: Arena, clock: list[int]) -> None:
    then = arena_task_leaderboard(arena, "task")
    arena.decide("s1", "excluded", reason="odd")
    clock[0] += 1_000_000
    without_it = arena_task_leaderboard(arena, "task")
    arena.decide("s1", "reinstated")
    assert arena_task_leaderboard(arena, "task", until=iso(1_500_001)) == then
    assert arena_task_leaderboard(arena, "task", until=iso(2_500_001)) == without_it
    arena.decide("s6", "excluded", reason="odd")
    (changed,) = arena_changes(arena, since=iso(1_500_000)).changes
    left = [(move.submission_id, move.then_ranking, move.now_ranking, move.now_score) for move in changed.moved]
    assert left[-1] == ("s6", 6, None, None)
    assert (changed.then_n, changed.now_n) == (6, 5)


def test_a_baseline_tells_when_it_was_last_updated(arena: Arena, clock: list[int]) -> None:
    def last_updated() -> object:
        return arena_task_leaderboard(arena, "task").baseline["last_updated"]

    assert last_updated() == "1970-01-01T00:00:01+00:00"
    clock[0] = 5_000_000
    arena.decide("s3", "accepted")
    assert last_updated() == "1970-01-01T00:00:01+00:00"  # that changes no number
    arena.decide("s3", "excluded", reason="odd")  # nor does this change a bound, and yet the medians
    assert last_updated() == "1970-01-01T00:00:05+00:00"
    clock[0] = 6_000_000
    arena.submit([SIX[2] | {"id": "s8"}])
    assert last_updated() == "1970-01-01T00:00:06+00:00"
    details = arena_task_show(arena, "task")
    assert details.to_dict()["baseline"]["last_updated"] == "1970-01-01T00:00:06+00:00"
    (own,) = combination_baselines(arena, "task")
    assert own.baseline is not None
    assert own.baseline["last_updated"] == "1970-01-01T00:00:06+00:00"
    arena.add_task({"id": "new"})
    assert arena_task_leaderboard(arena, "new").baseline["last_updated"] == "1970-01-01T00:00:06+00:00"


def test_accepting_settles_a_review_and_reinstating_does_not_open_it_again(arena: Arena) -> None:
    arena.submit([{"id": "odd", "task_id": "task", "total_tokens": 9, "tool_calls": 1, "execution_time": 1.0}])
    assert [row.submission_id for row in outliers(arena)] == ["odd"]
    arena.decide("odd", "excluded", reason="odd")
    assert outliers(arena) == []
    arena.decide("odd", "reinstated")
    assert [row.submission_id for row in outliers(arena)] == ["odd"]
    arena.decide("odd", "accepted")
    for _ in range(2):
        assert outliers(arena) == []
        (row,) = [row for row in arena_task_leaderboard(arena, "task").leaderboard if row.submission_id == "odd"]
        assert len(row.flags) == 3
        assert row.recommended_action is None
        arena.decide("odd", "excluded", reason="odd after all")
        arena.decide("odd", "reinstated")


def test_withdrawing_is_up_to_the_submitter(arena: Arena) -> None:
    with pytest.raises(UsageError, match="only the submitter \\('u1'\\)"):
        arena.decide("s1", "withdrawn", by="rev")
    done = arena.decide("s1", "withdrawn")
    assert done.review is not None
    assert (done.status, done.review.decision, done.review.by) == ("excluded", "withdrawn", "u1")
    for name, by in (("nobody", None), ("somebody", "ada")):
        arena.submit([SIX[0] | {"id": name, "submitter": None}])
        own = arena.decide(name, "withdrawn", by=by).review
        assert own is not None
        assert (own.decision, own.by) == ("withdrawn", by)  # unknown stays unknown


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"decision": "excluded"}, "requires a reason"),
        ({"decision": "excluded", "reason": " "}, "requires a reason"),
        ({"decision": "excluded", "reason": "a\0b"}, "NUL byte"),
        ({"decision": "accepted", "reason": "x" * 10_001}, "longer than 10,000 characters"),
        ({"decision": "accepted", "by": "é" * 600}, "longer than 1024 bytes"),
        ({"decision": "accepted", "by": "\ud800"}, "lone surrogate"),
    ],
)
def test_a_decision_that_cannot_be_kept_is_refused(arena: Arena, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        arena.decide("s1", **given)
    assert arena_history(arena, task="task").reviews == ()


def test_a_wrong_id_is_answered_with_the_nearest_and_an_excluded_one_is_not_accepted(arena: Arena) -> None:
    with pytest.raises(UnknownNameError, match="did you mean"):
        arena.decide("s11", "accepted")
    with pytest.raises(UnknownNameError):
        arena.decide("a\0b", "withdrawn", by="x")
    arena.decide("s1", "excluded", reason="odd")
    with pytest.raises(UsageError, match="is excluded"):
        arena.decide("s1", "accepted")


def test_killed_at_any_statement_a_decision_is_made_wholly_or_not_at_all(
    store: Store, store_address: str, tmp_path: Path
) -> None:
    tasks, rows = made(11, (7,))
    give(filled(store, tasks, "current"), rows, sizes=(7,), seed=1)
    first = told(open_arena(store_address))
    store.close()
    command = [sys.executable, KILLED, store_address, rows[0]["id"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10  # so many statements, at each of which it was killed
    arena = open_arena(store_address)
    assert [entry.decision for entry in arena_history(arena, task="t0").reviews] == ["excluded", "reinstated"]
    assert told(arena) == first
    with arena.store.read() as connection:
        assert connection.execute(select(submissions.c.id).where(submissions.c.excluded_at.is_not(None))).all() == []
        assert len(connection.execute(select(reviews)).all()) == 2


def test_who_decides_and_who_submits_at_the_same_time_do_not_disturb_each_other(
    store: Store, store_address: str, tmp_path: Path
) -> None:
    tasks, rows = made(12, (12, 9))
    arena = filled(store, tasks, "current")
    give(arena, rows[:10], sizes=(10,), seed=1)
    gone = {row["id"] for row in rows[:6]}

    def submit(part: list[dict[str, Any]]) -> None:
        own = open_store(store_address, create=False)
        for row in part:
            open_own(own).submit([row])
        own.close()

    def decide(names: list[str]) -> None:
        own = open_store(store_address, create=False)
        for name in names:
            for decision in ("excluded", "reinstated", "excluded"):
                open_own(own).decide(name, cast("Decision", decision), reason="odd")
        own.close()

    names = sorted(gone)
    with ThreadPoolExecutor() as pool:
        work = [pool.submit(submit, rows[10::2]), pool.submit(submit, rows[11::2])]
        work += [pool.submit(decide, names[:3]), pool.submit(decide, names[3:])]
        for future in work:
            future.result()
    other = open_store(f"sqlite:///{tmp_path}/never.db")
    give(filled(other, tasks, "current"), [row for row in rows if row["id"] not in gone], sizes=(1,), seed=2)
    assert counts(store) == counts(other)
    other.close()


def asked(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> Any:  # Any: JSON values
    capsys.readouterr()
    assert run([*words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_the_commands_review_and_withdraw(
    arena: Arena, store_address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = ("--store", store_address)
    done = asked(capsys, "arena", "review", "exclude", "s1", "--reason", "copied", "--as", "rev", *at)
    assert done.pop("review").items() >= {"decision": "excluded", "by": "rev", "reason": "copied"}.items()
    version = done.pop("baseline_version")
    assert done == {
        "schema_version": 1,
        "submission_id": "s1",
        "task_id": "task",
        "status": "excluded",
        "changed": True,
        "submissions": 5,
    }
    listed = asked(capsys, "arena", "leaderboard", "task", *at)
    assert [row["submission_id"] for row in listed["excluded"]] == ["s1"]
    assert "s1" not in {row["submission_id"] for row in listed["leaderboard"]}
    assert run(["arena", "leaderboard", "task", *at]) == 0
    assert "\n1 submission excluded.\n" in capsys.readouterr().out
    assert run(["arena", "show", "s1", *at]) == 0
    assert "s1 (a) is excluded from task; its score was " in " ".join(capsys.readouterr().out.split())
    monkeypatch.setenv("LOGNAME", "me")
    assert run(["arena", "review", "reinstate", "s1", *at]) == 0
    shown = capsys.readouterr().out
    assert "s1 in task was reinstated by me" in shown
    assert f"s1 is included; task has 6 submissions, baseline version {version + 1}." in shown
    assert run(["arena", "withdraw", "s1", "--reason", "wrong log", *at]) == 0
    assert "s1 in task was withdrawn by u1" in capsys.readouterr().out
    assert run(["arena", "withdraw", "s1", *at]) == 0
    assert "No change: s1 is excluded" in capsys.readouterr().out
    for words in (("s2",), ("accept", "s2", "--exclude")):
        assert asked(capsys, "arena", "review", *words, *at, status=2)["error"]["kind"] == "usage"
    refused = asked(capsys, "arena", "review", "exclude", "s2", *at, status=2)["error"]
    assert (refused["kind"], refused["message"]) == ("usage", "missing option --reason")
    refused = asked(capsys, "arena", "review", "exclude", "s2", "--reason", " ", *at, status=2)["error"]
    assert refused["hint"].startswith("--reason")
    assert run(["arena", "history", "--task", "task", *at]) == 0
    assert capsys.readouterr().out.count("s1 in task was withdrawn") == 1


def test_the_log_tells_every_decision_in_its_order(
    store: Store, store_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arena = make_arena(store)
    for task in ("a", "b"):
        arena.add_task({"id": task})
        arena.submit(
            [{"id": f"{task}-{number}", "task_id": task, "total_tokens": 9, "tool_calls": 1} for number in (1, 2)]
        )
    arena.decide("a-1", "excluded", by="ada", reason="reads the answer")
    arena.decide("b-2", "accepted", by="bo")
    arena.decide("a-2", "withdrawn")
    arena.decide("a-1", "reinstated", by="ada")
    arena.decide("a-1", "reinstated", by="ada")  # decided already: not logged again
    log = arena_review_log(arena)
    assert [(review.submission_id, review.decision, review.by) for review in log.reviews] == [
        ("a-1", "excluded", "ada"),
        ("b-2", "accepted", "bo"),
        ("a-2", "withdrawn", None),
        ("a-1", "reinstated", "ada"),
    ]
    assert [review.submission_id for review in arena_review_log(arena, "b").reviews] == ["b-2"]
    with pytest.raises(UnknownNameError, match="unknown task 'c'"):
        arena_review_log(arena, "c")
    assert run(["arena", "review", "log", "a", "--store", store_address]) == 0
    assert "a     a-1         excluded    ada  reads the answer" in capsys.readouterr().out
