"""From each tool's way of counting to disjoint kinds of tokens, and how sure each number is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.records import Call, Finding, Origin, Provenance, Run, Usage, convert_run


def disjoint_usage(
    *,
    input_with_cache: int | None,
    cache_read: int | None = None,
    cache_write: int | None = None,
    output_with_reasoning: int | None = None,
    reasoning: int | None = None,
) -> Usage:
    """Tokens of a tool whose input includes cached input and whose output includes reasoning.

    A part larger than its whole contradicts itself: the part is kept and the rest is unknown.

    >>> disjoint_usage(input_with_cache=100, cache_read=60, output_with_reasoning=9, reasoning=4)
    Usage(input_tokens=40, output_tokens=5, cache_read_tokens=60, reasoning_tokens=4)
    >>> disjoint_usage(input_with_cache=10, cache_read=60)
    Usage(cache_read_tokens=60)
    """
    return Usage(
        input_tokens=_rest(input_with_cache, cache_read, cache_write),
        cache_read_tokens=cache_read,
        cache_write_5m_tokens=cache_write,
        output_tokens=_rest(output_with_reasoning, reasoning),
        reasoning_tokens=reasoning,
    )


def _rest(whole: int | None, *parts: int | None) -> int | None:
    if whole is None:
        return None
    rest = whole - sum(part or 0 for part in parts)
    return rest if rest >= 0 else None


def token_contradiction(where: str, usage: Usage, *, stated_input: int | None) -> tuple[Finding, ...]:
    """The finding for a tool that states more cached input than input."""
    if stated_input is None or usage.input_tokens is not None:
        return ()
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_5m_tokens or 0)
    message = f"the log states {cached:,} cached of {stated_input:,} input tokens; uncached input is unknown"
    return (Finding(code="token_contradiction", message=message, where=where),)


def busiest_model(calls: Iterable[Call]) -> str | None:
    """The model that handled most tokens; ties give the first name."""
    all_calls = list(calls)
    models = {call.model for call in all_calls if call.model}
    if len(models) < 2:
        return next(iter(models), None)
    totals: dict[str, int] = {}
    for call in all_calls:
        if call.model:
            totals[call.model] = totals.get(call.model, 0) + tokens_in(call.usage)
    return min(totals, key=lambda name: (-totals[name], name)) if totals else None


def tokens_in(usage: Usage | None) -> int:
    """All known tokens together."""
    return 0 if usage is None else usage.total or 0


def run_from(
    *,
    format: str,  # noqa: A002 # the word that Origin has for it
    path: str,
    how: Mapping[str, Provenance | None] | None = None,
    **fields: Any,
) -> Run:  # Any: the values of a Run's fields, checked here
    """A Run whose every value is checked, with its origin and how each number came; empty fields are left out."""
    values = {name: value for name, value in fields.items() if value is not None and value != ()}
    extra = values.pop("extra", None)
    if extra:
        values |= {f"x_{name}": value for name, value in extra.items() if value is not None}
    provenance = {name: word for name, word in (how or {}).items() if word is not None}
    if provenance:
        values["provenance"] = dict(sorted(provenance.items()))
    values["source"] = Origin(format=format, path=path)
    return convert_run(values)


def stated_cost(cost: float | None, usage: Usage | None) -> tuple[float | None, Provenance]:
    """The cost a tool states; 0 for a run that used tokens means that the tool had no price, so it is unknown."""
    if cost is None or (cost == 0 and tokens_in(usage) > 0):
        return None, "unknown"
    return cost, "reported"
