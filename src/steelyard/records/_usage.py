"""Tokens by kind, and how they are added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from msgspec.structs import astuple

from steelyard.records._record_types import Count, Record


class Usage(Record, frozen=True, kw_only=True, gc=False):
    """Tokens in disjoint kinds: input excludes cache, output excludes reasoning."""

    input_tokens: Count | None = None
    """Input neither read from nor written to a cache; None if not reported."""
    output_tokens: Count | None = None
    """Output without reasoning; None if not reported."""
    cache_read_tokens: Count | None = None
    """Input read from a cache."""
    cache_write_5m_tokens: Count | None = None
    """Input written to a cache with a lifetime of 5 minutes."""
    cache_write_1h_tokens: Count | None = None
    """Input written to a cache with a lifetime of 1 hour."""
    reasoning_tokens: Count | None = None
    """Reasoning, if the tool reports it separately from output."""

    total_tokens: Count | None = None
    """Total tokens, as reported, if not every kind is reported. Not used for prices."""

    @property
    def total(self) -> int | None:
        """All tokens; None when nothing is stated. The kinds count, and a stated total where it can hold more of them.

        >>> Usage(total_tokens=500).total, Usage(input_tokens=100, total_tokens=500).total
        (500, 500)
        >>> Usage(input_tokens=900, total_tokens=500).total  # a contradiction
        900
        """
        return _total(astuple(self))


TOKEN_KINDS: tuple[str, ...] = tuple(name for name in Usage.__struct_fields__ if name != "total_tokens")
kinds_of: Callable[[Usage], tuple[int | None, ...]] = attrgetter(*TOKEN_KINDS)
"""The counts in the order of TOKEN_KINDS."""


def add_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum of each kind over the usages that state it; None when there is no usage.

    Where one states only a total, the sum has a total too.
    """
    known = [usage for usage in usages if usage is not None]
    if len(known) < 2:
        return known[0] if known else None
    return sum_columns(usage_columns(known))


def usage_columns(usages: Iterable[Usage]) -> list[tuple[int | None, ...]]:
    """The counts of all usages, kind by kind in the order of TOKEN_KINDS, and last the totals that they state.

    For many it takes a third of the time of `kinds_of`.
    """
    return list(zip(*map(astuple, usages), strict=True))


def sum_columns(columns: Sequence[tuple[int | None, ...]]) -> Usage:
    """The sum of the usages that `usage_columns` took apart."""
    sums: dict[str, int] = {}
    *by_kind, totals = columns
    for kind, counts in zip(TOKEN_KINDS, by_kind, strict=True):
        added = sum(filter(None, counts))
        if added or 0 in counts:
            sums[kind] = added
    if totals.count(None) < len(totals):
        sums["total_tokens"] = sum([_total(counts) or 0 for counts in zip(*columns, strict=True)])
    return Usage(**sums)


def _total(counts: tuple[int | None, ...]) -> int | None:
    """All tokens, from the counts by kind and the stated total behind them."""
    stated = counts[-1]
    added = sum(filter(None, counts)) - (stated or 0)
    if stated is None:
        return added if added or 0 in counts else None
    return max(added, stated) if None in counts else added
