"""How an execution ended is told by evidence; one test for each row of the table in docs/agents.md."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from steelyard.records import TestResults, Usage
from steelyard.runner import Ending
from steelyard.runner._execution import ExecutionEvidence
from steelyard.runner._metering_records import KeyCheck, MeteredCall, MeteredCalls
from steelyard.runner._plan_executor import ending_of
from steelyard.runner._verification import VerifyEvidence

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
PASSED = VerifyEvidence(exit_status=0, ending="exit status 0")
FAILED = VerifyEvidence(exit_status=1, ending="exit status 1")
BROKEN = VerifyEvidence(exit_status=None, ending="did not start", problem="the check did not start: no such file")


def calls(*statuses: int | None, error_code: str | None = None, was_aborted: bool = False) -> tuple[MeteredCall, ...]:
    """A call for each status; None for one that nobody answered."""
    return tuple(
        MeteredCall(
            number=number,
            path="/v1/messages",
            started=NOON,
            status=status,
            ended=NOON,
            error_code=error_code,
            was_aborted=was_aborted and number == len(statuses),
            usage=Usage(input_tokens=1) if status == 200 else None,
        )
        for number, status in enumerate(statuses, 1)
    )


def seen(
    *statuses: int | None,
    rejection: str | None = None,
    error_code: str | None = None,
    was_aborted: bool = False,
    **facts: Any,
) -> ExecutionEvidence:
    """An execution of an agent that exited 0 after calls with these statuses; the last may be truncated."""
    count = MeteredCalls(calls=calls(*statuses, error_code=error_code, was_aborted=was_aborted), rejection=rejection)
    known = {"ended_by": "itself", "exit_status": 0, "needs_calls": True, "count": count, **facts}
    return ExecutionEvidence(started_at=NOON, ended_at=NOON, **known)


def short(ending: Ending) -> tuple[str, str | None, bool, bool]:
    return ending.name, ending.cause, ending.is_retried, ending.stops_agent


def test_the_verifier_decides_over_an_agent_that_ended_well() -> None:
    assert ending_of(seen(200)).is_verified
    assert short(ending_of(seen(200), PASSED)) == ("passed", None, False, False)
    assert short(ending_of(seen(200), FAILED)) == ("failed", None, False, False)
    assert short(ending_of(seen(200))) == ("not_scored", None, False, False)


def test_tests_decide_where_there_is_a_report() -> None:
    tests = TestResults(passed=3, failed=1)
    evidence = VerifyEvidence(exit_status=0, ending="exit status 0", tests=tests)
    assert ending_of(seen(200), evidence).name == "failed"


def test_a_timeout_after_calls_is_the_agents_and_is_verified_too() -> None:
    timeout = seen(200, 200, ended_by="time_limit", exit_status=None)
    ending = ending_of(timeout, PASSED)
    assert short(ending) == ("agent_timeout", "agent", False, False)
    assert ending.is_verified
    assert ending.detail == "the time limit was reached after 2 model calls"


@pytest.mark.parametrize(
    ("statuses", "name"),
    [
        ((200, 429), "endpoint_saturated"),  # 1 of 2 is half
        ((200, 200, 429), "agent_timeout"),  # 1 of 3, and not the last three
        ((200, 200, 200, 200, 529, 503, 429), "endpoint_saturated"),  # 3 of 7, the last three
        ((200, 200, 200, 529, 503, 200, 429), "agent_timeout"),  # 3 of 7, not in a row
        ((429, 429), "endpoint_saturated"),
        ((200, None), "endpoint_saturated"),  # no answer at all
    ],
)
def test_a_timeout_of_an_endpoint_that_refuses_is_not_the_agents(statuses: tuple[int | None, ...], name: str) -> None:
    ending = ending_of(seen(*statuses, ended_by="time_limit", exit_status=None))
    assert ending.name == name
    assert ending.is_retried == (name == "endpoint_saturated")
    assert ending.is_verified == (name == "agent_timeout")


def test_a_call_under_way_at_the_time_limit_says_nothing_of_the_endpoint() -> None:
    assert ending_of(seen(200, None, was_aborted=True, ended_by="time_limit", exit_status=None)).name == "agent_timeout"


@pytest.mark.parametrize("status", [500, 529, 404, None])
def test_without_a_successful_call_nothing_started_and_it_is_tried_again(status: int | None) -> None:
    ending = ending_of(seen(status, status), PASSED)
    assert short(ending) == ("not_started", "infrastructure", True, False)
    assert not ending.is_verified


@pytest.mark.parametrize("status", [401, 402, 403])
def test_who_is_not_allowed_stops_the_agent(status: int) -> None:
    assert short(ending_of(seen(status))) == ("not_started", "infrastructure", False, True)


def test_a_quota_that_is_used_up_stops_the_agent() -> None:
    quota = seen(429, error_code="insufficient_quota")
    assert short(ending_of(seen(429, error_code="rate_limit_error"))) == ("not_started", "infrastructure", True, False)
    assert short(ending_of(quota)) == ("not_started", "infrastructure", False, True)


def test_an_agent_that_ends_well_without_a_call_did_not_start() -> None:
    assert short(ending_of(seen())) == ("not_started", "infrastructure", True, False)
    assert ending_of(seen(needs_calls=False)).name == "not_scored"  # a command of the user's need not ask


def test_a_program_that_is_not_there_stops_the_agent() -> None:
    ending = ending_of(seen(start_error="program not found on PATH: 'claude'", exit_status=None))
    assert short(ending) == ("not_started", "infrastructure", False, True)


@pytest.mark.parametrize("facts", [{"exit_status": 1}, {"exit_status": None, "signal": 11}])
def test_an_agent_that_ends_badly_after_a_call_crashed(facts: dict[str, int | None]) -> None:
    ending = ending_of(seen(200, **facts), FAILED)
    assert short(ending) == ("agent_crashed", "agent", False, False)
    assert ending.is_verified  # otherwise a crash would take the run out of the pass rate


@pytest.mark.parametrize("limit", ["memory", "disk", "cpu"])
def test_a_limit_of_the_sandbox_is_named(limit: str) -> None:
    ending = ending_of(seen(200, limit_hit=limit, exit_status=None))
    assert short(ending) == (f"limit_{limit}", "agent", False, False)
    assert ending.is_verified


def test_a_verifier_that_breaks_is_not_the_agents() -> None:
    assert short(ending_of(seen(200), BROKEN)) == ("verifier_broken", "infrastructure", False, False)
    timeout = seen(200, ended_by="time_limit", exit_status=None)
    assert ending_of(timeout, BROKEN).name == "verifier_broken"


def test_a_report_that_is_missing_is_no_verdict() -> None:
    assert BROKEN.passed is None
    assert PASSED.passed is True
    assert FAILED.passed is False


@pytest.mark.parametrize("rejection", ["trial_usd", "trial_tokens"])
@pytest.mark.parametrize("ended_by", ["budget", "itself"])
def test_a_trial_that_used_up_its_budget_says_so(rejection: str, ended_by: str) -> None:
    ending = ending_of(seen(200, 200, rejection=rejection, ended_by=ended_by, exit_status=1))
    assert short(ending) == ("budget_trial", "agent", False, False)
    assert ending.is_verified


def test_a_budget_that_cannot_be_counted_stops_the_agent() -> None:
    ending = ending_of(seen(200, rejection="usage_unknown", exit_status=1))
    assert short(ending) == ("not_counted", "infrastructure", False, True)


def test_who_is_stopped_is_cancelled_whatever_else_is_seen() -> None:
    for facts in ({}, {"limit_hit": "memory"}, {"rejection": "trial_usd"}):
        ending = ending_of(seen(401, ended_by="cancelled", exit_status=None, **facts), FAILED)
        assert short(ending) == ("cancelled", "cancelled", False, False)
        assert not ending.is_verified


def test_a_limit_of_time_refused_calls_is_still_the_time_limit() -> None:
    refused = seen(200, ended_by="time_limit", rejection="time_limit", exit_status=1)
    assert ending_of(refused).name == "agent_timeout"


def broken(status: int | None, *, was_aborted: bool = False, number: int = 9, **facts: Any) -> MeteredCall:
    """A call whose answer the endpoint cut, or we or the agent."""
    ended = {"error": "the connection to the endpoint was lost", "is_lower_bound": True, "ended": NOON, **facts}
    return MeteredCall(
        number=number, path="/v1/messages", started=NOON, status=status, was_aborted=was_aborted, **ended
    )


@pytest.mark.parametrize("exit_status", [0, 1])
@pytest.mark.parametrize("last", [broken(200), broken(None), broken(529, error=None, is_lower_bound=False)])
def test_an_agent_that_ends_after_a_call_that_broke_is_no_crash(last: MeteredCall, exit_status: int) -> None:
    evidence = ExecutionEvidence(
        started_at=NOON,
        ended_at=NOON,
        ended_by="itself",
        exit_status=exit_status,
        count=MeteredCalls(calls=(*calls(200, 200), last)),
    )
    ending = ending_of(evidence)
    assert short(ending) == ("endpoint_failed", "infrastructure", True, False)
    assert not ending.is_verified  # else the verdict would decide which executions count


@pytest.mark.parametrize(
    "after",
    [
        (broken(200, ended=NOON), broken(200, was_aborted=True, number=10)),
        (broken(200, was_aborted=True),),
        (broken(200, number=1, model_asked="small"),),
        (broken(400, error=None, is_lower_bound=False),),
    ],
)
def test_a_crash_after_other_calls_is_the_agents(after: tuple[MeteredCall, ...]) -> None:
    good = tuple(msgspec.structs.replace(call, ended=NOON + timedelta(seconds=1)) for call in calls(200, 200))
    evidence = ExecutionEvidence(
        started_at=NOON,
        ended_at=NOON,
        ended_by="itself",
        exit_status=1,
        count=MeteredCalls(calls=(*good, *after)),
    )
    assert ending_of(evidence).name == "agent_crashed"


@pytest.mark.parametrize(
    ("statuses", "codes", "rejected_at"),
    [
        ((401, 401), ("", ""), 2),
        ((401,), ("authentication_error",), 1),
        ((401,), ("invalid_request_error invalid_api_key",), 1),
        ((401, 200, 401), ("key_model_access_denied", "", ""), None),  # a key that not every model takes
        ((403, 403, 403), ("", "", ""), None),
    ],
)
def test_a_key_is_rejected_by_a_401_that_names_it_or_by_two(
    statuses: tuple[int, ...], codes: tuple[str, ...], rejected_at: int | None
) -> None:
    check = KeyCheck()
    answers = [
        check.is_rejected(MeteredCall(number=1, path="", started=NOON, status=status, error_code=code))
        for status, code in zip(statuses, codes, strict=True)
    ]
    assert (answers.index(True) + 1 if True in answers else None) == rejected_at


@pytest.mark.parametrize(("statuses", "name"), [((401,), "not_started"), ((200, 401), "endpoint_failed")])
def test_a_rejected_key_stops_the_agent(statuses: tuple[int, ...], name: str) -> None:
    ending = ending_of(seen(*statuses, rejection="key_rejected", ended_by="endpoint", exit_status=None))
    assert short(ending) == (name, "infrastructure", False, True)


@pytest.mark.parametrize(("was_aborted", "name"), [(False, "endpoint_failed"), (True, "budget_trial")])
def test_a_budget_reserved_for_broken_calls_is_the_fault_of_who_broke_them(was_aborted: bool, name: str) -> None:
    count = MeteredCalls(calls=(*calls(200), broken(200, was_aborted=was_aborted)), rejection="unfinished_calls")
    evidence = ExecutionEvidence(started_at=NOON, ended_at=NOON, ended_by="budget", count=count)
    assert ending_of(evidence).name == name
