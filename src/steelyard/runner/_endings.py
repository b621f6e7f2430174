"""Ending of an execution, based on evidence: never on the agent's claims, and rarely on its exit status.

Infrastructure failures are retried. Everything that is the agent's own doing counts: it is verified like any
other work, since leaving it out would make an agent look better that crashes where it would have failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.runner._execution_records import ExecutionEvidence, VerifyEvidence
from steelyard.runner._metering_records import MeteredCall
from steelyard.runner._trial_records import Ending

NOT_ALLOWED = frozenset({401, 402, 403})
"""Statuses that no other execution will change."""
_USED_UP = ("insufficient_quota", "billing", "credit", "payment")
"""Parts of what endpoints call the error of an account that is used up."""
_LAST_CALLS = 3
_BUDGETS = {"trial_usd": "its dollar budget", "trial_tokens": "its token budget"}
_COUNTLESS = {
    "usage_unknown": "the endpoint does not report usage, so no budget can be enforced",
    "price_unknown": "the price of the responding model is unknown, so no budget can be enforced",
}


def ending_of(evidence: ExecutionEvidence, verified: VerifyEvidence | None = None) -> Ending:
    """How the execution ended; once its work is verified, with the verdict."""
    ending = _without_verdict(evidence)
    if verified is None or not ending.is_verified:
        return ending
    if verified.problem is not None:
        return Ending(name="verifier_broken", cause="infrastructure", detail=verified.problem)
    if ending.cause is not None:
        return ending  # both facts are kept: the Run has the verdict as well
    if verified.passed:
        return Ending(name="passed")
    return Ending(name="failed", detail=verified.ending)


def _without_verdict(evidence: ExecutionEvidence) -> Ending:
    calls = evidence.count.calls if evidence.count is not None else ()
    if evidence.ended_by == "cancelled":
        return Ending(name="cancelled", cause="cancelled", detail="cancelled")
    if evidence.ended_by == "budget" or (evidence.count and evidence.count.rejection in (*_BUDGETS, *_COUNTLESS)):
        return _of_a_rejection(evidence)
    if evidence.start_error is not None:
        detail = f"the agent did not start: {evidence.start_error}"
        return Ending(name="not_started", cause="infrastructure", stops_agent=True, detail=detail)
    if evidence.limit_hit is not None:
        return _agents(f"limit_{evidence.limit_hit}", f"stopped at the {evidence.limit_hit} limit")
    if calls and not any(call.is_successful for call in calls):
        return _never_answered(calls, evidence)
    if not calls and evidence.needs_calls:
        return _never_asked(evidence)
    if evidence.ended_by == "time_limit":
        if _is_saturated(calls):
            detail = f"the time limit was reached; the endpoint rejected {_rejected(calls)} of {len(calls)} calls"
            return Ending(name="endpoint_saturated", cause="infrastructure", is_retried=True, detail=detail)
        return _agents("agent_timeout", f"the time limit was reached after {_calls(calls)}")
    if evidence.exit_status != 0:
        return _agents("agent_crashed", _how_it_ended(evidence))
    return Ending(name="not_scored", is_verified=True)


def _agents(name: str, detail: str) -> Ending:
    return Ending(name=name, cause="agent", is_verified=True, detail=detail)


def _of_a_rejection(evidence: ExecutionEvidence) -> Ending:
    rejection = evidence.count.rejection if evidence.count is not None else None
    if rejection in _COUNTLESS:
        return Ending(name="not_counted", cause="infrastructure", stops_agent=True, detail=_COUNTLESS[rejection])
    if rejection in _BUDGETS:
        return _agents("budget_trial", f"the trial used up {_BUDGETS[rejection]}")
    return Ending(name="cancelled", cause="cancelled", detail=f"calls were rejected: {rejection or 'budget'}")


def _never_answered(calls: Sequence[MeteredCall], evidence: ExecutionEvidence) -> Ending:
    last = next((call for call in reversed(calls) if call.status is not None), calls[-1])
    is_final = last.status in NOT_ALLOWED or any(_is_used_up(call) for call in calls)
    reason = f"status {last.status}" if last.status is not None else last.error or "no response"
    if evidence.ended_by == "time_limit" and _is_saturated(calls) and not is_final:
        detail = f"the time limit was reached; the endpoint rejected all {_calls(calls)} ({reason})"
        return Ending(name="endpoint_saturated", cause="infrastructure", is_retried=True, detail=detail)
    return Ending(
        name="not_started",
        cause="infrastructure",
        is_retried=not is_final,
        stops_agent=is_final,
        detail=f"no model call succeeded: {_calls(calls)}, the last with {reason}",
    )


def _never_asked(evidence: ExecutionEvidence) -> Ending:
    detail = f"the agent made no model call ({_how_it_ended(evidence)})"
    return Ending(name="not_started", cause="infrastructure", is_retried=True, detail=detail)


def _is_used_up(call: MeteredCall) -> bool:
    """Whether calls were rejected because the account is used up, not because of a rate limit."""
    return any(word in (call.error_code or "").lower() for word in _USED_UP)


def _rejected(calls: Sequence[MeteredCall]) -> int:
    return sum(_is_overload(call) for call in calls)


def _is_overload(call: MeteredCall) -> bool:
    """429 or 5xx, or no answer at all, unless we or the agent hung up first."""
    is_unanswered = call.status is None and not call.was_aborted
    return call.status == 429 or (call.status or 0) >= 500 or is_unanswered


def _is_saturated(calls: Sequence[MeteredCall]) -> bool:
    """Return whether half of the calls, or the last three, were rejected or got no response."""
    last = calls[-_LAST_CALLS:]
    return bool(calls) and (
        2 * _rejected(calls) >= len(calls) or (len(last) == _LAST_CALLS and _rejected(last) == _LAST_CALLS)
    )


def _how_it_ended(evidence: ExecutionEvidence) -> str:
    if evidence.ended_by == "time_limit":
        how = "stopped at the time limit"
    elif evidence.signal is not None:
        how = f"signal {evidence.signal}"
    else:
        how = f"exit status {evidence.exit_status}"
    return f"{how}: {evidence.last_words}" if evidence.last_words else how


def _calls(calls: Sequence[MeteredCall]) -> str:
    return f"{len(calls)} model call{'' if len(calls) == 1 else 's'}"
