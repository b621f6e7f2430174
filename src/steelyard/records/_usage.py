"""Tokens by kind, and how they are added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from steelyard.records._record_types import Count, Record


class Usage(Record, frozen=True, kw_only=True, gc=False):
    """Tokens in disjoint kinds: input excludes cache, output excludes reasoning."""

    input_tokens: Count | None = None
    """Input that was not served from or written to a cache; None when the tool did not say."""
    output_tokens: Count | None = None
    """Generated text without reasoning; None when the tool did not say."""
    cache_read_tokens: Count | None = None
    """Input served from a cache."""
    cache_write_5m_tokens: Count | None = None
    """Input written to a cache kept for five minutes."""
    cache_write_1h_tokens: Count | None = None
    """Input written to a cache kept for one hour."""
    reasoning_tokens: Count | None = None
    """Hidden reasoning, where the tool counts it apart from output."""

    total_tokens: Count | None = None
    """All tokens together, as stated, where the tool does not tell every kind. It prices nothing."""

    @property
    def total(self) -> int | None:
        """All tokens; None when nothing is stated. The kinds count, and a stated total where it can hold more of them.

        >>> Usage(total_tokens=500).total, Usage(input_tokens=100, total_tokens=500).total
        (500, 500)
        >>> Usage(input_tokens=900, total_tokens=500).total  # a contradiction
        900
        """
        known = [count for count in kinds_of(self) if count is not None]
        added = sum(known)
        if self.total_tokens is None:
            return added if known else None
        return added if len(known) == len(TOKEN_KINDS) else max(added, self.total_tokens)


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
    sums: dict[str, int] = {}
    for kind, counts in zip(TOKEN_KINDS, zip(*map(kinds_of, known), strict=True), strict=True):
        stated = counts if None not in counts else [count for count in counts if count is not None]
        if stated:
            sums[kind] = sum(stated)
    if any(usage.total_tokens is not None for usage in known):
        sums["total_tokens"] = sum(usage.total or 0 for usage in known)
    return Usage(**sums)
