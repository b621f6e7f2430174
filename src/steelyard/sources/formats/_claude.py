"""What Claude Code's session log, its JSON result and its event stream have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from steelyard.files import label
from steelyard.records import (
    Amount,
    Call,
    Count,
    Failure,
    Finding,
    Provenance,
    Run,
    SessionStep,
    StepRole,
    Usage,
    add_usage,
    sum_in_order,
)
from steelyard.sources.formats._provider_usage import ClaudeUsage
from steelyard.sources.formats._run_values import busiest_model, failure_of, itemized, run_from, stated_cost, tokens_in
from steelyard.sources.formats._step_values import ABSENT, arguments_of, raw_text, value_of

AGENT = "claude-code"
SYNTHETIC = "<synthetic>"
"""The model name of messages that the client itself wrote: no call was made."""


DELEGATING = frozenset({"Task", "Agent"})
"""Tools that start a subagent."""


class Block(msgspec.Struct, gc=False):
    """One block of a message's content."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    text: msgspec.Raw = ABSENT
    thinking: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT


class StepBlock(Block, gc=False):
    """One block with what only its step shows; without these, logs are read faster."""

    tool_use_id: msgspec.Raw = ABSENT
    content: msgspec.Raw = ABSENT
    is_error: msgspec.Raw = ABSENT


_ROLES: dict[str | None, StepRole] = {"thinking": "reasoning", "redacted_thinking": "reasoning"}
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def message_steps(
    content: str | list[StepBlock] | None,
    step: Callable[..., SessionStep],
    author: StepRole,
    *,
    spawning: frozenset[str] = DELEGATING,
) -> Iterator[SessionStep]:
    """Yield a step for each block of a message: a text, a call of a tool, or what a tool gave back."""
    if isinstance(content, str):
        if content:
            yield step(kind="message", role=author, text=content)
        return
    for block in content or ():
        if block.type in _CALLS:
            yield step(
                kind="subagent" if block.name in spawning else "tool_call",
                role="assistant",
                tool=block.name or "tool",
                call=block.id,
                arguments=arguments_of(value_of(block.input)),
            )
        elif block.tool_use_id is not ABSENT:
            call = value_of(block.tool_use_id)
            yield step(
                kind="tool_result",
                role="tool",
                call=call if isinstance(call, str) else None,
                result=raw_text(block.content),
                is_error=value_of(block.is_error) is True,
            )
        else:
            text = raw_text(block.text if block.thinking is ABSENT else block.thinking)
            yield step(kind="message", role=_ROLES.get(block.type, author), text=text or f"[{block.type}]")


def split_contradiction(where: str, unsplit: int) -> tuple[Finding, ...]:
    """The finding for cache writes that a log states without saying how long they are kept, though it splits others."""
    if not unsplit:
        return ()
    message = f"the log does not report the cache lifetime of {unsplit:,} cache-write tokens; assuming 5 minutes"
    return (Finding(code="token_contradiction", message=message, where=where),)


class ModelUsage(msgspec.Struct, rename="camel"):
    """What one model did in the whole run, helpers and subagents included."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None

    def disjoint(self, split: Usage | None = None) -> Usage:
        """The same as disjoint kinds, with the cache writes of `split`, where those are known."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_input_tokens,
            cache_write_5m_tokens=split.cache_write_5m_tokens if split else self.cache_creation_input_tokens,
            cache_write_1h_tokens=split.cache_write_1h_tokens if split else None,
        )


class CostState(msgspec.Struct):
    """What the session came to so far, helper models included; written when the client ends."""

    session: str | None = msgspec.field(name="sessionId", default=None)
    type: str | None = None
    cost: Amount | None = msgspec.field(name="totalCostUSD", default=None)
    models: dict[str, ModelUsage] = msgspec.field(name="modelUsage", default_factory=dict)
    unknown_cost: bool = msgspec.field(name="hasUnknownModelCost", default=False)

    @property
    def tokens(self) -> int:
        """All tokens of all models."""
        return tokens_in(add_usage(used.disjoint() for used in self.models.values()))


