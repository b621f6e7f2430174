"""What Claude Code's session log, its JSON result and its event stream have in common."""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.files import label
from steelyard.formats._token_counts import busiest_model, run_from
from steelyard.records import Call, Count, Failure, Run, Usage, add_usage

AGENT = "claude-code"
SYNTHETIC = "<synthetic>"
"""The model name of messages that the client itself wrote: no call was made."""


class CacheCreation(msgspec.Struct):
    """Cache writes by how long they are kept."""

    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class ClaudeUsage(msgspec.Struct):
    """The `usage` of Anthropic's messages: input excludes cache."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation: CacheCreation | None = None

    def disjoint(self) -> Usage:
        """The same as disjoint kinds; a write without a kept-for is one of five minutes, as the provider defaults."""
        short, long = self.cache_creation_input_tokens, None
        if self.cache_creation is not None and self.cache_creation.ephemeral_1h_input_tokens is not None:
            long = self.cache_creation.ephemeral_1h_input_tokens
            short = self.cache_creation.ephemeral_5m_input_tokens
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_input_tokens,
            cache_write_5m_tokens=short,
            cache_write_1h_tokens=long,
        )


class ModelUsage(msgspec.Struct, rename="camel"):
    """What one model did in the whole run, helpers and subagents included."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class Result(msgspec.Struct, kw_only=True):
    """The object that ends a run: its `usage` is the main model's alone, `modelUsage` has all models."""

    type: str
    subtype: str | None = None
    is_error: bool | None = None
    duration_ms: float | None = None
    duration_api_ms: float | None = None
    num_turns: int | None = None
    session_id: str | None = None
    uuid: str | None = None
    total_cost_usd: float | None = None
    usage: ClaudeUsage | None = None
    models: dict[str, ModelUsage] | None = msgspec.field(name="modelUsage", default=None)
    result: Any = None  # Any: text, or absent; only an error's first words are kept
    errors: list[Any] | None = None  # Any: text, one for each thing that went wrong
    api_error_status: Any = None  # Any: a number or a word
    terminal_reason: Any = None  # Any: a word


def result_fields(
    result: Result,
    *,
    format: str,  # noqa: A002
    path: str,
    model: str | None = None,
    **more: Any,
) -> Run:  # Any: fields of a Run
    """The Run that a result object tells of; per-model totals stand as its calls.

    `model` is the main one as the stream names it, for results that do not tell models apart.
    """
    calls = tuple(_model_calls(result, model))
    usage = add_usage(call.usage for call in calls) or (result.usage.disjoint() if result.usage else None)
    session = label(result.session_id)
    return run_from(
        format=format,
        path=path,
        how={
            "usage": "reported" if usage else "unknown",
            "cost_usd": "reported" if result.total_cost_usd is not None else "unknown",
            "iterations": "reported" if result.num_turns else None,
            "tool_calls": "counted" if more.get("tool_calls") is not None else None,
        },
        **{
            "id": session,
            "task": session or "claude",
            "agent": AGENT,
            "model": busiest_model(calls),
            "outcome": "errored" if result.is_error else "not_scored",
            "failure": _failure(result),
            "usage": usage,
            "calls": calls,
            "cost_usd": result.total_cost_usd,
            "iterations": result.num_turns or None,
            "success": None if result.is_error is None else not result.is_error,
            **more,
        },
        extra={
            "duration_seconds": None if result.duration_ms is None else result.duration_ms / 1000,
            "api_duration_seconds": None if result.duration_api_ms is None else result.duration_api_ms / 1000,
        },
    )


def _model_calls(result: Result, main: str | None) -> list[Call]:
    split = result.usage.disjoint() if result.usage else None
    written = result.usage.cache_creation_input_tokens if result.usage else None
    stated = {model: used for model, used in (result.models or {}).items() if used != ModelUsage()}
    if not stated and main is not None and split is not None:
        return [Call(model=label(main), usage=split, summed=True)]
    calls = []
    for model, used in sorted(stated.items()):
        short, long = used.cache_creation_input_tokens, None
        if split is not None and written is not None and written == used.cache_creation_input_tokens:
            short, long = split.cache_write_5m_tokens, split.cache_write_1h_tokens
        usage = Usage(
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cache_read_tokens=used.cache_read_input_tokens,
            cache_write_5m_tokens=short,
            cache_write_1h_tokens=long,
        )
        calls.append(Call(model=label(model), usage=usage, summed=True))
    return calls


def _failure(result: Result) -> Failure | None:
    if not result.is_error:
        return None
    said = result.result if isinstance(result.result, str) else None
    said = said or "; ".join(error for error in result.errors or () if isinstance(error, str))
    message = ": ".join(part for part in (result.subtype, said and said[:500]) if part) or None
    if (result.subtype or "").startswith("error_max_"):  # turns, budget, or tries at the wanted shape
        return Failure(cause="agent", message=message)
    if str(result.terminal_reason).startswith("aborted"):
        return Failure(cause="cancelled", message=message)
    if result.api_error_status is not None:
        return Failure(cause="infrastructure", message=message)
    return Failure(cause="unknown", message=message)
