"""What is accepted, what is refused and why, and what is remembered."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from arena_makers import as_submission, as_task, make_arena
from steelyard.arena import (
    Arena,
    Receipt,
    combination_baselines,
    create_arena,
    open_arena,
)
from steelyard.errors import StoreError, UnknownNameError, UsageError
from steelyard.profiles import Profile, load_profile
from steelyard.questions.arena.bias import arena_bias
from steelyard.questions.arena.changes import arena_changes
from steelyard.questions.arena.compare_profiles import arena_compare_profiles
from steelyard.questions.arena.history import arena_history, slope_per_day
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import (
    DecodeError,
    Failure,
    Judgment,
    Rejected,
    Run,
    Submission,
    TestResults,
    Usage,
    check_submission,
    convert_submission,
    decode_submission,
    iso,
    submission_from_run,
)
from steelyard.store import Store
from steelyard.store.schema import submissions

WHOLE = ("total_tokens", "tool_calls", "iterations")


def one(name: str, **changes_: Any) -> Submission:
    return as_submission({"id": name, "task_id": "task", "total_tokens": 5000, "tool_calls": 10, **changes_})


@pytest.fixture
def arena(store: Store) -> Arena:
    made = make_arena(store)
    made.add_task(as_task({"id": "task"}))
    return made


def accepted(arena: Arena, *given: Submission) -> list[Receipt]:
    outcomes = arena.submit(list(given))
    assert all(isinstance(outcome, Receipt) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Receipt)]


BAD: list[tuple[bytes, str]] = [
    (b'{"id": "a", "task_id": "task", "total_tokens": -1, "tool_calls": 1}', "total_tokens: expected int >= 0"),
    (b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "iterations": 0}', "iterations"),
    (b'{"id": "a", "task_id": "task", "tool_calls": 1}', "total_tokens is missing"),
    (b'{"id": "a", "task_id": "task", "total_tokens": 1}', "tool_calls is missing"),
    (b'{"id": "' + b"x" * 10_000_000 + b'", "task_id": "task", "total_tokens": 1, "tool_calls": 1}', "length <= 1024"),
    (b'{"id": "a\\u0000b", "task_id": "task", "total_tokens": 1, "tool_calls": 1}', "NUL"),
    (b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "agent": "\\u0000"}', "NUL"),
    (b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "overall_score": 150}', "overall_score"),
    (
        b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "judgments": [{"weighted_score": 1.5}]}',
        "1.0",
    ),
    (b'{"id": "a", "task_id": "task", "total_tokens": 1e99, "tool_calls": 1}', "total_tokens"),
    (b'{"id": "a", "task_id": "task", "total_tokens": 99999999999999999999, "tool_calls": 1}', "total_tokens"),
    (b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "execution_time": 1e999}', "execution_time"),
    (
        b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "execution_time": 1.7e308}',
        "execution_time: expected float <= 9007199254740992.0",
    ),
    (
        b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "estimated_cost": 1.7e308}',
        "estimated_cost: expected float <= 9007199254740992.0",
    ),
    (b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1', "not JSON"),
    (b'{"id": "a", "tusk": "task", "total_tokens": 1,', "not JSON"),
    (b'{"id": "a", "total_tokens": -1} {', "not JSON"),
    (b"[" * 100_000, "expected object, got array"),
    (b'{"id": null, "judgments": ' + b"[" * 100_000, "nested too deeply"),
    (
        b'{"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "submitted_at": "2026-02-30"}',
        "submitted_at: invalid RFC3339",
    ),
    (b"\xff", "not JSON"),
]


@pytest.mark.parametrize(("line", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_bad_submission_is_refused_with_a_short_reason(line: bytes, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_submission(line)
    assert reason in caught.value.reason
    assert len(caught.value.reason) < 300


@pytest.mark.parametrize(
    ("more", "reason", "hint"),
    [
        ({"judgments": [{"score": 1}]}, "unknown field 'score' in judgments[0]", "did you mean 'weighted_score'?"),
        (
            {"judgments": [{"weighted_score": 1, "criteria": [{"wieght": 1}]}]},
            "unknown field 'wieght' in judgments[0].criteria[0]",
            "did you mean 'weight'?",
        ),
        ({"tokens": 1}, "unknown field 'tokens'", "did you mean 'total_tokens'?"),
        ({"duration_seconds": 1}, "unknown field 'duration_seconds'", "did you mean 'execution_time'?"),
        ({"cost_usd": 1}, "unknown field 'cost_usd'", "did you mean 'estimated_cost'?"),
        ({"passed": True}, "unknown field 'passed'", "did you mean 'success'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_of_its_place(more: dict[str, Any], reason: str, hint: str) -> None:
    with pytest.raises(DecodeError) as caught:
        one("a", **more)
    assert (caught.value.reason, caught.value.hint) == (reason, hint)


def test_a_submission_without_an_id_is_named_by_its_content() -> None:
    said = b'"task_id": "task", "total_tokens": 1, "tool_calls": 1, "execution_time": 5'
    named = decode_submission(b"{" + said + b"}")
    assert re.fullmatch("[0-9a-f]{64}", named.id)
    assert decode_submission(b'{"id": null, ' + said + b"}") == named
    assert decode_submission(b'{"execution_time": 5.0, "tool_calls": 1, "total_tokens": 1, "task_id": "task"}') == named
    assert as_submission({"task_id": "task", "total_tokens": 1, "tool_calls": 1, "execution_time": 5}) == named
    assert decode_submission(b"{" + said.replace(b"5", b"6") + b"}").id != named.id
    with pytest.raises(DecodeError, match="total_tokens is missing"):
        decode_submission(b'{"task_id": "task", "tool_calls": 1}')
    with pytest.raises(DecodeError, match="lone surrogate"):
        convert_submission({"task_id": "task", "total_tokens": 1, "tool_calls": 1, "agent": "\ud800"})


def test_a_day_alone_is_its_midnight() -> None:
    said = {"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 1}
    midnight = datetime(2026, 11, 15, tzinfo=UTC)
    assert decode_submission(json.dumps({**said, "submitted_at": "2026-11-15"}).encode()).submitted_at == midnight
    assert convert_submission({**said, "submitted_at": "2026-11-15"}, from_text=True).submitted_at == midnight
    assert convert_submission({**said, "submitted_at": date(2026, 11, 15)}).submitted_at == midnight
    with pytest.raises(DecodeError) as caught:
        decode_submission(json.dumps({**said, "submitted_at": "yesterday"}).encode())
    assert caught.value.hint == "2026-11-15 or 2026-11-15T12:00:00Z"


def test_a_submission_made_by_a_program_is_held_to_the_same_rules(arena: Arena) -> None:
    good = one("good")
    bad = Submission(id="bad", task_id="task", total_tokens=-5, tool_calls=1)
    nul = Submission(id="a\0b", task_id="task", total_tokens=5, tool_calls=1)
    half = Submission(id="\ud800", task_id="task", total_tokens=5, tool_calls=1)
    outcomes = arena.submit([bad, good, nul, half])
    assert [type(outcome) for outcome in outcomes] == [Rejected, Receipt, Rejected, Rejected]
    with pytest.raises(DecodeError):
        check_submission(Submission(id=None, task_id="task", total_tokens=5, tool_calls=1))  # type: ignore[arg-type]


def test_the_rest_of_a_batch_lands(arena: Arena) -> None:
    accepted(arena, one("taken"))
    given: list[Submission | Rejected] = [
        one("first"),
        one("lost", task_id="tsak"),
        one("taken", total_tokens=1),
        Rejected(path="file", line=3, reason="broken"),
        one("first", total_tokens=6),
        one("second"),
        one("first"),
    ]
    outcomes = arena.submit(given)
    shown = [outcome.status if isinstance(outcome, Receipt) else outcome.code for outcome in outcomes]
    other = "id_with_other_content"
    assert shown == ["accepted", "unknown_task", other, "invalid_record", other, "accepted", "known"]
    assert isinstance(outcomes[1], Rejected)
    assert outcomes[1].hint == "did you mean 'task'?"
    assert arena_task_leaderboard(arena, "task").n == 3


def test_a_batch_is_accepted_in_the_order_given(store: Store, arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "file.txt").write_text("made")
    with_artifacts = {"artifacts": "made"}
    given = [one(f"s{number}", **(with_artifacts if number % 3 == 0 else {})) for number in range(12)]
    arena.submit(given, artifacts_root=tmp_path)
    with store.read() as connection:
        order = list(connection.execute(select(submissions.c.id).order_by(submissions.c.ordinal)).scalars())
    assert order == [f"s{number}" for number in range(12)]


def test_an_id_is_accepted_once_also_in_another_task(arena: Arena) -> None:
    arena.add_task(as_task({"id": "other"}))
    accepted(arena, one("a"))
    (again,) = accepted(arena, one("a"))
    (elsewhere,) = arena.submit([one("a", task_id="other")])
    assert again.status == "known"
    assert isinstance(elsewhere, Rejected)
    assert (arena_task_leaderboard(arena, "task").n, arena_task_leaderboard(arena, "other").n) == (1, 0)


def test_whichever_of_an_id_was_given_first_is_kept_whatever_its_task(arena: Arena) -> None:
    arena.add_task(as_task({"id": "a task that sorts first"}))
    given = [one("x"), one("x", task_id="a task that sorts first"), one("y"), one("x"), one("x", total_tokens=1)]
    outcomes = [getattr(outcome, "status", None) for outcome in arena.submit(given)]
    assert outcomes == ["accepted", None, "accepted", "known", None]
    assert [row.submission_id for row in arena_task_leaderboard(arena, "a task that sorts first").leaderboard] == []


def test_any_number_of_the_same_id_is_answered(arena: Arena) -> None:
    outcomes = arena.submit([one("x", total_tokens=1 + number % 2) for number in range(3_000)])
    told = Counter(outcome.status if isinstance(outcome, Receipt) else outcome.code for outcome in outcomes)
    assert told == {"accepted": 1, "known": 1_499, "id_with_other_content": 1_500}


@pytest.mark.parametrize(
    "again",
    [
        {"execution_time": 300, "estimated_cost": 2},
        {"submitted_at": datetime(2026, 1, 1)},  # noqa: DTZ001 - without a zone it is UTC
        {"submitted_at": datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))},
        {"submitted_at": "2026-01-01T02:00:00+02:00"},
        {"submitted_at": "2026-01-01"},
        {"total_tokens": 5000.0, "tool_calls": 10.0, "iterations": 3.0},
    ],
)
def test_what_says_the_same_is_known_however_it_is_written(arena: Arena, again: dict[str, Any]) -> None:
    said = {"id": "s", "task_id": "task", "total_tokens": 5000, "tool_calls": 10, "iterations": 3}
    said |= {"execution_time": 300.0, "estimated_cost": 2.0, "submitted_at": "2026-01-01T00:00:00Z"}
    first, read = arena.submit([said, {**said, **again}])
    assert isinstance(first, Receipt)
    assert isinstance(read, Receipt)
    assert (first.status, read.status) == ("accepted", "known")
    whole = {name: value for name, value in again.items() if not isinstance(value, str) and name not in WHOLE}
    made = Submission(**{**said, "submitted_at": datetime(2026, 1, 1, tzinfo=UTC), **whole})
    (known,) = arena.submit([made])
    assert isinstance(known, Receipt)
    assert known.status == "known"


def test_a_count_that_is_not_whole_is_refused() -> None:
    line = b'{"id": "a", "task_id": "t", "total_tokens": 2.0, "tool_calls": 1, "iterations": 1.5}'
    with pytest.raises(DecodeError, match="iterations: expected int"):
        decode_submission(line)
    assert decode_submission(line.replace(b"1.5", b"3.0")).iterations == 3


def test_a_known_submission_is_answered_as_things_stand_now(arena: Arena) -> None:
    accepted(arena, *(one(f"s{number}", total_tokens=1000 * number) for number in range(1, 8)))
    (again,) = accepted(arena, one("s3", total_tokens=3000))
    held = next(row for row in arena_task_leaderboard(arena, "task").leaderboard if row.submission_id == "s3")
    for name in ("overall_score", "overall_ranking", "percentile", "baseline_version", "defaulted", "flags"):
        assert getattr(again, name) == getattr(held, name)


def test_a_task_admits_only_the_tools_and_models_it_names(arena: Arena) -> None:
    arena.add_task(as_task({"id": "narrow", "tools": ["ant"], "models": ["large"]}))
    outcomes = arena.submit(
        [
            one("a", task_id="narrow", agent="ant", model="large"),
            one("b", task_id="narrow", agent="bee", model="large"),
            one("c", task_id="narrow", agent="ant"),
        ]
    )
    assert isinstance(outcomes[0], Receipt)
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, Rejected)] == [
        "the task allows only these tools: ant; got 'bee'",
        "the task allows only these models: large; got none",
    ]


def test_a_task_is_added_once_and_never_changed(arena: Arena) -> None:
    assert arena.add_task(as_task({"id": "task"})) is False
    with pytest.raises(UsageError, match="another definition"):
        arena.add_task(as_task({"id": "task", "title": "new"}))


def test_unknown_numbers_are_listed_and_never_zero(arena: Arena) -> None:
    (receipt,) = accepted(arena, one("a", execution_time=0))
    assert receipt.defaulted == ("execution_time", "estimated_cost", "iterations", "success")
    assert (receipt.speed_score, receipt.cost_score) == (50.0, 50.0)
    assert receipt.flags == ()  # a time that nobody stated is not a fast one


def test_the_arena_remembers_its_rules(store: Store, arena: Arena) -> None:
    assert open_arena(store).rules == arena.rules
    assert create_arena(store, load_profile("arena-1")).rules == arena.rules
    with pytest.raises(UsageError, match="a different profile or policy"):
        create_arena(store, load_profile("arena-1"), policy="as-submitted")


def test_a_store_without_an_arena_says_so(store: Store) -> None:
    with pytest.raises(StoreError, match="no arena"):
        open_arena(store)


def other_profile() -> Profile:
    held = load_profile("arena-1")
    cheap = {
        **held.constants,
        "efficiency_weight": 0.0,
        "speed_weight": 0.0,
        "cost_weight": 1.0,
        "correctness_weight": 0.0,
    }
    return Profile(name="cheap", spec="arena", constants=cheap)


def test_a_rescore_under_another_profile_moves_ranks_as_was_foretold(store: Store, arena: Arena) -> None:
    rows = [one(f"s{n}", total_tokens=100 * n, estimated_cost=11.0 - n, execution_time=10.0 * n) for n in range(1, 11)]
    accepted(arena, *rows)
    foretold = arena_compare_profiles(arena, load_profile("arena-1"), other_profile())
    before = {row.submission_id: row.overall_ranking for row in arena_task_leaderboard(arena, "task").leaderboard}
    watching = open_arena(store)
    arena.rescore_tasks(profile=other_profile())
    after = {row.submission_id: row.overall_ranking for row in arena_task_leaderboard(arena, "task").leaderboard}
    for mover in foretold.movers:
        assert (before[mover.submission_id], after[mover.submission_id]) == (mover.first_ranking, mover.second_ranking)
    # cost and tokens run against each other, and nothing ties: every pair changes its order
    assert foretold.tasks[0].kendall_tau == pytest.approx(-1)
    (late,) = accepted(watching, one("late", estimated_cost=0.5))
    assert late.overall_score == late.cost_score  # another process follows the new rules at once


def test_under_as_submitted_each_keeps_the_score_of_its_day(store: Store) -> None:
    arena = make_arena(store, policy="as-submitted")
    arena.add_task(as_task({"id": "task"}))
    receipts = [accepted(arena, one(f"s{n}", total_tokens=1000 * n))[0] for n in range(1, 9)]
    held = {row.submission_id: row for row in arena_task_leaderboard(arena, "task").leaderboard}
    for receipt in receipts:
        assert held[receipt.submission_id].overall_score == receipt.overall_score
        assert held[receipt.submission_id].baseline_version == receipt.baseline_version
    assert [receipt.baseline_version for receipt in receipts] == [1, 1, 1, 1, 1, 2, 3, 4]
    assert arena.rescore_tasks(policy="current") == 8
    assert {row.baseline_version for row in arena_task_leaderboard(arena, "task").leaderboard} == {5}


def test_history_tells_the_scores_of_the_day_and_their_trend(arena: Arena) -> None:
    rows = [
        one(f"s{n}", total_tokens=20_000 - 1000 * n, submitter="ada", submitted_at=f"2026-01-0{n}T00:00:00Z")
        for n in range(1, 5)
    ]
    accepted(arena, *rows)
    found = arena_history(arena, submitter="ada")
    scores = [moment.overall_score for moment in found.moments]
    assert scores == sorted(scores)
    assert found.trend_per_day == pytest.approx((scores[-1] - scores[0]) / 3, abs=0.01)  # a straight line
    assert arena_history(arena, task="task").n == 4
    arena.add_task(as_task({"id": "new"}))
    assert arena_history(arena, task="new", submitter="ada").reason == "not enough submissions for a trend: 0 of 3"
    assert arena_history(arena).n == 4  # without a name it tells of all


def test_a_trend_of_one_moment_is_missing() -> None:
    assert slope_per_day([5, 5, 5], [1, 2, 3]) == (None, "all submissions have the same timestamp")


def test_what_changed_since_a_moment_is_the_difference_of_two_standings(arena: Arena, monkeypatch: Any) -> None:
    clock = [1_000_000]
    monkeypatch.setattr("steelyard.arena.ingest._arena.now_microseconds", lambda: clock[0])
    accepted(arena, *(one(f"s{n}", total_tokens=1000 * n) for n in range(1, 7)))
    then = arena_task_leaderboard(arena, "task")
    clock[0] = 2_000_000
    accepted(arena, one("late", total_tokens=10))
    (found,) = arena_changes(arena, since=iso(1_500_000)).changes
    assert (found.then_n, found.now_n, found.new) == (6, 7, 1)
    assert (found.then_leader, found.now_leader) == ("s1", "late")
    assert arena_task_leaderboard(arena, "task", until=iso(1_500_001)) == then
    now = {row.submission_id: row for row in arena_task_leaderboard(arena, "task").leaderboard}
    for change in found.moved:
        assert now[change.submission_id].overall_ranking == change.now_ranking
    assert arena_changes(arena, since=iso(2_500_000)).changes == ()
    assert arena_task_leaderboard(arena, "task", until=iso(500_001)).n == 0


def test_leaders_count_every_task_once_and_say_when_there_are_too_few(arena: Arena) -> None:
    arena.add_task(as_task({"id": "easy", "category": "debugging"}))
    accepted(arena, *(one(f"a{n}", agent="ant", model="m") for n in range(9)))
    accepted(arena, one("b", agent="bee", model="m"), one("c", agent="bee", model="m", task_id="easy"))
    found = arena_leaderboard(arena, by=("agent",))
    by_agent = {leader.key["agent"]: leader for leader in found.overall}
    assert by_agent["ant"].reliable
    assert not by_agent["bee"].reliable
    assert (by_agent["bee"].tasks, by_agent["bee"].submissions) == (2, 2)
    scores = {row.submission_id: row.overall_score for row in arena_task_leaderboard(arena, "task").leaderboard}
    easy = arena_task_leaderboard(arena, "easy").leaderboard[0].overall_score
    assert by_agent["bee"].mean_score == round((scores["b"] + easy) / 2, 2)
    assert [each.category for each in found.categories] == ["debugging"]


def test_a_tool_that_is_better_everywhere_shows_as_systematic(arena: Arena) -> None:
    for task in range(6):
        arena.add_task(as_task({"id": f"t{task}"}))
        accepted(
            arena,
            *(
                one(f"{task}/{agent}{n}", task_id=f"t{task}", agent=agent, total_tokens=tokens + 37 * n + 11 * task)
                for agent, tokens in (("ant", 2000), ("bee", 90_000))
                for n in range(4)
            ),
        )
    by_agent = {found.agent: found for found in arena_bias(arena).advantages}
    ant, bee = by_agent["ant"], by_agent["bee"]
    assert ant.tasks == bee.tasks == 6
    assert ant.systematic
    assert ant.low is not None
    assert ant.low > 0
    assert ant.mean_difference == pytest.approx(-(bee.mean_difference or 0))


def test_each_tool_and_model_has_a_baseline_beside_the_overall_one(arena: Arena) -> None:
    accepted(arena, *(one(f"a{n}", agent="ant", model="m", total_tokens=100 + n) for n in range(5)))
    accepted(arena, one("b", agent="bee", model="m"))
    ant, bee = combination_baselines(arena, "task")
    assert ant.baseline is not None
    assert ant.baseline["max_tokens"] == 104
    assert (bee.baseline, bee.reason) == (None, "1 of 5 submissions")


def test_an_unknown_task_is_answered_with_the_nearest(arena: Arena) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'task'"):
        arena_task_leaderboard(arena, "tassk")


def votes(*passed: bool | None) -> tuple[Judgment, ...]:
    return tuple(Judgment(weighted_score=0.5, passed=vote) for vote in passed)


@pytest.mark.parametrize(
    ("said", "success"),
    [
        ({}, None),
        ({"outcome": "not_scored"}, None),
        ({"outcome": "errored"}, False),
        ({"failure": Failure(cause="agent", message="timed out")}, False),
        ({"failure": Failure(cause="infrastructure"), "outcome": "not_scored"}, False),
        ({"outcome": "failed"}, False),
        ({"outcome": "passed"}, True),
        ({"passed": True, "failure": Failure(cause="unknown")}, True),
        ({"passed": False}, False),
        ({"success": True, "outcome": "errored"}, True),
        ({"success": False, "passed": True}, True),  # a verdict wins over the agent's own claim
        ({"success": True, "tests": TestResults(passed=3, failed=1)}, False),
        ({"passed": True, "tests": TestResults(passed=("a",), failed=("b",))}, False),  # tests win over all
        ({"passed": False, "tests": TestResults(passed=4)}, True),
        ({"success": True, "tests": TestResults()}, True),  # none ran, so the claim is left
        ({"success": True, "judgments": votes(True, False)}, False),  # 1 of 2 is no strict majority
        ({"success": False, "judgments": votes(True, False, True)}, True),  # 2 of 3
        ({"judgments": votes(None)}, None),
    ],
)
def test_success_is_the_verdict_of_the_run_else_its_claim(said: dict[str, Any], success: bool | None) -> None:
    run = Run(id="r", task="t", usage=Usage(input_tokens=1, output_tokens=2), tool_calls=3, **said)
    assert submission_from_run(run, task_id="t", estimated_cost=None).success is success


def test_a_run_becomes_a_submission_with_all_its_tokens() -> None:
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=4, cache_write_5m_tokens=8, reasoning_tokens=16)
    run = Run(id="r", task="t", usage=usage, tool_calls=3, passed=True, judgments=(Judgment(weighted_score=0.5),))
    found = submission_from_run(run, task_id="task", estimated_cost=None)
    assert found.total_tokens == 31  # 1 + 2 + 4 + 8 + 16
    assert found.success is True
    with pytest.raises(DecodeError, match="tool_calls"):
        submission_from_run(Run(id="r", task="t", usage=usage), task_id="t", estimated_cost=None)
