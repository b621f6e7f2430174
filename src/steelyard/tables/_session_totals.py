"""What a session adds up to, and how sure each sum is."""

from __future__ import annotations

from steelyard.formats import busiest_model, tokens_in
from steelyard.records import Provenance, Usage, add_usage
from steelyard.tables._sessions import Building


def with_totals(session: Building) -> None:
    """Adds up what the parts left open: tokens of the calls, tools, the model that did most."""
    run = session.run
    if run.usage is None and session.named:
        before = (run.provenance or {}).get("usage")
        sure: Provenance = (
            "lower_bound" if session.doubtful else before if before in ("reported", "lower_bound") else "counted"
        )
        usage = add_usage(call.usage for call in run.calls or ())
        session.change(usage=usage)
        session.how(
            usage=sure if usage else "unknown", usage__output_tokens="lower_bound" if session.doubtful else None
        )
    if run.tool_calls is None and (session.tool_ids or session.declared.shows_every_tool_call):
        session.change(tool_calls=len(session.tool_ids))
        session.how(tool_calls="counted")
    if run.model is None:
        session.change(model=busiest_model(run.calls or ()))
    if run.iterations is not None and "iterations" not in (run.provenance or {}):
        session.how(iterations="counted")
    if run.cost_usd is None and "cost_usd" not in (run.provenance or {}):
        session.how(cost_usd="unknown")
    if session.run.usage is None and "usage" not in (session.run.provenance or {}):
        session.how(usage="unknown")
    if session.lacks_lines:
        _say_at_least(session)


def _say_at_least(session: Building) -> None:
    """Mark sums over the lines as lower bounds, since some lines are lost; a stated total is kept."""
    run = session.run
    words = run.provenance or {}
    calls = run.calls or ()
    adds_up = bool(calls) and not any(call.summed for call in calls)  # many formats call such a sum reported
    is_sum = {"usage": adds_up, "cost_usd": adds_up and all(call.cost_usd is not None for call in calls)}
    weakened: dict[str, Provenance | None] = {
        name: "lower_bound"
        for name in ("usage", "cost_usd", "tool_calls", "iterations")
        if words.get(name) == "counted" or (words.get(name) == "reported" and is_sum.get(name, False))
    }
    session.how(**weakened)
    if (session.run.provenance or {}).get("usage") == "lower_bound":
        session.how(usage__output_tokens=None)  # no kind of tokens is surer than the others


def difference(a: Usage | None, b: Usage | None) -> float:
    """By which share two totals of tokens differ; 0 when either is not known."""
    left, right = tokens_in(a), tokens_in(b)
    return abs(left - right) / max(left, right) if left and right else 0.0
