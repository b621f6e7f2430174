"""Token use (outcome specification, "Token Tracking")."""

from __future__ import annotations

from math import inf

from steelyard.metrics._declare import Example, metric
from steelyard.metrics._signatures import Optional, Required, Sum
from steelyard.metrics._words import INFINITY, Value, first_known, missing, ratio, when


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
