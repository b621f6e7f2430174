"""Totals over the runs of a group: sums, never weighted.

A total that some runs are missing from, or that a run entered with a lower bound, is reported as "at least".
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from steelyard.metrics._declare import Example, Metric, metric
from steelyard.metrics._signatures import Sum
from steelyard.metrics._words import Value


def _total(title: str, unit: str, of: str, *, lower_bound: str) -> Callable[[Callable[..., Value]], Metric]:
    return metric(
        level="group",
        title=title,
        unit=unit,
        better="neither",  # more runs take more
        bounds=(0, inf),
        spec="outcome",
        formula=f"sum of {of}",
        example=Example({of: 12.0}, 12.0),
        lower_bound=lower_bound,
    )


@_total("Total cost", "USD", "cost_usd", lower_bound="cost_is_lower_bound")
def total_cost_usd(*, cost_usd: Sum) -> Value:
    """Total cost of all runs."""
    return cost_usd


@_total("All tokens", "tokens", "total_tokens", lower_bound="usage_is_lower_bound")
def total_tokens_all_kinds(*, total_tokens: Sum) -> Value:
    """Total tokens of all kinds."""
    return total_tokens


@_total("Total input tokens", "tokens", "input_tokens", lower_bound="usage_is_lower_bound")
def total_input_tokens(*, input_tokens: Sum) -> Value:
    """Total uncached input tokens."""
    return input_tokens


@_total("Total output tokens", "tokens", "output_tokens", lower_bound="usage_is_lower_bound")
def total_output_tokens(*, output_tokens: Sum) -> Value:
    """Total output tokens, without reasoning."""
    return output_tokens


@_total("Total cache reads", "tokens", "cache_read_tokens", lower_bound="usage_is_lower_bound")
def total_cache_read_tokens(*, cache_read_tokens: Sum) -> Value:
    """Total tokens read from a cache."""
    return cache_read_tokens


@_total("Total 5-minute cache writes", "tokens", "cache_write_5m_tokens", lower_bound="usage_is_lower_bound")
def total_cache_write_5m_tokens(*, cache_write_5m_tokens: Sum) -> Value:
    """Total tokens written to a cache with a lifetime of five minutes."""
    return cache_write_5m_tokens


@_total("Total 1-hour cache writes", "tokens", "cache_write_1h_tokens", lower_bound="usage_is_lower_bound")
def total_cache_write_1h_tokens(*, cache_write_1h_tokens: Sum) -> Value:
    """Total tokens written to a cache with a lifetime of one hour."""
    return cache_write_1h_tokens


@_total("Total reasoning tokens", "tokens", "reasoning_tokens", lower_bound="usage_is_lower_bound")
def total_reasoning_tokens(*, reasoning_tokens: Sum) -> Value:
    """Total reasoning tokens."""
    return reasoning_tokens


@_total("Total tool calls", "tool calls", "tool_calls", lower_bound="tool_calls_are_lower_bound")
def total_tool_calls(*, tool_calls: Sum) -> Value:
    """Total number of tool calls."""
    return tool_calls


@_total("Total iterations", "iterations", "iterations", lower_bound="iterations_are_lower_bound")
def total_iterations(*, iterations: Sum) -> Value:
    """Total number of iterations."""
    return iterations
