"""Token use (outcome specification, "Token Tracking"), and totals over the runs of a group: sums, never weighted.

A total that some runs are missing from, or that a run entered with a lower bound, is reported as "at least".
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isinf

from steelyard.metrics._declare import Example, Metric, Optional, Required, Sum, metric
from steelyard.metrics._words import INFINITY, Value, first_known, missing, ratio, when
from steelyard.records import TOO_LARGE


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
    return missing(TOO_LARGE) if isinstance(cost_usd, float) and isinf(cost_usd) else cost_usd


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


@metric(
    level="group",
    title="Schema overhead",
    unit="tokens",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="sum of TOOL_SCHEMA tokens",
    example=Example({"schema_tokens": 50_000}, 50_000),
    per_run=True,
)
def schema_overhead(*, schema_tokens: Sum) -> Value:
    """Tokens of tool schemas."""
    return schema_tokens


@metric(
    level="group",
    title="Skill efficiency",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="outcome",
    formula="skill_tokens / (skill_tokens + schema_tokens)",
    example=Example({"skill_tokens": 2_000, "schema_tokens": 8_000}, 0.2),
    per_run=True,
)
def skill_efficiency(*, skill_tokens: Sum, schema_tokens: Sum) -> Value:
    """Fraction of skill tokens (SKILL_PROMPT and DOMAIN_EXPERTISE) among skill and schema tokens."""
    nothing = missing("there are neither skill nor schema tokens")
    return ratio(skill_tokens, skill_tokens + schema_tokens, at_zero=nothing)


@metric(
    level="group",
    title="Token efficiency ratio",
    unit="ratio",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="schema_tokens / skill_tokens; infinite with schema and no skill tokens",
    example=Example({"schema_tokens": 50_000, "skill_tokens": 5_000}, 10.0),
    per_run=True,
)
def token_efficiency_ratio(*, schema_tokens: Sum, skill_tokens: Sum) -> Value:
    """Schema tokens per skill token."""
    nothing = missing("there are neither skill nor schema tokens")
    return ratio(schema_tokens, skill_tokens, at_zero=when(schema_tokens > 0, INFINITY, nothing))


@metric(
    level="run",
    title="Cache hit rate",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="outcome",
    formula="cache_read_tokens / (input_tokens + cache_read_tokens + cache writes)",
    # 6,000 of 1,000 + 6,000 + 1,000
    example=Example({"input_tokens": 1_000, "cache_read_tokens": 6_000, "cache_write_5m_tokens": 1_000}, 0.75),
)
def cache_hit_rate(
    *,
    input_tokens: Required,
    cache_read_tokens: Required,
    cache_write_5m_tokens: Optional = None,
    cache_write_1h_tokens: Optional = None,
) -> Value:
    """Fraction of the input served from a cache. The input includes cache writes if the record states them."""
    written = first_known(cache_write_5m_tokens, 0.0) + first_known(cache_write_1h_tokens, 0.0)
    whole = input_tokens + cache_read_tokens + written
    return ratio(cache_read_tokens, whole, at_zero=missing("there was no input"))


@metric(
    level="run",
    title="Sub-agent fraction",
    unit="fraction",
    better="neither",
    bounds=(0, 1),
    spec="outcome",
    formula="(sub_agent_input_tokens + sub_agent_output_tokens) / total_tokens",
    example=Example({"sub_agent_input_tokens": 2_000, "sub_agent_output_tokens": 500, "total_tokens": 10_000}, 0.25),
)
def sub_agent_fraction(
    *, sub_agent_input_tokens: Required, sub_agent_output_tokens: Required, total_tokens: Required
) -> Value:
    """Fraction of the run's tokens used by sub-agents, from its components."""
    own = sub_agent_input_tokens + sub_agent_output_tokens
    share = ratio(own, total_tokens, at_zero=missing("the run used no tokens"))
    return when(own > total_tokens, missing("the components have more tokens than the run"), share)


@metric(
    level="component",
    title="Component tokens",
    unit="tokens",
    better="neither",
    bounds=(0, inf),
    spec="outcome",
    formula="input_tokens + output_tokens of the component",
    example=Example({"input_tokens": 900, "output_tokens": 100}, 1000),
)
def component_tokens(*, input_tokens: Required, output_tokens: Required) -> Value:
    """Tokens of one component type."""
    return input_tokens + output_tokens


@metric(
    level="component",
    title="Component cost",
    unit="USD",
    better="lower",
    bounds=(0, inf),
    spec="outcome",
    formula="the component's tokens x price per million tokens",
    example=Example({"cost_usd": 0.25}, 0.25),
)
def component_cost_usd(*, cost_usd: Required) -> Value:
    """Cost of one component type."""
    return cost_usd


@metric(
    level="component",
    title="Component fraction of tokens",
    unit="fraction",
    better="neither",
    bounds=(0, 1),
    spec="outcome",
    formula="component tokens / tokens of all components",
    example=Example({"component_tokens": 250, "total_component_tokens": 1000}, 0.25),
)
def component_token_fraction(*, component_tokens: Required, total_component_tokens: Required) -> Value:
    """The component type's fraction of all component tokens."""
    return ratio(component_tokens, total_component_tokens, at_zero=missing("no component used tokens"))


@metric(
    level="component",
    title="Component fraction of cost",
    unit="fraction",
    better="neither",
    bounds=(0, 1),
    spec="outcome",
    formula="component cost / cost of all components",
    example=Example({"component_cost_usd": 0.25, "total_component_cost_usd": 1.0}, 0.25),
)
def component_cost_fraction(*, component_cost_usd: Required, total_component_cost_usd: Required) -> Value:
    """The component type's fraction of the cost of all components."""
    return ratio(component_cost_usd, total_component_cost_usd, at_zero=missing("all component costs are 0"))
