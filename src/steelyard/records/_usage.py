"""Tokens by kind, and how they are added up."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from steelyard.records._record_types import Count, Record


class Usage(Record, frozen=True, kw_only=True):
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

    @property
    def total(self) -> int | None:
        """All kinds together; None when none is known."""
        known = [count for count in msgspec.structs.astuple(self) if count is not None]
        return sum(known) if known else None


TOKEN_KINDS: tuple[str, ...] = Usage.__struct_fields__


def add_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum of each kind over the usages that state it; None when there is no usage."""
    rows = [msgspec.structs.astuple(usage) for usage in usages if usage is not None]
    if not rows:
        return None
    sums: dict[str, int] = {}
    for kind, counts in zip(TOKEN_KINDS, zip(*rows, strict=True), strict=True):
        known = counts if None not in counts else [count for count in counts if count is not None]
        if known:
            sums[kind] = sum(known)
    return Usage(**sums)