def account_of(states: Sequence[CostState]) -> tuple[list[Call], float | None, Provenance]:
    """A session's totals by model and its cost, by the client's own account.

    The counters continue where a session is resumed; one that falls was reset.
    """
    once = [state for place, state in enumerate(states) if state not in states[:place]]  # a line may be written twice
    final = [state for state, after in pairwise([*once, CostState()]) if after.tokens < state.tokens]
    totals = [
        Call(model=label(model), usage=used.disjoint(), summed=True)
        for state in final
        for model, used in sorted(state.models.items())
    ]
    stated = sum_in_order(state.cost or 0.0 for state in final) if final else None
    cost, sure = stated_cost(stated, add_usage(call.usage for call in totals))
    return totals, cost, "lower_bound" if cost and any(state.unknown_cost for state in final) else sure


class Result(msgspec.Struct, kw_only=True):
    """The object that ends a run: its `usage` is the main model's alone, `modelUsage` has all models."""

    type: str
    subtype: str | None = None
    is_error: bool | None = None
    duration_ms: float | None = None
    duration_api_ms: float | None = None
    session_id: str | None = None
    uuid: str | None = None
    total_cost_usd: float | None = None
    usage: ClaudeUsage | None = None
    models: dict[str, ModelUsage] | None = msgspec.field(name="modelUsage", default=None)
    result: Any = None  # Any: text, or absent; only an error's first words are kept
    errors: list[Any] | None = None  # Any: text, one for each thing that went wrong
    api_error_status: Any = None  # Any: a number or a word
    terminal_reason: Any = None  # Any: a word

    @property
    def duration_seconds(self) -> float | None:
        """How long the run took."""
        return None if self.duration_ms is None or self.duration_ms < 0 else self.duration_ms / 1000


def result_fields(
    result: Result,
    *,
    format: str,  # noqa: A002
    path: str,
    model: str | None = None,
    seen: Sequence[Call] = (),
    **more: Any,
) -> Run:  # Any: fields of a Run
    """Return the Run of a result object; per-model totals are added as calls to those that were `seen`.

    `model` is the main one as the stream names it, for results without per-model totals.
    """
    totals = tuple(_model_calls(result, model))
    calls = itemized(seen, totals) or totals if totals else ()
    usage = add_usage(call.usage for call in totals) or (result.usage.disjoint() if result.usage else None)
    session = label(result.session_id)
    return run_from(
        format=format,
        path=path,
        how={
            "usage": "reported" if usage else "unknown",
            "cost_usd": "reported" if result.total_cost_usd is not None else "unknown",
            "iterations": "counted" if more.get("iterations") is not None else None,
            "tool_calls": "counted" if more.get("tool_calls") is not None else None,
        },
        **{
            "id": session,
            "task": session or "claude",
            "agent": AGENT,
            "model": busiest_model(totals),
            "outcome": "errored" if result.is_error else "not_scored",
            "failure": _failure(result),
            "usage": usage,
            "calls": calls,
            "cost_usd": result.total_cost_usd,
            "duration_seconds": result.duration_seconds,
            "success": None if result.is_error is None else not result.is_error,
            **more,
        },
        extra={
            "api_duration_seconds": None if result.duration_api_ms is None else result.duration_api_ms / 1000,
        },
    )


def _model_calls(result: Result, main: str | None) -> list[Call]:
    split = result.usage.disjoint() if result.usage else None
    written = result.usage.cache_creation_input_tokens if result.usage else None
    stated = {model: used for model, used in (result.models or {}).items() if used != ModelUsage()}
    if not stated and main is not None and split is not None:
        return [Call(model=label(main), usage=split, summed=True)]
    return [
        Call(
            model=label(model),
            usage=used.disjoint(split if written is not None and written == used.cache_creation_input_tokens else None),
            summed=True,
        )
        for model, used in sorted(stated.items())
    ]


def _failure(result: Result) -> Failure | None:
    if not result.is_error:
        return None
    text = result.result if isinstance(result.result, str) else None
    text = text or "; ".join(error for error in result.errors or () if isinstance(error, str))
    message = ": ".join(part for part in (result.subtype, text and text[:500]) if part) or None
    if (result.subtype or "").startswith("error_max_"):  # turns, budget, or tries at the wanted shape
        return Failure(cause="agent", message=message)
    if str(result.terminal_reason).startswith("aborted"):
        return Failure(cause="cancelled", message=message)
    return failure_of(message, status=result.api_error_status)
